// Package elastic chooses the resources that a distributed training job starts with
// and adjusts them while it runs (Wang et al., "DLRover", arXiv 2304.01468).
//
// A [Controller] keeps jobs. [Controller.Start] plans a job from what is known of
// similar ones, [Controller.Observe] and [Controller.Notice] take what the job reports
// and what happens to it, and [Controller.Allocate] decides for all jobs of a cluster
// together; [Controller.Decide] for one. A [Decision] is a whole [Plan] with its reason
// and evidence; whoever drives the controller carries it out, or only shows it, and
// reports on what then runs. The controller never assumes that a plan was carried out:
// it counts the workers that reports name.
//
// [Controller.State] is everything it knows, in plain values; [Restore] goes on from it,
// so that a restart loses nothing.
//
// The package reads no files and no clock: times come with reports, events and calls.
// The same calls give the same decisions. It is safe for concurrent use.
package elastic
