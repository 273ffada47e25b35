package p2p

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
)

// maxTurnedAway bounds the peers that are remembered as kept out.
const maxTurnedAway = 256

// gater refuses peers that are not on the allowlist or that a circle does not permit:
// before they are dialled, and on an inbound connection as soon as the handshake has
// proved who calls. Without either it lets everybody in. It is safe for concurrent use.
type gater struct {
	allow   atomic.Pointer[map[peer.ID]struct{}]
	permit  atomic.Pointer[func(peer.ID) bool]
	refused atomic.Uint64

	mu         sync.Mutex
	turnedAway map[peer.ID]*TurnedAway
}

var _ connmgr.ConnectionGater = (*gater)(nil)

// TurnedAway is a peer that called and was kept out.
type TurnedAway struct {
	ID    peer.ID
	Times uint64
	Last  time.Time
}

func newGater(allow []peer.ID) *gater {
	g := &gater{turnedAway: make(map[peer.ID]*TurnedAway)}
	g.set(allow)
	return g
}

// set replaces the allowlist.
func (g *gater) set(allow []peer.ID) {
	m := make(map[peer.ID]struct{}, len(allow))
	for _, id := range allow {
		m[id] = struct{}{}
	}
	g.allow.Store(&m)
}

// allowed says whether the node talks to a peer.
func (g *gater) allowed(id peer.ID) bool {
	if m := *g.allow.Load(); len(m) > 0 {
		if _, ok := m[id]; !ok {
			return false
		}
	}
	permit := g.permit.Load()
	return permit == nil || (*permit)(id)
}

func (g *gater) check(id peer.ID) bool {
	if g.allowed(id) {
		return true
	}
	g.refused.Add(1)
	return false
}

// note remembers a caller that was kept out; the one that called longest ago makes room.
func (g *gater) note(id peer.ID, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.turnedAway[id]
	if t == nil {
		if len(g.turnedAway) >= maxTurnedAway {
			oldest := id
			for other, x := range g.turnedAway {
				if oldest == id || x.Last.Before(g.turnedAway[oldest].Last) {
					oldest = other
				}
			}
			delete(g.turnedAway, oldest)
		}
		t = &TurnedAway{ID: id}
		g.turnedAway[id] = t
	}
	t.Times++
	t.Last = now
}

// callers lists whom note remembers and who would still be kept out, by id.
func (g *gater) callers() []TurnedAway {
	g.mu.Lock()
	out := make([]TurnedAway, 0, len(g.turnedAway))
	for _, t := range g.turnedAway {
		out = append(out, *t)
	}
	g.mu.Unlock()
	out = slices.DeleteFunc(out, func(t TurnedAway) bool { return g.allowed(t.ID) })
	slices.SortFunc(out, func(a, b TurnedAway) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// InterceptPeerDial refuses to dial strangers.
func (g *gater) InterceptPeerDial(id peer.ID) bool { return g.check(id) }

// InterceptAddrDial lets every address pass: peers are judged, not addresses.
func (g *gater) InterceptAddrDial(peer.ID, ma.Multiaddr) bool { return true }

// InterceptAccept lets every address pass: who calls is not known yet.
func (g *gater) InterceptAccept(network.ConnMultiaddrs) bool { return true }

// InterceptSecured refuses strangers that have proved their identity.
func (g *gater) InterceptSecured(d network.Direction, id peer.ID, _ network.ConnMultiaddrs) bool {
	if g.check(id) {
		return true
	}
	if d == network.DirInbound {
		g.note(id, time.Now())
	}
	return false
}

// InterceptUpgraded lets pass what was secured.
func (g *gater) InterceptUpgraded(network.Conn) (bool, control.DisconnectReason) { return true, 0 }
