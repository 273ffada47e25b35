package replay

import (
	"context"
	"fmt"

	"github.com/karasu-project/karasu/model/runtime"
)

// trainShare of [Splits].
const trainShare = .9

// splitsPerTask share a goroutine.
const splitsPerTask = 10

// point is one median of a table.
type point struct {
	context int
	run     predict.Observation
}

// leastScaleOut of C3O's protocol: at two nodes some contexts do not fit into memory
// and take ten times as long, or not, as it happens.
const leastScaleOut = 3

// points returns the medians that C3O's protocol is about: those of the machine type
// that most contexts have, the first of the table among equals, since C3O chooses
// the machine type before it predicts.
func (t *Table) points() []point {
	contexts, most := map[string]int{}, ""
	for _, h := range t.Histories {
		contexts[h.Context.MachineType]++
	}
	for _, h := range t.Histories {
		if m := h.Context.MachineType; contexts[m] > contexts[most] {
			most = m
		}
	}
	var out []point
	for i, h := range t.Histories {
		if h.Context.MachineType != most {
			continue
		}
		for _, s := range predict.Summarise(h.Runs) {
			if s.ScaleOut < leastScaleOut {
				continue
			}
			out = append(out, point{i, predict.Observation{ScaleOut: s.ScaleOut, RuntimeSeconds: s.MedianSeconds}})
		}
	}
	return out
}

// splitTasks are the tasks of C3O's protocols.
func (c *Config) splitTasks(protocol string, m *Model, t *Table) []*task {
	splits := c.Splits
	if m.Splits > 0 && m.Splits < splits {
		splits = m.Splits
	}
	points := t.points()
	counts := []int{int(float64(len(points)) * trainShare)}
	if protocol == Points {
		counts = PointCounts
	}
	var tasks []*task
	for _, n := range counts {
		if n < 1 || n >= len(points) {
			continue // nothing to train on, or to predict
		}
		for from := 0; from < splits; from += splitsPerTask {
			tasks = append(tasks, &task{do: func(ctx context.Context) ([]result, error) {
				var out []result
				for i := from; i < min(from+splitsPerTask, splits); i++ {
					s, err := c.split(ctx, protocol, m, t, points, n, i)
					if err != nil {
						return nil, fmt.Errorf("%s, %s, %s: %w", protocol, t.Job, m.Learner.Name(), err)
					}
					k := key{protocol, All, t.Job, m.Learner.Name(), n}
					r := result{key: k}
					r.add(s)
					out = append(out, r)
				}
				return out, nil
			}})
		}
	}
	return tasks
}

// split trains on n random points and predicts the others.
func (c *Config) split(ctx context.Context, protocol string, m *Model, t *Table, points []point, n, i int) (sums, error) {
	var s sums
	order := c.random(protocol, "|", t.Job, n, "|", i).Perm(len(points))
	history := make([]predict.History, len(t.Histories))
	test := make([][]predict.Observation, len(t.Histories))
	for k, at := range order {
		p := points[at]
		if k < n {
			history[p.context].Runs = append(history[p.context].Runs, p.run)
		} else {
			test[p.context] = append(test[p.context], p.run)
		}
	}
	var train []predict.History
	for j := range history {
		history[j].Context = t.Histories[j].Context
		if len(history[j].Runs) > 0 {
			train = append(train, history[j])
		}
	}
	g, err := m.Learner.Fit(ctx, train)
	if err != nil {
		return s, err
	}
	for j, runs := range test {
		if len(runs) == 0 {
			continue
		}
		p, err := g.Condition(t.Histories[j].Context, nil)
		if err != nil {
			return s, err
		}
		if err := predictAll(&s, p, runs); err != nil {
			return s, err
		}
	}
	return s, ctx.Err()
}
