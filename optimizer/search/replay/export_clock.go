package replay

import "time"

// clock returns what suggestions are timed with, in seconds since anything. The
// processor time of the process is a suggestion's only where nothing else runs in it;
// with several workers, or where it is not known, the wall clock is used.
func (c *Config) clock() func() float64 {
	if c.Workers == 1 {
		if _, known := processorSeconds(); known {
			return func() float64 {
				s, _ := processorSeconds()
				return s
			}
		}
	}
	start := time.Now()
	return func() float64 { return time.Since(start).Seconds() }
}
