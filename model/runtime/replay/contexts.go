package replay

import (
	"context"
	"fmt"
	"slices"

	"github.com/karasu-project/karasu/model/runtime"
)

// draw is one experiment on a target: what is known and what is to be predicted.
type draw struct {
	split string
	n     int
	known []predict.Observation
	test  []predict.Observation
}

// contextTasks are the tasks of a cross-context protocol: one a fold of targets.
func (c *Config) contextTasks(protocol string, m *Model, t *Table) []*task {
	targets := c.targets(protocol, m, t)
	folds := m.Folds
	if folds <= 0 || protocol != Full && protocol != Shared || folds > len(targets) {
		folds = len(targets)
	}
	tasks := make([]*task, 0, folds)
	for f := range folds {
		var fold []int
		for i := f; i < len(targets); i += folds {
			fold = append(fold, targets[i])
		}
		tasks = append(tasks, &task{do: func(ctx context.Context) ([]result, error) {
			return c.fold(ctx, protocol, m, t, fold)
		}})
	}
	return tasks
}

// targets are the contexts of a table that are predicted.
func (c *Config) targets(protocol string, m *Model, t *Table) []int {
	var all []int
	for i := range t.Histories {
		if protocol != Filtered || len(t.filtered(i)) > 0 {
			all = append(all, i)
		}
	}
	limit := c.Contexts
	if m.Contexts > 0 && (limit <= 0 || m.Contexts < limit) {
		limit = m.Contexts
	}
	if limit <= 0 || limit >= len(all) {
		return all
	}
	out := make([]int, limit)
	for i := range out {
		out[i] = all[i*len(all)/limit]
	}
	return out
}

// filtered returns the contexts that share nothing with a target.
func (t *Table) filtered(target int) []predict.History {
	varying := t.varying()
	var out []predict.History
	for _, h := range t.Histories {
		if disjoint(h.Context, t.Histories[target].Context, varying) {
			out = append(out, h)
		}
	}
	return out
}

// without returns all contexts but some.
func (t *Table) without(targets ...int) []predict.History {
	var out []predict.History
	for i, h := range t.Histories {
		if !slices.Contains(targets, i) {
			out = append(out, h)
		}
	}
	return out
}

// fold predicts all targets of a fold.
func (c *Config) fold(ctx context.Context, protocol string, m *Model, t *Table, fold []int) ([]result, error) {
	var history []predict.History
	switch protocol {
	case Full, Shared:
		history = t.without(fold...)
	case Filtered:
		history = t.filtered(fold[0])
	case Bell:
		for i := range c.C3O {
			if c.C3O[i].Job == t.Job {
				history = c.C3O[i].Histories
			}
		}
	}
	fail := func(err error) error {
		return fmt.Errorf("%s, %s, %s: %w", protocol, t.Job, m.Learner.Name(), err)
	}
	base, err := m.Learner.Fit(ctx, history)
	if err != nil {
		return nil, fail(err)
	}
	var out []result
	for _, target := range fold {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		general := base
		if r, ok := base.(predict.Refitter); ok && len(fold) > 1 {
			if general, err = r.Refit(t.without(target)); err != nil {
				return nil, fail(err)
			}
		}
		derived := append([]Derived{{Name: m.Learner.Name()}}, m.Derived...)
		if protocol == Shared {
			if general, err = travel(general, m.Import); err != nil {
				return nil, fail(err)
			}
			derived = derived[:1]
		}
		for _, d := range derived {
			g := general
			if d.Of != nil {
				g = d.Of(general)
			}
			results, err := c.target(protocol, d.Name, t, target, g, history)
			if err != nil {
				return nil, fail(err)
			}
			out = append(out, results...)
		}
	}
	return out, nil
}

// travel returns what a peer makes of a general model's weights.
func travel(g predict.General, load func(*predict.Weights) (predict.General, error)) (predict.General, error) {
	w, err := g.Weights()
	if err != nil {
		return nil, err
	}
	return load(w)
}

// target predicts one context for all n and draws.
func (c *Config) target(protocol, model string, t *Table, target int, g predict.General, history []predict.History) ([]result, error) {
	h := t.Histories[target]
	if protocol == Bell {
		h.Context = complete(h.Context, history)
	}
	condition := func(runs []predict.Observation) (predict.Predictor, error) { return g.Condition(h.Context, runs) }
	if tg, ok := g.(predict.Targeter); ok {
		view, err := tg.Target(h.Context)
		if err != nil {
			return nil, err
		}
		condition = view.Condition
	}
	var out []result
	for i, d := range c.draws(protocol, t.Job, target, h.Runs) {
		p, err := condition(d.known)
		if silent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		k := key{protocol, d.split, t.Job, model, d.n}
		if len(out) == 0 || out[len(out)-1].key != k {
			out = append(out, result{key: k})
		}
		var s sums
		if err := predictAll(&s, p, d.test); err != nil {
			return nil, err
		}
		if model == c.Models[0].Learner.Name() {
			if err := s.answers.ask(p, d.test, c.random(protocol, "|", t.Job, target, "|", d.split, d.n, "|deadline|", i)); err != nil {
				return nil, err
			}
		}
		out[len(out)-1].add(s)
	}
	return out, nil
}

// complete gives a context of which arguments are not known those that are in the
// middle of the history: the first context's with the median position.
func complete(c predict.Context, history []predict.History) predict.Context {
	if len(history) > 0 && len(c.Arguments) == 0 {
		c.Arguments = history[len(history)/2].Context.Arguments
	}
	return c
}

// draws of a target, those of one split and n together.
func (c *Config) draws(protocol, job string, target int, runs []predict.Observation) []draw {
	out := []draw{{split: All, test: runs}}
	groups := byScaleOut(runs)
	repeats := c.Draws
	if protocol == Bell {
		repeats = c.BellDraws
	}
	for _, split := range []string{Interpolation, Extrapolation, All} {
		for n := 1; n <= MaxRuns; n++ {
			for i := range repeats {
				if d, ok := c.draw(split, n, groups, protocol, job, target, i); ok {
					out = append(out, d)
				}
			}
		}
	}
	return out
}

// byScaleOut groups runs by rising scale-out.
func byScaleOut(runs []predict.Observation) [][]predict.Observation {
	index := map[int]int{}
	var out [][]predict.Observation
	for _, r := range runs {
		i, ok := index[r.ScaleOut]
		if !ok {
			i = len(out)
			index[r.ScaleOut] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], r)
	}
	slices.SortFunc(out, func(a, b []predict.Observation) int { return a[0].ScaleOut - b[0].ScaleOut })
	return out
}

// attempts to find n scale-outs that leave something to predict.
const attempts = 200

// draw picks n scale-outs and a run at each. It is not ok where no choice of n
// leaves scale-outs to predict on that side. Where all scale-outs are known, the
// split All predicts their other repeats.
func (c *Config) draw(split string, n int, groups [][]predict.Observation, protocol, job string, target, i int) (draw, bool) {
	if n > len(groups) || (split == All) != (n == len(groups)) {
		return draw{}, false
	}
	if protocol == Shared {
		protocol = Full // the same draws, so that figures compare
	}
	r := c.random(protocol, "|", job, target, "|", split, n, "|", i)
	for range attempts {
		chosen := r.Perm(len(groups))[:n]
		low, high := slices.Min(chosen), slices.Max(chosen)
		d := draw{split: split, n: n}
		for g, runs := range groups {
			inside := g > low && g < high
			if !slices.Contains(chosen, g) {
				if inside == (split == Interpolation) {
					d.test = append(d.test, runs...)
				}
				continue
			}
			k := r.IntN(len(runs))
			d.known = append(d.known, runs[k])
			if split == All {
				d.test = append(d.test, runs[:k]...)
				d.test = append(d.test, runs[k+1:]...)
			}
		}
		if len(d.test) > 0 {
			return d, true
		}
	}
	return draw{}, false
}
