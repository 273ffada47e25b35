package advisor

import "fmt"

// chance prints a probability for people. Nothing is certain.
func chance(p float64) string {
	switch {
	case p < 0.01:
		return "<1%"
	case p > 0.99:
		return ">99%"
	}
	return fmt.Sprintf("%.0f%%", 100*p)
}
