package advisor

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/model/runtime/structured"
	"github.com/karasu-project/karasu/store/private"
)

const (
	// fitLimit bounds a fit, which takes a second for hundreds of contexts.
	fitLimit = time.Minute
	// keptFits and keptRefits bound the models that stay in memory; one of 1,000
	// medians, the most that is taken, has 8 MB.
	keptFits   = 4
	keptRefits = 6
)

// algorithm is what a general runtime model is of. Infrastructures are part of the
// contexts.
type algorithm struct {
	framework, name string
	// without is the identity of a workload whose runs are left out; "" is none.
	without string
}

// ownModels keeps the general models of the organisation's own runs.
type ownModels struct {
	mu sync.Mutex
	// changed signals that private runs changed; every change is a generation.
	changed     <-chan struct{}
	unsubscribe func()
	generation  int
	// fits are most recently used first.
	fits []*ownFit
	// background are the fits that run, which stop ends.
	background sync.WaitGroup
	stop       context.CancelFunc
	running    context.Context
}

// ownFit is the general model of one algorithm.
type ownFit struct {
	algorithm  algorithm
	generation int
	histories  []predict.History
	skipped    predict.Skipped
	// done is closed when general and err are set. general is nil without histories.
	done    chan struct{}
	general predict.General
	err     error

	mu     sync.Mutex
	refits []refit
	// trials are by infrastructure.
	trials map[string]*trials
}

// refit is the model without one context, so that the runs of that context can be
// conditioned on.
type refit struct {
	without int
	general predict.General
}

// open subscribes to the private store.
func (m *ownModels) open(runs Runs) {
	m.changed, m.unsubscribe = runs.Subscribe()
	m.running, m.stop = context.WithCancel(context.Background())
}

// close ends the subscription and what is being fitted.
func (m *ownModels) close() {
	m.unsubscribe()
	m.stop()
	m.background.Wait()
}

// ownFit returns the model of an algorithm's runs as they are now. It is fitted in the
// background, once for all who wait for it; who gives up waiting does not stop it.
func (a *Advisor) ownFit(ctx context.Context, of algorithm) (*ownFit, error) {
	f, err := a.currentFit(ctx, of)
	if err != nil {
		return nil, err
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, fmt.Errorf("fit of the runtime model: %w", ctx.Err())
	}
	if f.err != nil {
		return nil, fmt.Errorf("fit of the runtime model: %w", f.err)
	}
	return f, nil
}

func (a *Advisor) currentFit(ctx context.Context, of algorithm) (*ownFit, error) {
	m := &a.models
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.changed:
		m.generation++
	default:
	}
	i := slices.IndexFunc(m.fits, func(f *ownFit) bool { return f.algorithm == of })
	if i >= 0 {
		f := m.fits[i]
		m.fits = slices.Insert(slices.Delete(m.fits, i, i+1), 0, f)
		if f.generation == m.generation && !f.failed() {
			return f, nil
		}
	}
	histories, skipped, err := a.histories(ctx, of)
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		if f := m.fits[0]; !f.failed() && reflect.DeepEqual(f.histories, histories) {
			f.generation, f.skipped = m.generation, skipped
			return f, nil
		}
		m.fits = m.fits[1:]
	}
	f := &ownFit{algorithm: of, generation: m.generation, histories: histories, skipped: skipped, done: make(chan struct{})}
	m.fits = slices.Insert(m.fits, 0, f)
	m.fits = m.fits[:min(len(m.fits), keptFits)]
	m.background.Go(func() { //nolint:contextcheck // who asked first may give up while others wait
		defer close(f.done)
		if len(histories) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(m.running, fitLimit)
		defer cancel()
		f.general, f.err = learner().Fit(ctx, histories)
	})
	return f, nil
}

// learner is the model of one's own runs.
func learner() predict.Learner { return structured.New("default", structured.Options{}) }

// failed says whether the fit ended with an error.
func (f *ownFit) failed() bool {
	select {
	case <-f.done:
		return f.err != nil
	default:
		return false
	}
}

// histories groups the organisation's runs of an algorithm by context.
func (a *Advisor) histories(ctx context.Context, of algorithm) ([]predict.History, predict.Skipped, error) {
	runs, err := a.Runs.Runs(ctx, private.Filter{})
	if err != nil {
		return nil, predict.Skipped{}, err
	}
	runs = slices.DeleteFunc(runs, func(r model.Run) bool {
		w := r.Workload
		return w.Framework != of.framework || w.Algorithm != of.name || of.without != "" && w.Identity() == of.without
	})
	histories, skipped := predict.Histories(runs, func(infrastructure, machine string) (model.Resources, bool) {
		r, _, known := a.Lookup(infrastructure, machine)
		return r, known
	})
	return histories, skipped, nil
}

// find returns the index of the history of a context; -1 where there is none.
func (f *ownFit) find(c predict.Context) int {
	c = plain(c.Spelled(predict.TextArguments(f.histories)))
	return slices.IndexFunc(f.histories, func(h predict.History) bool { return plain(h.Context).Equal(c) })
}

// spelling is the own model, which knows some arguments as texts that others know as
// numbers.
type spelling struct {
	predict.General
	texts map[string]bool
}

// Condition implements [predict.General].
func (s spelling) Condition(c predict.Context, runs []predict.Observation) (predict.Predictor, error) {
	return s.General.Condition(s.spelled(c), runs)
}

// Target implements [predict.Targeter].
func (s spelling) Target(c predict.Context) (predict.Target, error) {
	return s.General.(predict.Targeter).Target(s.spelled(c))
}

func (s spelling) spelled(c predict.Context) predict.Context { return c.Spelled(s.texts) }

// plain returns the context with all arguments essential: which are optional depends
// on other contexts and does not tell two apart.
func plain(c predict.Context) predict.Context {
	c.Arguments = slices.Clone(c.Arguments)
	for i := range c.Arguments {
		c.Arguments[i].Optional = false
	}
	return c
}

// without returns the general model of all contexts but one; -1 is none. It is nil
// where there is nothing to predict from: no other context, and no run of this one.
func (f *ownFit) without(i int) (predict.General, error) {
	if i < 0 || f.general == nil {
		return f.general, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.refits {
		if r.without == i {
			return r.general, nil
		}
	}
	g, err := f.general.(predict.Refitter).Refit(slices.Delete(slices.Clone(f.histories), i, i+1))
	if err != nil {
		return nil, err
	}
	f.refits = append(f.refits, refit{i, g})
	if len(f.refits) > keptRefits {
		f.refits = f.refits[1:]
	}
	return g, nil
}
