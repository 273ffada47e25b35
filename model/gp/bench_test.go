package gp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// sample returns n points of d features in [0, 5) and values of a smooth function
// with noise.
func sample(seed uint64, n, d int) (x, y []float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		var v float64
		for k := range d {
			t := 5 * r.Float64()
			x = append(x, t)
			v += math.Sin(t/2+float64(k)) - 0.2*t
		}
		y = append(y, 6+v+0.1*r.NormFloat64())
	}
	return x, y
}

func BenchmarkFit(b *testing.B) {
	for _, n := range []int{3, 10, 50, 256} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x, y := sample(1, n, FeatureDimensions)
			for b.Loop() {
				if _, err := Fit(x, FeatureDimensions, y); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
