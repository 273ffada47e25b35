package exchange

import (
	"context"
	"errors"
	"fmt"

	"github.com/karasu-project/karasu/store/commons"
)

// Introduce stores a record that somebody else signed and gossips it, as if it had come
// from a peer, and says whether it was new. The error holds a [*RefusalError] where it is
// refused.
func (e *Exchange) Introduce(ctx context.Context, r *commons.Record) (fresh bool, err error) {
	if err := e.running(); err != nil {
		return false, err
	}
	refusal := e.validator.judge(r, r.Topic, Sync)
	switch {
	case refusal == nil:
	case refusal.Reason == Duplicate, refusal.Reason == Stale:
		return false, nil
	default:
		return false, refusal
	}
	stored, err := e.store(ctx, []*commons.Record{r})
	if err != nil || stored == 0 {
		return false, err
	}
	if _, err := e.join(r.Topic, published); err != nil && !errors.Is(err, ErrTooManyTopics) {
		return true, fmt.Errorf("record %s is stored, but not gossiped: %w", r.ID, err)
	}
	if err := e.gossip(ctx, r); err != nil {
		return true, fmt.Errorf("record %s is stored, but not gossiped: %w", r.ID, err)
	}
	e.nudge(r.Topic, commons.DayOf(r.Created))
	return true, nil
}

// Reconsider asks all connected peers again for what was refused: whose records are
// taken has changed.
func (e *Exchange) Reconsider() {
	if e.running() != nil {
		return
	}
	e.fetches.reconsider()
	for _, id := range e.speakers() {
		e.scheduleSoon(id, 0)
	}
}

// reconsider forgets what was refused.
func (s *fetches) reconsider() {
	s.mu.Lock()
	clear(s.refused)
	s.mu.Unlock()
}
