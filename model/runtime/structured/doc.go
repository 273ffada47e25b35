// Package structured predicts runtimes with a Gaussian process on the logarithm of
// the runtime whose kernel is a sum of what is known to matter: the scale-out, the
// machine, the input size, the arguments, the share of the input that fits into
// memory, and how they act together. Every term has an amplitude and, where it is a
// distance, a length; their defaults are documented constants ([Defaults]), which
// a fit on many contexts changes ([FitContexts]).
//
// Where the context comes from an environment that the history does not know, and
// as insurance elsewhere, a family of small processes over the scale-out alone takes
// part ([gate.go], [family.go]): after every run, those that predicted it well gain
// weight.
//
// Gaussian process formulas are cited as RW: Rasmussen and Williams, Gaussian
// Processes for Machine Learning, MIT Press 2006.
package structured
