// Package replay measures search methods on a table of runs: every workload of the
// table in turn is searched for as if nothing were known of it but its runs so
// far, alone and with what the other workloads' searches would have shared.
//
// The protocol is that of the Karasu evaluation (arXiv 2308.11792, section IV)
// with two changes that make failures visible: a search without a valid run counts
// [NothingValid] instead of being left out, and timeouts are seen. A user can run
// it on the own history to see what a network would have saved.
//
// All figures are deterministic for a seed, on any number of cores. The package
// reads no files; the caller brings runs, and candidates with their prices.
package replay
