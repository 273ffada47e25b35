// Package model is the vocabulary of Karasu: workloads, configurations, runs and
// the summaries that stand for them outside an organisation. The performance
// models live in the packages below it.
//
// It imports nothing else of this module, holds no state and does no input or
// output. Everything that enters the system, from a file or from a peer, passes
// a Validate method of this package before it is stored.
package model
