//go:build !unix

package replay

// processorSeconds is the wall clock where processor time is not known.
func processorSeconds() float64 { return wallSeconds() }
