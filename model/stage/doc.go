// Package stage predicts, for each stage of a job, how long it runs, how much task time
// it takes, how much it writes for its children, and when it starts and ends: what a
// choice of checkpoints needs to know beforehand (Zhu et al., "Phoebe: a learning-based
// checkpoint optimizer", VLDB 2021, section 4).
//
// [Fit] learns a [General] model from stage graphs of many jobs, for jobs never seen:
// extremely randomised trees on operators, estimated and measured inputs and the shape of
// the graph. [FitRecurring] learns from the past runs of the same job: a ridge regression
// per stage template. Both answer with a [Forecast]. Starts and ends come from a
// [Schedule] of the predicted times on the cluster's slots, which a stacked model corrects.
//
// What is known differs: at submission the plan, its operators and the sizes of
// stored inputs; once a stage's parents have ended, also what it reads. The optimizer's
// estimate of a stage that reads a shuffle is of the second kind where plans are
// re-optimised at run time (it follows the parents' true writes), so it is never used
// at submission.
//
// [General.Weights] is the model in a form that can be shared. It holds trees whose leaves
// are means over several stages, and hashes of operator names that are public in the
// frameworks' sources. No plan, name, table, path or operator of one's own is in it.
//
// The package reads no files and no clock: same jobs and seed, same answer.
package stage
