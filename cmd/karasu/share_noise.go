package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// epsilon is that of a share policy's noise.
type epsilon float64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (e *epsilon) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(v >= 0.1 && v <= 100) {
		return fmt.Errorf("must be between 0.1 (much noise) and 100 (hardly any): %q", text)
	}
	*e = epsilon(v)
	return nil
}

// printNoise says what noise the shared runtimes carry, and what that promises.
func printNoise(w *bytes.Buffer, p *karasuv1.SharePolicy) {
	if p.GetEpsilon() == 0 {
		fmt.Fprintln(w, "Runtimes leave without noise (epsilon = 0): medians as they are.")
		return
	}
	// Half of Laplace's draws are within scale ln 2.
	typical := math.Exp(p.GetNoiseScale() * math.Ln2)
	fmt.Fprintf(w, "Noise: epsilon = %g, Laplace of scale %.3g on every log runtime. Half of the runtimes are off by more than a factor of %.3g.\n",
		p.GetEpsilon(), p.GetNoiseScale(), typical)
	fmt.Fprintf(w, "Whether a run took so long, or twice or half as long, changes how likely what leaves is by a factor of at most %.3g.\n", math.Exp(p.GetEpsilon()))
	fmt.Fprintln(w, "It does not hide that runs exist, on what, how many, their outcomes and sizes. A median that changes is drawn anew and")
	fmt.Fprintln(w, "spends epsilon once more, and so does a runtime model.")
}
