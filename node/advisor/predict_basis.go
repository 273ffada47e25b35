package advisor

import (
	"fmt"
	"slices"
	"strings"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Origins of models that predictions rest on.
const (
	ownRuns  = "own runs"
	peerRuns = "peer"
)

// basis says what the predictions so far rest on.
func (o *outlook) basis(organisation string) *karasuv1.PredictionBasis {
	b := &karasuv1.PredictionBasis{}
	all := &karasuv1.PredictionSource{Origin: ownRuns, Organisation: organisation, Share: o.tally.mean(o.tally.own)}
	for i, h := range o.own.histories {
		all.Contexts++
		all.Runs += uint32(len(h.Runs))
		if o.tally.contexts[i] {
			b.ContextRuns += uint32(len(h.Runs))
			continue
		}
		b.OtherContexts++
		b.OtherRuns += uint32(len(h.Runs))
	}
	if all.Runs > 0 {
		b.Sources = append(b.Sources, all)
	}
	for i, p := range o.peers {
		s := &karasuv1.PredictionSource{
			Origin: peerRuns, Organisation: p.organisation, Author: p.author, Share: o.tally.mean(o.tally.peers[i]),
		}
		if p.weights != nil {
			s.Contexts, s.Runs = uint32(p.weights.Contexts), uint32(p.weights.Runs)
		}
		if err := o.tally.problems[i]; err != nil {
			s.Problem = err.Error()
		} else if s.Share == 0 {
			s.Problem = "its runtimes contradict your runs or do not fall with the number of nodes as those of a job do"
		}
		b.Sources = append(b.Sources, s)
	}
	slices.SortStableFunc(b.Sources, func(x, y *karasuv1.PredictionSource) int {
		switch {
		case x.Share > y.Share:
			return -1
		case x.Share < y.Share:
			return 1
		}
		return 0
	})
	b.Summary = summary(b)
	b.Notes = o.notes()
	return b
}

func (t *tally) mean(sum float64) float64 { return sum / float64(max(t.predictions, 1)) }

// anyPeer says whether some peer's model has a say.
func (t *tally) anyPeer() bool {
	return slices.ContainsFunc(t.peers, func(share float64) bool { return share > 0 })
}

// summary is the basis in one sentence.
func summary(b *karasuv1.PredictionBasis) string {
	var parts []string
	if n := b.GetContextRuns(); n > 0 {
		parts = append(parts, count(int(n), "own run")+" of this very job here")
	}
	if n := b.GetOtherContexts(); n > 0 {
		parts = append(parts, fmt.Sprintf("%s in %s", count(int(b.GetOtherRuns()), "own run"), count(int(n), "other context")))
	}
	peers, share := 0, 0.
	for _, s := range b.GetSources() {
		if s.GetOrigin() == peerRuns && s.GetShare() > 0 {
			peers++
			share += s.GetShare()
		}
	}
	if peers > 0 {
		parts = append(parts, fmt.Sprintf("%s (%.0f%% of the weight)", count(peers, "peer model"), 100*share))
	}
	return strings.Join(parts, ", ")
}

// notes say what was assumed, and which arguments nobody knows.
func (o *outlook) notes() []string {
	var out []string
	if o.workload.InputBytes == 0 {
		out = append(out, "the input size is not given: the mean of the known ones is assumed")
	}
	out = append(out, o.extrapolations()...)
	if text := o.tally.apart.note(); text != "" {
		out = append(out, text)
	}
	known, here := map[string]bool{}, o.tally.anyPeer()
	for _, h := range o.own.histories {
		here = here || h.Context.Environment == o.workload.Infrastructure
		for _, a := range h.Context.Arguments {
			known[a.Name] = true
		}
	}
	for _, p := range o.peers {
		if p.general != nil {
			for _, a := range p.weights.Arguments {
				known[a.Name] = true
			}
		}
	}
	if !here {
		out = append(out, "none of your runs is on "+o.workload.Infrastructure+", so that levels there are hardly more than guessed")
	}
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, a := range o.workload.Arguments {
		if known[a.Name] {
			continue
		}
		text := fmt.Sprintf("no run is known with the argument %s, so it changes nothing", a.Name)
		if len(names) > 0 {
			text += "; known are " + strings.Join(names, ", ")
		}
		out = append(out, text)
	}
	return out
}
