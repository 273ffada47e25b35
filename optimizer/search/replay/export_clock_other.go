//go:build !unix

package replay

// processorSeconds is not known here.
func processorSeconds() (seconds float64, known bool) { return 0, false }
