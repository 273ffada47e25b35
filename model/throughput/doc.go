// Package throughput models how fast a distributed training job runs on how many
// workers and parameter servers, and how much memory it needs.
//
// [Fit] fits the time of a worker's step as a sum of squared terms with coefficients
// that are not negative ([Term]); [Belief] is what is known of one job's knee, the size
// at which adding workers stops to pay, as a distribution; [FitCaps] separates the most
// pushes a second that parameter servers took into a factor of the training model and
// one of the machine type, which is what organisations can usefully share; [Memory]
// extrapolates a job's memory.
//
// Speeds are in samples a second or in pushes a second (one worker's step each), times
// in seconds, memory in bytes. The package does no input or output and keeps no clock.
// Everything is deterministic.
package throughput
