package advisor

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/model/runtime/structured"
)

// lackError says which essential arguments of a model a workload lacks.
type lackError struct{ names []string }

func (e *lackError) Error() string {
	return "it needs arguments that are not given: " + strings.Join(e.names, ", ")
}

// lackingFor says whether a peer's model needs arguments that a workload lacks.
func lackingFor(w model.Workload, m *predict.Weights) error {
	var names []string
	for _, a := range m.Arguments {
		if _, given := w.Arguments.Get(a.Name); !given && !a.Optional {
			names = append(names, a.Name)
		}
	}
	if names == nil {
		return nil
	}
	return &lackError{names}
}

// ownLack asks for the arguments that all own contexts have; nil where none is missing.
func (o *outlook) ownLack() error {
	var names []string
	ranges := map[string]structured.Range{}
	for _, h := range o.own.histories {
		for _, a := range h.Context.Arguments {
			if _, given := o.workload.Arguments.Get(a.Name); given || a.Optional {
				continue
			}
			r, seen := ranges[a.Name]
			if !seen {
				names, r = append(names, a.Name), structured.Range{Least: math.Inf(1), Largest: math.Inf(-1)}
			}
			if a.Text == "" {
				r.Least, r.Largest = min(r.Least, a.Number), max(r.Largest, a.Number)
			}
			ranges[a.Name] = r
		}
	}
	if names == nil {
		return nil
	}
	slices.Sort(names)
	return badInput("arguments", fmt.Sprintf("lack %s, which all your runs of the algorithm have; add %s", strings.Join(names, ", "), flags(names, ranges)))
}

// peersLack asks for the arguments that most of the peers' models need that need
// something and could be used otherwise; nil where there are none.
func (o *outlook) peersLack() error {
	votes, most := map[string]int{}, -1
	total := 0
	for i, p := range o.peers {
		var lack *lackError
		if !errors.As(p.err, &lack) {
			continue
		}
		total++
		key := strings.Join(lack.names, ", ")
		votes[key]++
		if most < 0 || votes[key] > votes[strings.Join(o.peers[most].lacks(), ", ")] {
			most = i
		}
	}
	if most < 0 {
		return nil
	}
	p := o.peers[most]
	names, ranges := p.lacks(), map[string]structured.Range{}
	if e, err := structured.ExtentOf(p.weights); err == nil {
		for _, a := range e.Arguments {
			ranges[a.Name] = a.Range
			if a.Text {
				ranges[a.Name] = structured.Range{Least: math.Inf(1)}
			}
		}
	}
	list := strings.Join(names, ", ")
	return badInput("arguments", fmt.Sprintf("lack %s, needed by %d of %s, that of %s among them, and you have no runs of the algorithm; if your job has them, add %s",
		list, votes[list], count(total, "peer model"), p.organisation, flags(names, ranges)))
}

func (p *peerModel) lacks() []string {
	var lack *lackError
	errors.As(p.err, &lack)
	return lack.names
}

// flags shows how to give arguments; ranges without numbers are of texts.
func flags(names []string, ranges map[string]structured.Range) string {
	out := make([]string, 0, len(names))
	for _, name := range names {
		r, known := ranges[name]
		switch {
		case !known:
			out = append(out, fmt.Sprintf("-p %s=...", name))
		case math.IsInf(r.Least, 1):
			out = append(out, fmt.Sprintf("-p %s=TEXT", name))
		default:
			out = append(out, fmt.Sprintf("-p %s=NUMBER (known: %.4g to %.4g)", name, r.Least, r.Largest))
		}
	}
	return strings.Join(out, " ")
}
