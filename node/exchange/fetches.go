package exchange

import (
	"sync"
	"time"

	"github.com/karasu-project/karasu/store/commons"
)

const (
	// claimIdle is how long a session that gets nothing keeps others from fetching
	// the same records.
	claimIdle = 10 * time.Second
	// maxRefused bounds the memory of refused records.
	maxRefused = 1 << 16
)

// fetches keeps sessions from fetching one record twice: what one of them is
// fetching, and what was refused a while ago. It is safe for concurrent use.
type fetches struct {
	mu      sync.Mutex
	claims  map[commons.ID]*fetcher
	refused map[commons.ID]time.Time // until when
}

// fetcher is one session.
type fetcher struct {
	active time.Time // guarded by fetches.mu
	ids    []commons.ID
}

func newFetches() *fetches {
	return &fetches{claims: make(map[commons.ID]*fetcher), refused: make(map[commons.ID]time.Time)}
}

// claim reserves what is not held, not refused and not being fetched.
func (s *fetches) claim(f *fetcher, ids []commons.ID, held func(commons.ID) bool, now time.Time) (got []commons.ID, busy int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.active = now
	for _, id := range ids {
		if held(id) {
			continue
		}
		if until, ok := s.refused[id]; ok {
			if now.Before(until) {
				continue
			}
			delete(s.refused, id)
		}
		if other := s.claims[id]; other != nil && (other == f || now.Sub(other.active) < claimIdle) {
			busy++
			continue
		}
		s.claims[id] = f
		f.ids = append(f.ids, id)
		got = append(got, id)
	}
	return got, busy
}

// progress notes that a session is getting what it asked for.
func (s *fetches) progress(f *fetcher, now time.Time) {
	s.mu.Lock()
	f.active = now
	s.mu.Unlock()
}

// release ends a session's claims.
func (s *fetches) release(f *fetcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range f.ids {
		if s.claims[id] == f {
			delete(s.claims, id)
		}
	}
	f.ids = nil
}

// refuse remembers that a record was not taken.
func (s *fetches) refuse(id commons.ID, until, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.refused) >= maxRefused {
		for old, t := range s.refused {
			if !now.Before(t) {
				delete(s.refused, old)
			}
		}
		if len(s.refused) >= maxRefused {
			clear(s.refused)
		}
	}
	s.refused[id] = until
}
