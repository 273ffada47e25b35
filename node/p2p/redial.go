package p2p

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
)

const (
	// maxBackoff is the longest pause, in redial intervals, after failed dials of
	// one peer: 16 of 15 s are 4 minutes.
	maxBackoff = 16
	// parallelDials bounds dials of one round.
	parallelDials = 8
	// pingInterval is how often the latency of connected peers is measured.
	pingInterval = 30 * time.Second
	pingTimeout  = 5 * time.Second
)

// targets are the peers that the node keeps dialling: bootstrap peers, relays, then
// good ones, one entry a peer.
func (n *Network) targets() []peer.AddrInfo {
	var out []peer.AddrInfo
	index := make(map[peer.ID]int)
	for _, info := range slices.Concat(n.settings.bootstrap, n.settings.relays, n.good.infos()) {
		if info.ID == n.host.ID() || !n.gater.allowed(info.ID) {
			continue
		}
		if i, ok := index[info.ID]; ok {
			out[i].Addrs = append(out[i].Addrs[:len(out[i].Addrs):len(out[i].Addrs)], info.Addrs...)
			continue
		}
		index[info.ID] = len(out)
		out = append(out, info)
	}
	return out
}

// redialLoop dials targets that are not connected, first at once and then with
// jitter, each peer less often the longer it fails. libp2p backs off by itself,
// but for longer than a network that was cut in two should wait; the loop's own
// pauses replace that.
func (n *Network) redialLoop() {
	pauses := make(map[peer.ID]*pause)
	resets := n.resets.Load()
	for wait := time.Duration(0); n.sleepOr(wait, n.kick); wait = jitter(n.settings.RedialInterval) {
		if now := n.resets.Load(); now != resets {
			clear(pauses)
			resets = now
		}
		n.rememberConnected()
		if err := n.good.save(); err != nil {
			n.logger.Warn("good peers are not saved", "path", n.settings.GoodPeersPath, "error", err)
		}
		n.redial(pauses)
	}
}

// pause counts the rounds that a failing target is left alone.
type pause struct{ length, left int }

func (n *Network) redial(pauses map[peer.ID]*pause) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallelDials)
	for _, t := range n.targets() {
		p := pauses[t.ID]
		if p == nil {
			p = new(pause)
			pauses[t.ID] = p
		}
		if n.host.Network().Connectedness(t.ID) == network.Connected {
			*p = pause{}
			n.failures.clear(t.ID)
			continue
		}
		if p.left > 0 {
			p.left--
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-n.ctx.Done():
			wg.Wait()
			return
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if s, ok := n.host.Network().(*swarm.Swarm); ok {
				s.Backoff().Clear(t.ID)
			}
			err := n.dial(t)
			n.noteDial(t, err)
			if err == nil {
				*p = pause{}
				return
			}
			p.length = min(max(2*p.length, 1), maxBackoff)
			p.left = p.length - 1
		})
	}
	wg.Wait()
}

// Reset forgets remembered peers, why dials failed and how long to pause, and dials the
// peers of the configuration at once. Connections stay. It returns how many peers were
// forgotten.
func (n *Network) Reset() int {
	forgotten := n.good.reset()
	n.failures.reset()
	if s, ok := n.host.Network().(*swarm.Swarm); ok {
		for _, id := range n.host.Peerstore().Peers() {
			s.Backoff().Clear(id)
		}
	}
	n.resets.Add(1)
	select {
	case n.kick <- struct{}{}:
	default: // the loop is about to wake already
	}
	return forgotten
}

// rememberConnected notes the peers of the moment as good ones.
func (n *Network) rememberConnected() {
	now := time.Now()
	for _, id := range n.host.Network().Peers() {
		if n.host.Network().Connectedness(id) == network.Connected {
			n.good.seen(id, n.host.Peerstore().Addrs(id), now)
		}
	}
}

// pingLoop keeps the latency of connected peers up to date.
func (n *Network) pingLoop() {
	for wait := time.Second; n.sleep(wait); wait = jitter(pingInterval) {
		for _, id := range n.host.Network().Peers() {
			ctx, cancel := context.WithTimeout(n.ctx, pingTimeout)
			select {
			case <-ping.Ping(ctx, n.host, id): // Records the round trip itself.
			case <-ctx.Done():
			}
			cancel()
		}
	}
}
