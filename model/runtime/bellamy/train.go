package bellamy

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/karasu-project/karasu/model/runtime"
)

// norms put scale-outs and runtimes into the ranges that the network likes.
type norms struct {
	// low and high of each scale feature.
	low, high [scaleFeatures]float64
	// mean and sd of ln(seconds).
	mean, sd float64
}

func scaleOutFeatures(x float64) [scaleFeatures]float64 {
	return [scaleFeatures]float64{1 / x, math.Log(x), x}
}

// defaultLow and defaultHigh are the scale-outs whose range serves where there is none.
const defaultLow, defaultHigh = 2, 16

func newNorms(history []predict.History) norms {
	low, high := math.Inf(1), math.Inf(-1)
	var n, sum, square float64
	for _, h := range history {
		for _, s := range predict.Summarise(h.Runs) {
			low, high = min(low, float64(s.ScaleOut)), max(high, float64(s.ScaleOut))
			l := math.Log(s.MedianSeconds)
			n++
			sum += l
			square += l * l
		}
	}
	if !(high > low) {
		low, high = min(low, defaultLow), max(high, defaultHigh)
	}
	k := norms{mean: sum / n, sd: max(math.Sqrt(max(square/n-sum*sum/n/n, 0)), minSD)}
	a, b := scaleOutFeatures(low), scaleOutFeatures(high)
	for i := range a {
		k.low[i], k.high[i] = min(a[i], b[i]), max(a[i], b[i])
	}
	return k
}

// minSD of ln(seconds): where all runtimes are alike, 20% is the unit.
const minSD = .2

func (k *norms) scale(x float64) [scaleFeatures]float64 {
	f := scaleOutFeatures(x)
	for i := range f {
		f[i] = (f[i] - k.low[i]) / (k.high[i] - k.low[i])
	}
	return f
}

// newBatch makes a batch of contexts with their medians.
func newBatch(s schema, k norms, history []predict.History) (*batch, error) {
	b := &batch{}
	index := map[[propertySize]float64]int{}
	add := func(vectors [][]float64) []int {
		var out []int
		for _, v := range vectors {
			key := [propertySize]float64(v)
			i, ok := index[key]
			if !ok {
				i = len(b.properties) / propertySize
				index[key] = i
				b.properties = append(b.properties, v...)
			}
			out = append(out, i)
		}
		return out
	}
	for c, h := range history {
		essential, optional, err := s.properties(h.Context)
		if err != nil {
			return nil, err
		}
		b.essential, b.optional = append(b.essential, add(essential)), append(b.optional, add(optional))
		for _, r := range predict.Summarise(h.Runs) {
			f := k.scale(float64(r.ScaleOut))
			b.scale = append(b.scale, f[:]...)
			b.context = append(b.context, c)
			b.target = append(b.target, (math.Log(r.MedianSeconds)-k.mean)/k.sd)
		}
	}
	return b, nil
}

// settings are what the search for hyper-parameters chooses from (table I).
type settings struct {
	rate, decay, dropout float64
	epochs               int
}

// grid of the search: learning rate, weight decay, dropout.
var grid = []settings{
	{.01, 1e-3, 0, 0}, {.01, 1e-2, 0, 0}, {.01, 1e-3, .05, 0}, {.01, 1e-2, .1, 0},
	{.003, 1e-3, 0, 0}, {.003, 1e-2, .05, 0},
}

const (
	// searchEpochs of every candidate, and trainEpochs of the one chosen, which early
	// stopping cuts short: the network has seen all there is by then.
	searchEpochs = 300
	trainEpochs  = 1500
	// checkEvery epochs the loss on held-out contexts is looked at; training stops
	// after patience epochs without a better one.
	checkEvery = 20
	patience   = 400
	// holdOut is one in so many contexts.
	holdOut = 5
	// minHeldOut contexts make a search; with fewer the first of the grid counts.
	minSearch = 6
)

// train minimises the loss and returns the weights with the least held-out loss, or
// the last where nothing is held out, and the number of epochs that took.
func train(ctx context.Context, l *layout, b, held *batch, s settings, epochs int) ([]float64, float64, int) {
	r := rand.New(rand.NewPCG(1, uint64(l.total))) // the same start every time
	w, g := make([]float64, l.total), make([]float64, l.total)
	l.initialise(w, span{0, l.total}, r)
	ps, opt := newPass(l, b), newAdam(l.total)
	var check *pass
	best, bestLoss, bestEpoch := append([]float64(nil), w...), math.Inf(1), 0
	if held != nil {
		check = newPass(l, held)
	}
	d := newDropout(s.dropout, r)
	for e := 1; e <= epochs && ctx.Err() == nil; e++ {
		ps.step(g, w, b, d)
		// The rate falls to a tenth along a cosine, so that the end is not left to chance.
		rate := s.rate * (.1 + .9*(1+math.Cos(math.Pi*float64(e)/float64(epochs)))/2)
		opt.step(w, g, span{0, l.total}, rate, s.decay)
		if held == nil || e%checkEvery > 0 {
			continue
		}
		check.encode(w, held, nil)
		check.predict(w, held)
		if loss := check.runtimeLoss(held); loss < bestLoss {
			bestLoss, bestEpoch = loss, e
			copy(best, w)
		} else if e-bestEpoch >= patience {
			break
		}
	}
	if held == nil {
		return w, 0, epochs
	}
	return best, bestLoss, bestEpoch
}

// pretrain searches hyper-parameters on held-out contexts, then trains on all of
// them for as long as was best.
func pretrain(ctx context.Context, l *layout, s schema, k norms, history []predict.History) ([]float64, error) {
	all, err := newBatch(s, k, history)
	if err != nil {
		return nil, err
	}
	choice, epochs := grid[0], trainEpochs/2
	if len(history) >= minSearch {
		var part, held []predict.History
		for i, h := range history {
			if i%holdOut == holdOut-1 {
				held = append(held, h)
			} else {
				part = append(part, h)
			}
		}
		b, err := newBatch(s, k, part)
		if err != nil {
			return nil, err
		}
		hb, err := newBatch(s, k, held)
		if err != nil {
			return nil, err
		}
		least := math.Inf(1)
		for _, c := range grid {
			if _, loss, _ := train(ctx, l, b, hb, c, searchEpochs); loss < least {
				least, choice = loss, c
			}
		}
		_, _, epochs = train(ctx, l, b, hb, choice, trainEpochs)
		epochs = max(epochs, searchEpochs)
	}
	w, _, _ := train(ctx, l, all, nil, choice, epochs)
	return w, ctx.Err()
}
