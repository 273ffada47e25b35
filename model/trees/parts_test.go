package trees

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func table(n, d int) (x, y []float64) {
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		var sum float64
		for f := range d {
			v := math.Floor(random.Float64() * 16)
			x = append(x, v)
			sum += v * float64(f)
		}
		y = append(y, sum)
	}
	return x, y
}

func TestPartsRoundTrip(t *testing.T) {
	x, y := table(60, 3)
	forest, err := FitForest(x, 3, y, ForestOptions{Trees: 5, Seed: 3, MinLeaf: 4})
	if err != nil {
		t.Fatal(err)
	}
	forest2, err := forest.Parts().Forest(3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range y {
		at := x[i*3 : i*3+3]
		a, _ := forest.Predict(at)
		b, _ := forest2.Predict(at)
		if math.Abs(a-b) > 1e-4 {
			t.Errorf("row %d: %g and %g", i, a, b)
		}
	}
}

func TestForestMinLeaf(t *testing.T) {
	x, y := table(60, 3)
	forest, err := FitForest(x, 3, y, ForestOptions{Trees: 10, Seed: 3, MinLeaf: 6})
	if err != nil {
		t.Fatal(err)
	}
	for _, tree := range forest.trees {
		rows := make(map[int]int)
		for r := range y {
			i := 0
			for tree[i].feature >= 0 {
				if x[r*3+tree[i].feature] <= tree[i].threshold {
					i = tree[i].left
				} else {
					i = tree[i].right
				}
			}
			rows[i]++
		}
		if len(rows) < 2 {
			t.Error("a tree is not split at all")
		}
		for leaf, n := range rows {
			if n < 6 {
				t.Errorf("leaf %d has %d rows", leaf, n)
			}
		}
	}
}

func TestPartsErrors(t *testing.T) {
	for name, p := range map[string]Parts{
		"no trees":  {},
		"cut":       {Trees: 1, Features: []int32{0, -1}, Values: []float32{1, 1}},
		"behind":    {Trees: 1, Features: []int32{-1, -1}, Values: []float32{1, 1}},
		"feature":   {Trees: 1, Features: []int32{3, -1, -1}, Values: []float32{1, 1, 1}},
		"value":     {Trees: 1, Features: []int32{-1}, Values: []float32{float32(math.NaN())}},
		"odd parts": {Trees: 1, Features: []int32{-1}, Values: []float32{1, 2}},
		"high":      {Trees: 1, Features: make([]int32, 1000), Values: make([]float32, 1000)},
	} {
		if _, err := p.Forest(3); !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v, want ErrInput", name, err)
		}
	}
}
