// Package ensemble joins what is known of other workloads to what is known of one
// target workload: the models behind collaborative search.
//
// It holds two ensembles. [Ensemble], the evidence-weighted one, is a mixture of
// Gaussian hypotheses about the target's log runtime over the candidate
// configurations. Some stand for searching alone: a smooth prior with a trend, at
// several scales, with and without a memory cliff. Others stand for one support
// workload each: the same prior after that workload's runs. Every hypothesis is
// conditioned on the target's own runs, exactly, and weighted by its prior mass
// times the evidence that those runs give it. The steps are
//
//  1. features of a configuration (features.go),
//  2. the prior of a shape over them (prior.go),
//  3. memory cliffs (hypothesis.go),
//  4. the level,
//  5. plausibility of a trace and agreement between traces (plausibility.go,
//     agreement.go, support.go),
//  6. the posterior shape of a support (shape.go),
//  7. its hypotheses and their mass (hypothesis.go),
//  8. conditioning and weights (evidence.go).
//
// The acquisition function and the stop rule are in optimizer/search.
//
// The other is the ranking-weighted ensemble (RGPE; Feurer, Letham and Bakshy 2018)
// as Karasu published it (arXiv 2308.11792).
//
// Nothing here is random: the same input gives the same numbers on any number of
// cores. Nothing here does input or output. All functions return errors that wrap
// [ErrInvalid] instead of numbers that are not finite.
package ensemble
