package p2p

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
	ma "github.com/multiformats/go-multiaddr"
)

const (
	// relayTag keeps connections to relays from being trimmed.
	relayTag = "karasu-relay"
	// relayCheck is how often relays are looked at: one that was connected just now is
	// asked for a place at once.
	relayCheck = time.Second
	// reserveTimeout bounds one request for a place on a relay.
	reserveTimeout = 10 * time.Second
	// renewBefore is how long before its end a reservation is asked for anew. Relays
	// grant an hour.
	renewBefore = 10 * time.Minute
	// maxRelayAddresses bounds the addresses of one relay that are announced.
	maxRelayAddresses = 4
	// maxCircuitsPerPeer bounds relayed connections of one peer: as many as a mesh has.
	maxCircuitsPerPeer = 2 * meshDegreeHigh
	// circuitBuffer is the buffer of each direction of a relayed connection, in bytes.
	circuitBuffer = 4 << 10
)

// everyCircuit listens for connections that come through any relay.
var everyCircuit = ma.StringCast("/p2p-circuit")

// relayService returns what a hub's relay grants. Relayed connections have no limit of
// their own, since the gossip layer does not use those that have: what a record costs
// is bounded by records' own limits. With an allowlist only members are relayed.
func relayService(l Limits, g *gater) []relay.Option {
	r := relay.DefaultResources()
	r.Limit = nil
	r.MaxReservations = l.ConnectionsHigh / 2
	r.MaxCircuits = maxCircuitsPerPeer
	r.BufferSize = circuitBuffer
	// The places of one address are bounded by its connections already.
	r.MaxReservationsPerIP = l.ConnectionsPerAddress
	r.MaxReservationsPerASN = r.MaxReservations
	return []relay.Option{relay.WithResources(r), relay.WithACL(members{g})}
}

// members lets a relay serve whom the node itself talks to.
type members struct{ g *gater }

func (m members) AllowReserve(p peer.ID, _ ma.Multiaddr) bool { return m.g.allowed(p) }
func (m members) AllowConnect(src peer.ID, _ ma.Multiaddr, dest peer.ID) bool {
	return m.g.allowed(src) && m.g.allowed(dest)
}

// reservations are this node's places on relays. They are safe for concurrent use.
//
// The library's own relay finder serves the public internet: it announces no relay
// whose addresses are private, which those of a company's network are.
type reservations struct {
	mu    sync.Mutex
	until map[peer.ID]time.Time
	addrs map[peer.ID][]ma.Multiaddr
}

func (r *reservations) set(id peer.ID, until time.Time, addrs []ma.Multiaddr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until, r.addrs = make(map[peer.ID]time.Time), make(map[peer.ID][]ma.Multiaddr)
	}
	r.until[id], r.addrs[id] = until, addrs
}

func (r *reservations) drop(id peer.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.until, id)
	delete(r.addrs, id)
}

// holds says whether a place is held for some time to come.
func (r *reservations) holds(id peer.ID, at time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.until[id].After(at)
}

// circuits are the addresses at which this node is reached through relays.
func (r *reservations) circuits() []ma.Multiaddr {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []ma.Multiaddr
	for _, id := range slices.Sorted(maps.Keys(r.addrs)) {
		out = append(out, r.addrs[id]...)
	}
	return out
}

// relayLoop keeps a place on every relay of the configuration. Relays are dialled by
// the redial loop.
func (n *Network) relayLoop() {
	for _, r := range n.settings.relays {
		n.host.ConnManager().Protect(r.ID, relayTag)
	}
	again := make(map[peer.ID]time.Time) // of relays that said no
	for n.sleep(min(relayCheck, n.settings.RedialInterval)) {
		for _, r := range n.settings.relays {
			switch now := time.Now(); {
			case n.host.Network().Connectedness(r.ID) != network.Connected:
				n.reserved.drop(r.ID) // a relay frees the place of who leaves
			case n.reserved.holds(r.ID, now.Add(renewBefore)) || now.Before(again[r.ID]):
			default:
				n.reserve(r)
				again[r.ID] = now.Add(jitter(n.settings.RedialInterval))
			}
		}
	}
}

func (n *Network) reserve(r peer.AddrInfo) {
	ctx, cancel := context.WithTimeout(n.ctx, reserveTimeout)
	defer cancel()
	place, err := client.Reserve(ctx, n.host, r)
	if err != nil {
		if n.ctx.Err() == nil && n.failures.set(r.ID, "no place on the relay: "+dialReason(err)) {
			n.logger.Warn("relay grants no place; it is asked again and again", "peer", r.ID, "error", err)
		}
		return
	}
	n.failures.clear(r.ID)
	n.reserved.set(r.ID, place.Expiration, circuitsThrough(r))
	n.logger.Info("reached through a relay", "relay", r.ID, "until", place.Expiration.UTC().Format(time.RFC3339))
}

// circuitsThrough are a node's addresses through a relay: those that the configuration
// names, which are known to work from elsewhere.
func circuitsThrough(r peer.AddrInfo) []ma.Multiaddr {
	var out []ma.Multiaddr
	for _, a := range r.Addrs[:min(len(r.Addrs), maxRelayAddresses)] {
		circuit, err := ma.NewMultiaddr(fmt.Sprintf("%s/p2p/%s/p2p-circuit", a, r.ID))
		if err == nil {
			out = append(out, circuit)
		}
	}
	return out
}

// isCircuit says whether an address goes through a relay.
func isCircuit(a ma.Multiaddr) bool {
	_, err := a.ValueForProtocol(ma.P_CIRCUIT)
	return err == nil
}
