// Package simulator plays training jobs on a finite cluster, minute by minute, under
// package elastic and under what it is compared with.
//
// Measured are speeds against the number of workers (public runs of parameter-server
// training, interpolated monotonically between the numbers of workers that ran; never
// the optimizer's own law), arrivals, the spread of what users request, run lengths and
// the spread of mini-batch times. Assumed, as no public measurement tells them, are what
// memory jobs need and how it grows, evictions, hot servers, what a change costs and how
// busy workers' cores are. The constants of what is assumed stand in assumed.go.
//
// The same seed gives the same jobs to every arm, and the same result.
package simulator
