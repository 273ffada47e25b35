package exchange

import (
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	// maxOffences is how many rejects within greylistTime put a peer on the list:
	// enough for a bug or two, few enough that a flood costs little.
	maxOffences = 64
	// greylistTime is how long nothing is taken from it then.
	greylistTime = 10 * time.Minute
	// maxWatched bounds the peers that are watched.
	maxWatched = 4096
)

// greylist remembers peers that sent what is their own fault. An honest peer
// validates before it passes anything on, and so never gets here. It is safe for
// concurrent use.
type greylist struct {
	mu    sync.Mutex
	peers map[peer.ID]*offender
}

type offender struct {
	offences int
	since    time.Time
}

func newGreylist() *greylist { return &greylist{peers: make(map[peer.ID]*offender)} }

// offence notes one reject.
func (g *greylist) offence(id peer.ID, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.peers[id]
	switch {
	case o == nil:
		if len(g.peers) >= maxWatched {
			g.evict(now)
		}
		o = &offender{since: now}
		g.peers[id] = o
	case now.Sub(o.since) > greylistTime:
		*o = offender{since: now}
	}
	o.offences++
	if o.offences == maxOffences {
		o.since = now // The time on the list counts from here.
	}
}

// listed says whether nothing is taken from a peer.
func (g *greylist) listed(id peer.ID, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.peers[id]
	return o != nil && o.offences >= maxOffences && now.Sub(o.since) <= greylistTime
}

// all lists the peers on the list.
func (g *greylist) all(now time.Time) []peer.ID {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []peer.ID
	for id, o := range g.peers {
		if o.offences >= maxOffences && now.Sub(o.since) <= greylistTime {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// evict makes room: what is over, or else anyone. The caller holds the lock.
func (g *greylist) evict(now time.Time) {
	var any peer.ID
	for id, o := range g.peers {
		if now.Sub(o.since) > greylistTime {
			delete(g.peers, id)
		} else if any == "" || o.offences < g.peers[any].offences {
			any = id
		}
	}
	if len(g.peers) >= maxWatched {
		delete(g.peers, any)
	}
}
