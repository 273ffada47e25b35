package exchange

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/commons"
)

const (
	// maxSessionOffences ends a session.
	maxSessionOffences = 8
	// snapshotAge is when a snapshot is taken anew although nothing changed: records
	// expire without a sign.
	snapshotAge = time.Minute
)

// How long a refused record is not fetched again. Quotas and clocks change soon;
// what is stale, of another version or wrong stays so.
const (
	refusedShort = time.Minute
	refusedLong  = time.Hour
)

// replica is the node as one session sees it.
type replica struct {
	e        *Exchange
	peer     peer.ID
	fetcher  fetcher
	offences int
	learned  map[model.Topic]struct{}
	// since is the scope of a session that this node leads, and oldest the first day of
	// what the session brought.
	since, oldest commons.Day
}

var _ Replica = (*replica)(nil)

func (r *replica) Peer() peer.ID { return r.peer }

func (r *replica) Snapshot() (*Snapshot, error) { return r.e.snapshots.get(r.e.opts.Now()) }

func (r *replica) Index() *commons.Index { return r.e.opts.Store.Index() }

func (r *replica) Since() commons.Day { return r.since }

func (r *replica) Patterns() []Pattern { return r.e.interests() }

func (r *replica) Claim(ids []commons.ID) ([]commons.ID, int) {
	return r.e.fetches.claim(&r.fetcher, ids, r.e.opts.Store.Has, time.Now())
}

func (r *replica) Envelope(id commons.ID) ([]byte, error) {
	rec, err := r.e.opts.Store.Get(id)
	if err != nil {
		return nil, err
	}
	if err := rec.CheckTime(r.e.opts.Now()); err != nil {
		return nil, fmt.Errorf("%w: %w", commons.ErrNotFound, err)
	}
	if rec.Host == r.e.self || rec.By() == r.e.opts.Self {
		if err := r.e.opts.Leaving(rec, "sync", []peer.ID{r.peer}); err != nil {
			return nil, err
		}
	}
	return rec.Envelope, nil
}

func (r *replica) Sent(n int) {
	r.e.counters.add(func(s *Stats) { s.RecordsOut += uint64(n) })
}

func (r *replica) Admit(ctx context.Context, asked map[commons.ID]model.Topic, envelopes [][]byte) (stored, refused int, err error) {
	now := r.e.opts.Now()
	r.e.fetches.progress(&r.fetcher, len(envelopes), time.Now())
	var batch []*commons.Record
	for _, env := range envelopes {
		rec, refusal := r.e.validator.open(env)
		if refusal == nil {
			topic, ok := asked[rec.ID]
			if !ok {
				r.refuse(reject(Unasked, nil), now)
				return stored, refused + 1, fmt.Errorf("%w: record %s was not asked for", ErrProtocol, rec.ID)
			}
			delete(asked, rec.ID)
			refusal = r.e.validator.judge(rec, topic, Sync)
			if refusal != nil && refusal.Reason != WrongTopic {
				// The fault is in the record, so it need not be fetched again soon. A wrong
				// topic is the peer's: others may offer the record under its own.
				r.e.fetches.refuse(rec.ID, now.Add(refusal.pause()), now)
			}
		}
		if refusal != nil {
			refused++
			if r.refuse(refusal, now); r.offences > maxSessionOffences {
				return stored, refused, fmt.Errorf("%w: too many bad records, the last: %w", ErrProtocol, refusal)
			}
			continue
		}
		batch = append(batch, rec)
	}
	stored, err = r.e.store(ctx, batch)
	for _, rec := range batch {
		r.learned[rec.Topic] = struct{}{}
		r.oldest = min(r.oldest, commons.DayOf(rec.Created))
	}
	return stored, refused, err
}

func (r *replica) refuse(refusal *RefusalError, now time.Time) {
	r.e.counters.refused(refusal.Reason)
	if refusal.Verdict == Reject {
		r.offences++
		r.e.offence(r.peer, refusal, now)
	}
}

// pause is how long a refused record is not fetched again.
func (r *RefusalError) pause() time.Duration {
	switch r.Reason {
	case QuotaCount, QuotaBytes, QuotaTopics, QuotaTotal, QuotaAuthor, Future, Duplicate:
		return refusedShort
	}
	return refusedLong
}

// store puts records that were validated, tells the validator and counts.
func (e *Exchange) store(ctx context.Context, records []*commons.Record) (stored int, err error) {
	var own, others []*commons.Record
	for _, r := range records {
		if r.By() == e.opts.Self {
			own = append(own, r)
		} else {
			others = append(others, r)
		}
	}
	for _, part := range []struct {
		records []*commons.Record
		own     bool
	}{{own, true}, {others, false}} {
		if len(part.records) == 0 {
			continue
		}
		outcomes, err := e.opts.Store.PutAll(ctx, part.records, part.own)
		for i, o := range outcomes {
			switch o {
			case commons.Stored, commons.Equivocation:
				stored++
				e.validator.Stored(part.records[i])
			case commons.Duplicate:
				e.counters.refused(Duplicate)
			case commons.Stale:
				e.counters.refused(Stale)
				e.fetches.refuse(part.records[i].ID, time.Now().Add(refusedLong), time.Now())
			}
		}
		if err != nil {
			e.counters.add(func(s *Stats) {
				s.RecordsIn += uint64(stored)
				s.Rejected[StoreFailed] += uint64(len(part.records) - len(outcomes))
			})
			return stored, fmt.Errorf("storing received records: %w", err)
		}
	}
	e.counters.add(func(s *Stats) { s.RecordsIn += uint64(stored) })
	return stored, nil
}

// snapshots keeps the latest snapshot until the store changes. It is safe for
// concurrent use.
type snapshots struct {
	store   Store
	changed <-chan struct{}

	mu     sync.Mutex
	latest *Snapshot
	taken  time.Time
}

func (s *snapshots) get(now time.Time) (*Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.changed:
		s.latest = nil
	default:
	}
	if s.latest == nil || now.Sub(s.taken) > snapshotAge {
		entries, err := s.store.Entries(nil)
		if err != nil {
			return nil, fmt.Errorf("reading what is held: %w", err)
		}
		s.latest, s.taken = NewSnapshot(entries), now
	}
	return s.latest, nil
}
