// Package brain serves the Brain service of DLRover (Wang et al., arXiv 2304.01468), so
// that a DLRover master asks this daemon for the resources of its jobs: the metrics that it
// sends become reports and events of training jobs, and their plans its answers.
//
// A job is named by its uuid. Until its first report it is only described, in memory; from
// then on [elastic.Service] keeps it over restarts, until the master reports its end or it
// falls silent. Messages may come late, twice and out of order.
//
// The protocol has no authentication: whoever can connect may report for any job and end it.
package brain
