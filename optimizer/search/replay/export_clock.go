package replay

import "time"

// clockStart is an origin for the monotonic clock; only differences count.
var clockStart = time.Now()

// wallSeconds is the time on the wall.
func wallSeconds() float64 { return time.Since(clockStart).Seconds() }

// clock returns what suggestions are timed with. The processor time of the process is
// a suggestion's only where nothing else runs in it; with several workers, the wall
// clock is.
func (c *Config) clock() func() float64 {
	if c.Workers == 1 {
		return processorSeconds
	}
	return wallSeconds
}
