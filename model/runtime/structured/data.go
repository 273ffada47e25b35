package structured

import (
	"math"

	"github.com/karasu-project/karasu/model/runtime"
)

// MaxRows bounds the medians (context and scale-out) that the exact process is
// conditioned on; beyond, contexts are thinned out evenly. 1,000 rows take 8 MB and
// a third of a second.
const MaxRows = 1000

// maxFitRows bounds those that constants are fitted on: time grows with the cube.
const maxFitRows = 300

// block is one context's rows.
type block struct {
	context predict.Context
	runs    []predict.Summary
}

// blocks summarises a history: one block a context, contexts without runs left out,
// histories of one context merged.
func blocks(history []predict.History) []block {
	var merged []predict.History
next:
	for _, h := range history {
		if len(h.Runs) == 0 {
			continue
		}
		for i := range merged {
			if merged[i].Context.Equal(h.Context) {
				merged[i].Runs = append(merged[i].Runs[:len(merged[i].Runs):len(merged[i].Runs)], h.Runs...)
				continue next
			}
		}
		merged = append(merged, h)
	}
	out := make([]block, 0, len(merged))
	for _, h := range merged {
		out = append(out, block{h.Context, predict.Summarise(h.Runs)})
	}
	return out
}

// thin keeps an evenly spaced part of the blocks with at most limit rows.
func thin(all []block, limit int) []block {
	var rows int
	for _, b := range all {
		rows += len(b.runs)
	}
	if rows <= limit {
		return all
	}
	share := float64(limit) / float64(rows)
	var out []block
	kept := 0
	for i, b := range all {
		if int(float64(i+1)*share) > int(float64(i)*share) && kept+len(b.runs) <= limit {
			out = append(out, b)
			kept += len(b.runs)
		}
	}
	return out
}

func contextsOf(all []block) []predict.Context {
	out := make([]predict.Context, len(all))
	for i := range all {
		out[i] = all[i].context
	}
	return out
}

// rows are the observations of a process: rows of one context are adjacent.
type rows struct {
	encoder  *encoder
	contexts []*encoded
	// start has one entry a context and one more: the rows of context i are
	// start[i] to start[i+1].
	start []int
	x     []float64
	// y is ln(median seconds) minus the prior mean.
	y       []float64
	repeats []int
	// noise has the variance of each row of a model that came as weights; nil says
	// that repeats decide.
	noise []float64
}

// variance of the noise of row i.
func (r *rows) variance(p *Params, i int) float64 {
	if r.noise != nil {
		return r.noise[i]
	}
	return p.noise(r.repeats[i])
}

func newRows(e *encoder, all []block) *rows {
	r := &rows{encoder: e, start: []int{0}}
	for i, b := range all {
		c := e.encode(b.context, i)
		r.contexts = append(r.contexts, c)
		for _, s := range b.runs {
			x := float64(s.ScaleOut)
			r.x = append(r.x, x)
			r.y = append(r.y, math.Log(s.MedianSeconds)-c.mean(x))
			r.repeats = append(r.repeats, s.Repeats)
		}
		r.start = append(r.start, len(r.x))
	}
	return r
}

func (r *rows) nodes(q float64) []node {
	n := make([]node, len(r.x))
	for i, x := range r.x {
		n[i] = newNode(x, q)
	}
	return n
}

// covariance returns the n x n covariance with noise, lower triangle.
func (r *rows) covariance(p *Params) []float64 {
	n, k, nodes := len(r.x), p.squares(), r.nodes(p[exponent])
	out := make([]float64, n*n)
	for a := range r.contexts {
		for b := range a + 1 {
			d := k.pair(r.contexts[a], r.contexts[b], r.encoder.sizeRange())
			for i := r.start[a]; i < r.start[a+1]; i++ {
				for j := r.start[b]; j < r.start[b+1] && j <= i; j++ {
					out[i*n+j] = k.covariance(&d, &nodes[i], &nodes[j])
				}
			}
		}
	}
	for i := range n {
		out[i*n+i] += r.variance(p, i)
	}
	return out
}
