package replay

import (
	"context"
	"fmt"

	"github.com/karasu-project/karasu/model/runtime"
)

const (
	// peerDraws are random ways to share the contexts of a table out.
	peerDraws = 3
	// heldShare of the contexts is nobody's: one in so many.
	heldShare = 5
)

// peerTasks are the tasks of [Peers]: one a draw.
func (c *Config) peerTasks(m *Model, t *Table) []*task {
	tasks := make([]*task, 0, peerDraws)
	for draw := range peerDraws {
		tasks = append(tasks, &task{do: func(ctx context.Context) ([]result, error) {
			out, err := c.peers(ctx, m, t, draw)
			if err != nil {
				return nil, fmt.Errorf("%s, %s, %s: %w", Peers, t.Job, m.Learner.Name(), err)
			}
			return out, nil
		}})
	}
	return tasks
}

// peers predicts the contexts of one draw that nobody has from the models of two peers
// with half of the others each, joined as a node without runs joins them.
func (c *Config) peers(ctx context.Context, m *Model, t *Table, draw int) ([]result, error) {
	order := c.random(Peers, "|", t.Job, draw).Perm(len(t.Histories))
	held := order[:max(len(order)/heldShare, 1)]
	if c.Contexts > 0 {
		held = held[:min(len(held), c.Contexts)]
	}
	var parts [2][]predict.History
	for k, i := range order[len(held):] {
		parts[k%2] = append(parts[k%2], t.Histories[i])
	}
	var both predict.Ensemble
	for _, part := range parts {
		g, err := m.Learner.Fit(ctx, part)
		if err != nil {
			return nil, err
		}
		if g, err = travel(g, m.Import); err != nil {
			return nil, err
		}
		both.Members = append(both.Members, g)
	}
	var out []result
	for _, i := range held {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		results, err := c.target(Peers, m.Learner.Name(), t, i, both, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, results...)
	}
	return out, nil
}
