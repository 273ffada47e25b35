// Package predict is the vocabulary of runtime prediction: how long does a job
// take in a context (machine type, input size, arguments) at a scale-out, from a
// few runs in that context and many in others.
//
// A [Learner] fits a general model on the runs of all known contexts of one
// algorithm ([Learner.Fit]). The general model is then conditioned on the few runs
// of the context in question, none being fine ([General.Condition]), and predicts
// a distribution of the runtime at any scale-out ([Predictor]). This is the
// two-step scheme of Bellamy (arXiv 2107.13921, section III); every model below
// this package follows it, so that they can be compared and swapped:
//
//   - structured: the default, a Gaussian process with a kernel that knows what
//     scale-outs, machines, sizes and arguments are
//   - bellamy: the neural network of the paper
//   - ernest, bell, c3o: what that paper and others compare with
//   - replay: measures all of them on tables of runs
//
// General models that are portable turn into [Weights], which a peer turns back
// into a general model without seeing a run; [Ensemble] weighs several by how well
// they explain the own runs.
//
// The package does no input or output and keeps no state. Models are safe for
// concurrent use once fitted. Everything is deterministic in its inputs and seeds.
package predict
