// Package replay measures runtime models on tables of runs, each with several
// scale-outs and repeats in many contexts, by the protocols of the literature:
//
//   - c3o-full and c3o-filtered: Bellamy's cross-context evaluation (arXiv
//     2107.13921, section IV-C): every context in turn is the target; the history is
//     all other contexts of the algorithm, or only those that share neither machine
//     type nor input size nor any argument that varies; n runs of the target are
//     known; the other scale-outs are predicted, inside (interpolation) or outside
//     (extrapolation) of the range of the known ones.
//   - c3o-shared: c3o-full with a general model that travelled as weights, as if all
//     other contexts were a peer's.
//   - c3o-peers: a fifth of the contexts is predicted from the models of two peers
//     that travelled as weights, each of a half of the others; three draws.
//   - bell: c3o-full in another environment, which the history knows nothing of
//     (section IV-D).
//   - c3o-splits and c3o-points: C3O's own evaluation: random training shares
//     of 90%, or so many random training points, of the medians of an algorithm on
//     its most frequent machine type, above two nodes.
//
// Errors are of individual repeats, except for C3O's protocol, which is on medians.
// All figures are deterministic for a seed, on any number of cores, except for those
// in seconds.
package replay
