package exchange

import (
	"maps"
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
	// reasons adds up to offences.
	reasons map[Reason]uint64
	last    string
}

// Offender is a peer that sent what is its own fault.
type Offender struct {
	ID peer.ID
	// Greylisted is how much longer nothing is taken from it; 0 is not greylisted.
	Greylisted time.Duration
	// Refused counts what was its fault lately, by reason.
	Refused map[Reason]uint64
	// Last says what was wrong with the last of it, in words that may quote the peer.
	Last string
}

func newGreylist() *greylist { return &greylist{peers: make(map[peer.ID]*offender)} }

// offence notes one reject, and says whether it is the first of its reason lately.
func (g *greylist) offence(id peer.ID, refusal *RefusalError, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.peers[id]
	switch {
	case o == nil:
		if len(g.peers) >= maxWatched {
			g.evict(now)
		}
		o = &offender{since: now, reasons: make(map[Reason]uint64)}
		g.peers[id] = o
	case now.Sub(o.since) > greylistTime:
		*o = offender{since: now, reasons: make(map[Reason]uint64)}
	}
	o.offences++
	o.reasons[refusal.Reason]++
	o.last = refusal.text()
	if o.offences == maxOffences {
		o.since = now // The time on the list counts from here.
	}
	return o.reasons[refusal.Reason] == 1
}

// left is how much longer nothing is taken from a peer.
func (o *offender) left(now time.Time) time.Duration {
	if o == nil || o.offences < maxOffences {
		return 0
	}
	return max(o.since.Add(greylistTime).Sub(now), 0)
}

// listed says whether nothing is taken from a peer.
func (g *greylist) listed(id peer.ID, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.peers[id].left(now) > 0
}

// all lists peers with recent offences, by id.
func (g *greylist) all(now time.Time) []Offender {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []Offender
	for _, id := range slices.Sorted(maps.Keys(g.peers)) {
		if o := g.peers[id]; now.Sub(o.since) <= greylistTime {
			out = append(out, Offender{id, o.left(now), maps.Clone(o.reasons), o.last})
		}
	}
	return out
}

// pardon forgets all offences and says how many peers were on the list.
func (g *greylist) pardon(now time.Time) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, o := range g.peers {
		if o.left(now) > 0 {
			n++
		}
	}
	clear(g.peers)
	return n
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

// offence notes one reject, and logs the first of each reason of a peer: an honest one
// makes none, and many would fill the log.
func (e *Exchange) offence(id peer.ID, refusal *RefusalError, now time.Time) {
	if e.greylist.offence(id, refusal, now) {
		e.opts.Logger.Warn("refused what a peer sent; karasu peers counts what follows", "peer", id, "reason", refusal.Reason, "error", refusal.text())
	}
}

// Offenders lists peers that sent what is their own fault in the last minutes.
func (e *Exchange) Offenders() []Offender { return e.greylist.all(e.opts.Now()) }

// Greylisted says whether nothing is taken from a peer at the moment, as it sent too
// much that is its own fault.
func (e *Exchange) Greylisted(id peer.ID) bool { return e.greylist.listed(id, e.opts.Now()) }

// Pardon takes all peers off the greylist and says how many there were.
func (e *Exchange) Pardon() int { return e.greylist.pardon(e.opts.Now()) }
