package advisor

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/share"
	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/private"
)

// maxSupports bounds what is handed to a method; each method takes the first that
// it has use for.
const maxSupports = 128

// knowledge keeps the decoded form of what supports are made of, so that a question
// pays only for what is new since the last.
type knowledge struct {
	mu sync.Mutex
	// changed signals that private runs changed since own was made.
	changed <-chan struct{}
	own     []ownSupport
	// records are the decoded summaries and models of the commons; a record that
	// cannot be decoded is kept as empty.
	records map[commons.ID]decoded
}

// ownSupport is one workload of the organisation itself.
type ownSupport struct {
	workload model.Workload
	support  search.Support
}

// decoded is one record of a peer. At most one of the two is set.
type decoded struct {
	summary *search.Support
	model   *commons.Model
	author  string
}

// supports returns the most promising of the workloads that the organisation or its
// peers know of, for a target and its runs so far.
func (a *Advisor) supports(ctx context.Context, p *search.Problem, target model.Workload, observed []search.Observation) ([]search.Support, error) {
	a.known.mu.Lock()
	defer a.known.mu.Unlock()
	if err := a.refreshOwn(ctx); err != nil {
		return nil, err
	}
	var all []search.Support
	for _, o := range a.known.own {
		if o.workload.Identity() != target.Identity() {
			all = append(all, o.support)
		}
	}
	peers, err := a.peerSupports()
	if err != nil {
		return nil, err
	}
	return search.SelectSupports(p, append(all, peers...), observed, maxSupports), nil
}

func (a *Advisor) refreshOwn(ctx context.Context) error {
	select {
	case <-a.known.changed:
	default:
		if a.known.own != nil {
			return nil
		}
	}
	runs, err := a.Runs.Runs(ctx, private.Filter{})
	if err != nil {
		return err
	}
	own := []ownSupport{}
	for _, g := range share.GroupRuns(runs) {
		if s, ok := share.Summarize(g, a.Pseudonyms, a.lookupOwn); ok {
			search.SortPoints(s.Points)
			own = append(own, ownSupport{g.Workload, search.Support{Organisation: a.Organisation, Summary: s}})
		}
	}
	a.known.own = own
	return nil
}

// lookupOwn is Lookup for summaries that do not leave: no name of a machine type is hidden.
func (a *Advisor) lookupOwn(infrastructure, machineType string) (r model.Resources, public, ok bool) {
	r, _, ok = a.Lookup(infrastructure, machineType)
	return r, true, ok
}

// peerSupports pairs the summaries of the commons with the models of the same
// workloads. Every record was validated on its way in; one that no longer passes is
// left out.
func (a *Advisor) peerSupports() ([]search.Support, error) {
	entries := a.Commons.Usable(nil)
	records := make(map[commons.ID]decoded, len(entries))
	type origin struct{ author, workload string }
	models := map[origin]*commons.Model{}
	for _, e := range entries {
		d, ok := a.known.records[e.ID]
		if !ok {
			r, err := a.Commons.Get(e.ID)
			if errors.Is(err, commons.ErrNotFound) {
				continue // deleted since it was listed
			}
			if err != nil {
				return nil, err
			}
			d = a.decode(r)
		}
		records[e.ID] = d
		if d.model != nil {
			models[origin{d.author, d.model.Pseudonym}] = d.model
		}
	}
	a.known.records = records
	var out []search.Support
	for _, e := range entries {
		d := records[e.ID]
		if d.summary == nil {
			continue
		}
		s := *d.summary
		if m := models[origin{s.Author, s.Summary.Pseudonym}]; m != nil {
			s.Model = m.Weights
		}
		out = append(out, s)
	}
	return out, nil
}

func (a *Advisor) decode(r *commons.Record) decoded {
	if r.By() == a.Self {
		return decoded{}
	}
	switch r.Kind {
	case karasuv1.RecordKind_RECORD_KIND_SUPPORT_MODEL:
		if m, err := commons.DecodeModel(r); err == nil {
			return decoded{model: &m, author: r.Author.String()}
		}
	case karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY:
		if s, err := commons.DecodeSummary(r); err == nil {
			search.SortPoints(s.Points)
			return decoded{summary: &search.Support{Organisation: r.Organisation, Author: r.Author.String(), Summary: s}}
		}
	}
	return decoded{}
}

const (
	// levelSD is how far levels of two workloads of one framework and algorithm lie
	// apart where nothing but their input sizes is known, in nats.
	levelSD = 0.6
	// levelPerInput is the growth of log runtime with log input size.
	levelPerInput = 0.8
	// levelPerCores is the mean slope of log runtime in log2 of all cores.
	levelPerCores = -0.5
	// targetSD is how far a runtime target lies from a job's mean log runtime: what the
	// evidence method assumes, too.
	targetSD = 1.5
	// contradiction is how many standard deviations apart a target and the level of
	// like workloads are where the target says nothing about the job.
	contradiction = 2
	// levelDoubt is the prior probability that the level of like workloads says nothing
	// about the job although the target is far from it. After an honest level, a job of
	// like size is within levelSD of it and its first run decides; a level that is wrong
	// by ten times and more has lost all weight after one run, whatever the doubt.
	levelDoubt = 0.2
)

// contradicts reports whether a level, known with standard deviation sd (0: not at
// all), should replace the target as the guess of how long the job takes. People set
// targets that their job can meet, so the target is the better guess unless the two
// are far apart; without a target the level is all there is.
func contradicts(p *search.Problem, mean, sd float64) bool {
	if sd == 0 {
		return false
	}
	if p.Target <= 0 {
		return true
	}
	return math.Abs(math.Log(p.Target.Seconds())-mean) > contradiction*math.Hypot(sd, targetSD)
}

// lendsLevel reports whether a support says how long jobs like the target take: one of
// the same framework and algorithm whose level is known, of the organisation itself or of
// a peer who shares absolute runtimes.
func lendsLevel(p *search.Problem, s *search.Support) bool {
	return s.Author != search.PredictionAuthor && s.Summary.Absolute &&
		s.Summary.Topic.Framework == p.Topic.Framework && s.Summary.Topic.Algorithm == p.Topic.Algorithm
}

// lenders says whose supports a level is from: the organisation where it is one, and
// whether all are the own history.
func lenders(p *search.Problem) (organisation string, own bool) {
	own = true
	for i := range p.Supports {
		s := &p.Supports[i]
		switch {
		case !lendsLevel(p, s):
			continue
		case organisation == "":
			organisation = s.Organisation
		case organisation != s.Organisation:
			organisation = several
		}
		own = own && s.Author == ""
	}
	return organisation, own
}

// several stands for the organisations of a level that more than one of them lends.
const several = "several"

// level guesses the mean log runtime over the candidates from the supports that lend
// theirs. sd is 0 where there are none.
func level(p *search.Problem) (mean, sd float64) {
	var levels []float64
	for i := range p.Supports {
		if !lendsLevel(p, &p.Supports[i]) {
			continue
		}
		s := &p.Supports[i].Summary
		l := s.Level + levelPerCores*(coresOfCandidates(p)-coresOfPoints(s))
		if theirs := s.InputBytes(); p.InputBytes > 0 && theirs > 0 {
			l += levelPerInput * math.Log(p.InputBytes/theirs)
		}
		levels = append(levels, l)
	}
	if len(levels) == 0 {
		return 0, 0
	}
	slices.Sort(levels)
	mean = (levels[(len(levels)-1)/2] + levels[len(levels)/2]) / 2
	spread := 0.0
	for _, l := range levels {
		spread += (l - mean) * (l - mean)
	}
	return mean, math.Sqrt(levelSD*levelSD + spread/float64(len(levels)))
}

// coresOfCandidates is the mean of log2 of the candidates' cores.
func coresOfCandidates(p *search.Problem) float64 {
	sum := 0.0
	for i := range p.Candidates {
		sum += math.Log2(float64(p.Candidates[i].Configuration.ScaleOut) * p.Candidates[i].Resources.VCPUs)
	}
	return sum / float64(len(p.Candidates))
}

// coresOfPoints is the mean of log2 of the cores of a summary's observed points.
func coresOfPoints(s *model.Summary) float64 {
	sum, n := 0.0, 0
	for i := range s.Points {
		if q := &s.Points[i]; q.Observed() {
			sum += math.Log2(float64(q.Configuration.ScaleOut) * q.Resources.VCPUs)
			n++
		}
	}
	return sum / float64(max(n, 1))
}
