package replay

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"text/tabwriter"

	"github.com/karasu-project/karasu/model/runtime"
)

// Confidences that deadlines are asked for with.
var Confidences = [...]float64{.5, .8, .9, .95}

const (
	// deadlinesPerDraw are random ones, evenly spread over the logarithms of the
	// runtimes and a tenth beyond.
	deadlinesPerDraw = 5
	deadlineBeyond   = 1.1
)

// Deadline compares a stated probability with what happened, for the default model on
// the runs of a protocol.
type Deadline struct {
	// Protocol is "all" for all of them together.
	Protocol string  `json:"protocol"`
	Stated   float64 `json:"stated"`
	// Kept is the share of runs that end by the quantile of the stated probability: a
	// deadline there. KeptSE is its standard error over targets, splits and n.
	Kept   float64 `json:"kept"`
	KeptSE float64 `json:"kept_se"`
	Runs   int     `json:"runs"`
	// Answers is the number of random deadlines to which the cheapest scale-out that
	// meets them with the stated probability or more was named; AnswerStated is the mean
	// of the probabilities that were stated of it, AnswerKept of the shares of its runs
	// that ended in time. Protocols that predict one configuration each have none.
	Answers      int     `json:"answers"`
	AnswerStated float64 `json:"answer_stated"`
	AnswerKept   float64 `json:"answer_kept"`
}

// answer sums up answers at one confidence.
type answer struct {
	n            int
	stated, kept float64
}

type answers [len(Confidences)]answer

func (a *answers) add(o *answers) {
	for i := range o {
		a[i].n += o[i].n
		a[i].stated += o[i].stated
		a[i].kept += o[i].kept
	}
}

// ask chooses between the scale-outs of the runs: the fewest node seconds at the median
// among those that meet a random deadline, as optimizer/deadline does with prices.
func (a *answers) ask(p predict.Predictor, runs []predict.Observation, r *rand.Rand) error {
	groups := byScaleOut(runs)
	if len(groups) < 2 {
		return nil // nothing to choose from
	}
	options := make([]predict.Distribution, len(groups))
	low, high := math.Inf(1), 0.
	for i, g := range groups {
		var err error
		if options[i], err = p.Predict(g[0].ScaleOut); err != nil {
			return err
		}
		for _, run := range g {
			low, high = min(low, run.RuntimeSeconds), max(high, run.RuntimeSeconds)
		}
	}
	low, high = math.Log(low/deadlineBeyond), math.Log(high*deadlineBeyond)
	for range deadlinesPerDraw {
		deadline := math.Exp(low + (high-low)*r.Float64())
		for k, confidence := range Confidences {
			best, cost := -1, math.Inf(1)
			for i, d := range options {
				if c := float64(groups[i][0].ScaleOut) * d.Median(); c < cost && d.Within(deadline) >= confidence {
					best, cost = i, c
				}
			}
			if best < 0 {
				continue
			}
			kept := 0.
			for _, run := range groups[best] {
				if run.RuntimeSeconds <= deadline {
					kept++
				}
			}
			a[k].n++
			a[k].stated += options[best].Within(deadline)
			a[k].kept += kept / float64(len(groups[best]))
		}
	}
	return nil
}

// allProtocols is the name of their sum.
const allProtocols = "all"

// kept sums up by protocol.
type kept map[string]*keptSums

type keptSums struct {
	targets []means
	answers answers
}

func newKept() kept { return kept{} }

func (k kept) add(protocol string, m *means) {
	for _, name := range []string{protocol, allProtocols} {
		if k[name] == nil {
			k[name] = &keptSums{}
		}
		k[name].targets = append(k[name].targets, *m)
		k[name].answers.add(&m.answers)
	}
}

// rows are in the order of protocols, their sum last.
func (k kept) rows() []Deadline {
	var out []Deadline
	for _, name := range append(slices.Clone(Protocols), allProtocols) {
		s := k[name]
		if s == nil {
			continue
		}
		for i, confidence := range Confidences {
			at := slices.Index(Probabilities[:], confidence)
			d := Deadline{Protocol: name, Stated: confidence}
			below := 0
			for _, t := range s.targets {
				below += t.below[at]
				d.Runs += t.runs
			}
			d.Kept = float64(below) / float64(d.Runs)
			// Runs of one target, split and n are alike: their deviation counts as a whole.
			for _, t := range s.targets {
				e := (float64(t.below[at]) - d.Kept*float64(t.runs)) / float64(d.Runs)
				d.KeptSE += e * e
			}
			d.KeptSE = math.Sqrt(d.KeptSE)
			if a := s.answers[i]; a.n > 0 {
				d.Answers, d.AnswerStated, d.AnswerKept = a.n, a.stated/float64(a.n), a.kept/float64(a.n)
			}
			out = append(out, d)
		}
	}
	return out
}

// writeDeadlines prints one line a protocol and confidence.
func (r *Report) writeDeadlines(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(t, "\ndeadline\tstated\tkept\t±\truns\tcheapest: stated\tkept\tanswers\t\n") // a tabwriter reports errors on Flush
	for _, d := range r.Deadline {
		_, _ = fmt.Fprintf(t, "%s\t%.0f%%\t%.1f%%\t%.1f\t%d\t", d.Protocol, 100*d.Stated, 100*d.Kept, 100*d.KeptSE, d.Runs)
		if d.Answers > 0 {
			_, _ = fmt.Fprintf(t, "%.1f%%\t%.1f%%\t%d\t\n", 100*d.AnswerStated, 100*d.AnswerKept, d.Answers)
		} else {
			_, _ = fmt.Fprint(t, "-\t-\t0\t\n")
		}
	}
	return t.Flush()
}
