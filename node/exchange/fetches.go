package exchange

import (
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/store/commons"
)

const (
	// claimIdle is how long a session that gets nothing keeps others from fetching
	// the same records.
	claimIdle = 10 * time.Second
	// maxRefused bounds the memory of refused records.
	maxRefused = 1 << 16
	// unreliableTime is how long a peer that did not send what it had offered cannot
	// keep others from being asked, and maxUnreliable bounds how many are remembered.
	unreliableTime = 10 * time.Minute
	maxUnreliable  = 4096
)

// fetches keeps sessions from fetching one record twice: what one of them is
// fetching, and what was refused a while ago. It is safe for concurrent use.
type fetches struct {
	mu      sync.Mutex
	claims  map[commons.ID]*fetcher
	refused map[commons.ID]time.Time // until when
	// unreliable peers offer records that they do not send. If their claims counted,
	// they could keep a record from coming from anybody else.
	unreliable map[peer.ID]time.Time // until when
}

// fetcher is one session. Its fields but the peer are guarded by fetches.mu.
type fetcher struct {
	peer   peer.ID
	active time.Time
	ids    []commons.ID
	// arrived counts the records that came, good or bad.
	arrived int
}

func newFetches() *fetches {
	return &fetches{
		claims: make(map[commons.ID]*fetcher), refused: make(map[commons.ID]time.Time),
		unreliable: make(map[peer.ID]time.Time),
	}
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
		if other := s.claims[id]; other != nil && (other == f || now.Sub(other.active) < claimIdle && !now.Before(s.unreliable[other.peer])) {
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
func (s *fetches) progress(f *fetcher, arrived int, now time.Time) {
	s.mu.Lock()
	f.active = now
	f.arrived += arrived
	s.mu.Unlock()
}

// release ends a session's claims.
func (s *fetches) release(f *fetcher, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.arrived < len(f.ids) {
		if len(s.unreliable) >= maxUnreliable {
			clear(s.unreliable)
		}
		s.unreliable[f.peer] = now.Add(unreliableTime)
	}
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
