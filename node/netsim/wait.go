package netsim

import (
	"context"
	"slices"
	"time"

	"github.com/karasu-project/karasu/store/commons"
)

const (
	// pollEvery is how often nodes are asked what they hold, which bounds how exactly
	// times are known.
	pollEvery = 20 * time.Millisecond
	// longestPoll is the most that one round of asking counts as waiting: what is longer
	// is a machine that was suspended or had no time for this process.
	longestPoll = time.Second
)

// goal is what nodes should hold: so many records, and the fingerprint of them.
type goal struct {
	records int
	root    commons.Fingerprint
}

// goalOf is to hold all of these, of which some may be equal.
func goalOf(entries ...[]commons.Entry) goal {
	x, ids := commons.NewIndex(time.Now), make(map[commons.ID]struct{})
	for _, part := range entries {
		for _, e := range part {
			x.Insert(e)
			ids[e.ID] = struct{}{}
		}
	}
	return goal{records: len(ids), root: x.Root(0)}
}

// holding is the goal to hold records, and the bytes of their envelopes.
func holding(records []*commons.Record) (want goal, bytes int64) {
	entries := make([]commons.Entry, len(records))
	for i, r := range records {
		entries[i] = commons.Entry{ID: r.ID, Topic: r.Topic, Created: r.Created}
		bytes += int64(len(r.Envelope))
	}
	return goalOf(entries), bytes
}

// patience ends when nothing has changed for long, however slow the machine is, or when
// the time for all measurements is over.
type patience struct {
	most     time.Duration // without a change
	deadline time.Time
	last     time.Time // over was called
	held     int
	idle     time.Duration // since held has changed
}

func newPatience(o Options) *patience {
	return &patience{most: o.Patience, deadline: o.deadline, last: time.Now()}
}

// over notes how many records are held together and says whether to give up.
func (p *patience) over(held int, now time.Time) bool {
	p.idle += min(now.Sub(p.last), longestPoll)
	p.last = now
	if held != p.held {
		p.held, p.idle = held, 0
	}
	return p.idle > p.most || now.After(p.deadline)
}

// await polls until nodes hold what they should, and returns after what time each did.
func await(ctx context.Context, o Options, nodes []*node, want goal, begin time.Time, every time.Duration) (took []time.Duration, converged bool, err error) {
	pending := slices.Clone(nodes)
	left := newPatience(o)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		held := 0
		for _, n := range nodes {
			held += n.held()
		}
		pending = slices.DeleteFunc(pending, func(n *node) bool {
			// The fingerprint takes longer, so it is computed only where it may be right.
			if n.held() != want.records || n.root() != want.root {
				return false
			}
			took = append(took, time.Since(begin))
			return true
		})
		if len(pending) == 0 || left.over(held, time.Now()) {
			return took, len(pending) == 0, nil
		}
		select {
		case <-ctx.Done():
			return took, false, ctx.Err()
		case <-tick.C:
		}
	}
}
