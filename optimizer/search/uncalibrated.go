package search

// Uncalibrated is the posterior's own probability where p is stated: what calibration
// was fitted to, and can be fitted to again (scripts/calibration).
func Uncalibrated(p float64) float64 {
	if !(p > 0 && p < 1) {
		return p
	}
	low, high := 0., 1.
	for range 60 { // 2^-60: as exact as a float64 near 1
		if middle := low + (high-low)/2; calibrated(middle) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return low + (high-low)/2
}

// Calibrated is what is stated where the posterior's own probability is p.
func Calibrated(p float64) float64 { return calibrated(p) }
