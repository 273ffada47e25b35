// Package checkpoint chooses which stage outputs of a job to write to durable storage,
// so that temporary storage is freed early and a failed job does not start over
// (Zhu et al., "Phoebe: a learning-based checkpoint optimizer", VLDB 2021).
//
// A cut is a set of stages closed under ancestors: everything before the cut has ended
// at the cut's time, which is the latest end among them. The outputs that a stage
// after the cut reads are the ones to persist. [Solve] finds the cut that frees most
// temporary storage within a budget of durable bytes, [PlanRelease] several that free
// storage one after the other, [PlanRestart] those that save most work after a failure,
// and [Mix] one for both. [Planner] decides while the job runs, and [Simulate] plays
// failures through.
//
// The package reads no files and no clock: the same graph and options give the same
// answer. Limits are counted in work, or told by the caller's Stop. It does not
// predict: sizes and times are the caller's, measured or predicted.
package checkpoint
