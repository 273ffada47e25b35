package p2p

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	dht "github.com/libp2p/go-libp2p-kad-dht"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/discovery/mdns"
)

const (
	// dhtPrefix keeps our DHT apart from the public one of IPFS.
	dhtPrefix protocol.ID = "/karasu"
)

// startDiscovery starts what the configuration asks for. Callers hold n.mu.
func (n *Network) startDiscovery() error {
	if n.settings.DHT {
		// Every node serves unless it knows that nobody can dial it: in a private
		// network there is nobody else to do it.
		mode := dht.ModeAutoServer
		switch {
		case n.settings.Role == Hub:
			mode = dht.ModeServer
		case n.settings.DialOnly:
			mode = dht.ModeClient
		}
		d, err := dht.New(n.host,
			dht.Mode(mode),
			dht.ProtocolPrefix(dhtPrefix),
			dht.DisableValues(),
			dht.ProviderDatastore(newAdverts()),
			dht.BootstrapPeers(n.settings.bootstrap...),
		)
		if err != nil {
			return fmt.Errorf("DHT: %w", err)
		}
		if err := d.Bootstrap(n.ctx); err != nil {
			return fmt.Errorf("DHT: %w", err)
		}
		n.dht = d
	}
	if n.settings.MDNS {
		s := mdns.NewMdnsService(n.host, n.settings.MDNSService, found{n})
		if err := s.Start(); err != nil {
			return fmt.Errorf("multicast DNS: %w", err)
		}
		n.mdns = s
	}
	return nil
}

// found receives peers of the local network.
type found struct{ n *Network }

// HandlePeerFound dials a peer that multicast DNS has found. The library calls it
// from one goroutine; a slow dial delays the next, which bounds them.
func (f found) HandlePeerFound(info peer.AddrInfo) {
	_ = f.n.dial(info) // who is near says so again
}

// dial connects to a peer unless that is so already.
func (n *Network) dial(info peer.AddrInfo) error {
	switch {
	case info.ID == n.host.ID():
		return errSelf
	case !n.gater.allowed(info.ID):
		return ErrNotAllowed
	case n.host.Network().Connectedness(info.ID) == network.Connected:
		return nil
	}
	ctx, cancel := context.WithTimeout(n.ctx, dialTimeout)
	defer cancel()
	if err := n.host.Connect(ctx, info); err != nil {
		n.logger.Debug("dial failed", "peer", info.ID, "error", err)
		return err
	}
	return nil
}

// sleep waits and reports false when the network closes.
func (n *Network) sleep(d time.Duration) bool { return n.sleepOr(d, nil) }

// sleepOr is sleep that a signal ends early.
func (n *Network) sleepOr(d time.Duration, signal <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-signal:
		return true
	case <-n.ctx.Done():
		return false
	}
}

// jitter spreads d over half to one and a half of it.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d+1)
}
