//go:build unix

package replay

import "syscall"

// processorSeconds is the processor time of the process so far: what a neighbour on
// the machine does not disturb, and other goroutines do.
func processorSeconds() (seconds float64, known bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, true
}
