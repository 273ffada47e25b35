package ensemble

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model/gp"
)

func TestConsensus(t *testing.T) {
	shapes := [][]float64{{1, 2, 3}, {1, 2, 3}, {30, 20, 10}}
	supports := []RankedSupport{{Scale: 1}, {Scale: 1}, {Scale: 1}}
	at := func(i int) ([]float64, []float64, error) { return shapes[i], []float64{0.1, 0.2, 0.3}, nil }
	mean, variance, err := Consensus(supports, at)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{-1, 0, 1}, mean, closeTo(1e-12)); diff != "" {
		t.Errorf("one wrong support of three moves the median:\n%s", diff)
	}
	// The third lies 11 above the median, at the ends.
	if diff := cmp.Diff([]float64{0.1 + 121./3, 0.2, 0.3 + 121./3}, variance, closeTo(1e-12)); diff != "" {
		t.Error(diff)
	}
}

func TestConsensusScales(t *testing.T) {
	at := func(int) ([]float64, []float64, error) { return []float64{-1, 1}, []float64{1, 1}, nil }
	for scale, want := range map[float64]float64{0: defaultScale, 0.5: 0.5, 1e9: maxScale, 1e-9: minScale} {
		mean, variance, err := Consensus([]RankedSupport{{Scale: scale}}, at)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(mean[1]-want) > 1e-12 || math.Abs(variance[1]-want*want) > 1e-12 {
			t.Errorf("scale %g: (%g, %g), want that of %g", scale, mean[1], variance[1], want)
		}
	}
}

func TestConsensusErrors(t *testing.T) {
	if _, _, err := Consensus(nil, nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("no supports: %v, want ErrInvalid", err)
	}
	for name, at := range map[string]func(i int) ([]float64, []float64, error){
		"failing":  func(int) ([]float64, []float64, error) { return nil, nil, gp.ErrInput },
		"unequal":  func(i int) ([]float64, []float64, error) { return make([]float64, 2+i), make([]float64, 2+i), nil },
		"variance": func(int) ([]float64, []float64, error) { return make([]float64, 2), make([]float64, 1), nil },
	} {
		if _, _, err := Consensus(make([]RankedSupport, 2), at); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}
