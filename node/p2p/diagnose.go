package p2p

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
)

// Diagnosis says how the network does at the moment.
type Diagnosis struct {
	Role Role
	// Listening are the addresses of the sockets, Announced what others are told.
	Listening, Announced []ma.Multiaddr
	// Reachability is whether others can dial this node, as far as peers have tried:
	// they do so only over public addresses.
	Reachability network.Reachability
	Peers        []PeerInfo
	// TopicPeers counts the connected peers in each topic that the node takes part in.
	TopicPeers map[string]int
	Relays     []RelayState
	// DHT says that it is on, and DHTPeers how many nodes its routing table has.
	DHT      bool
	DHTPeers int
	// Clocks are those of some connected peers.
	Clocks []Clock
}

// RelayState is how a relay of the configuration does.
type RelayState struct {
	ID peer.ID
	// Connected, and Reserved: others reach this node through it.
	Connected, Reserved bool
	// LastError is why there is no place on it; empty while there is.
	LastError string
}

// Diagnose looks at everything once; asking peers for the time takes some seconds at
// most.
func (n *Network) Diagnose(ctx context.Context) Diagnosis {
	d := Diagnosis{
		Role: n.settings.Role, Announced: n.Addrs(), Peers: n.Peers(),
		Reachability: network.Reachability(n.reachability.Load()),
		TopicPeers:   make(map[string]int),
		Clocks:       n.clocks(ctx),
	}
	for _, a := range n.host.Network().ListenAddresses() {
		if !isCircuit(a) {
			d.Listening = append(d.Listening, a)
		}
	}
	for _, t := range n.gossip.GetTopics() {
		d.TopicPeers[t] = len(n.gossip.ListPeers(t))
	}
	for _, r := range n.settings.relays {
		s := RelayState{
			ID:        r.ID,
			Connected: n.host.Network().Connectedness(r.ID) == network.Connected,
			Reserved:  n.reserved.holds(r.ID, time.Now()),
		}
		if !s.Reserved {
			s.LastError = n.failures.of(r.ID)
		}
		d.Relays = append(d.Relays, s)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dht != nil {
		d.DHT, d.DHTPeers = true, n.dht.RoutingTable().Size()
	}
	return d
}

// watchReachability keeps what peers found out.
func (n *Network) watchReachability(sub event.Subscription) {
	for {
		select {
		case <-n.ctx.Done():
			return
		case ev, ok := <-sub.Out():
			if !ok {
				return
			}
			if e, ok := ev.(event.EvtLocalReachabilityChanged); ok {
				n.reachability.Store(int32(e.Reachability))
				n.logger.Info("reachability", "is", e.Reachability.String())
			}
		}
	}
}

// WaitForNamed returns once all peers that the configuration names are connected or
// have failed, the relays among them have granted a place, and at the latest after a
// time.
func (n *Network) WaitForNamed(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		waiting := false
		for _, named := range [][]peer.AddrInfo{n.settings.bootstrap, n.settings.relays} {
			for _, p := range named {
				done := n.host.Network().Connectedness(p.ID) == network.Connected && (!n.isRelay(p.ID) || n.reserved.holds(p.ID, time.Now()))
				waiting = waiting || !done && n.failures.of(p.ID) == ""
			}
		}
		if !waiting {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
