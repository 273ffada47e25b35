package p2p

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/p2p/discovery/routing"
)

const (
	// maxFound bounds how many peers of one lookup are dialled.
	maxFound = 64
	// lookupTimeout bounds one advertisement or lookup.
	lookupTimeout = time.Minute
	// firstLookup is how soon the DHT is asked after Start: bootstrap peers are
	// connected by then, and an empty routing table finds nobody.
	firstLookup = 2 * time.Second
	// topicCheck is how often topics that were joined since the last round are looked
	// for, so that a new one need not wait for the next round.
	topicCheck = 5 * time.Second
	// topicsPerRound bounds the topics that one round advertises, and those that it
	// looks up: some tens of messages each, so that 256 topics are through in an hour.
	topicsPerRound = 8
	// advertiseAgain is when a topic is advertised anew. Adverts last for hours, and
	// their keepers leave.
	advertiseAgain = time.Hour
)

// meeting is a node's part in the rendezvous: all nodes meet under one name, and those
// that take part in a topic under the topic's. It is used by one goroutine.
type meeting struct {
	n    *Network
	disc *routing.RoutingDiscovery
	// advertised and sought are when that was last done for a topic.
	advertised, sought map[string]time.Time
}

// rendezvousLoop advertises the node in the DHT and dials who else did.
func (n *Network) rendezvousLoop() {
	m := &meeting{
		n: n, disc: routing.NewRoutingDiscovery(n.dht),
		advertised: make(map[string]time.Time), sought: make(map[string]time.Time),
	}
	for open := n.sleep(firstLookup); open; {
		m.everybody()
		end := time.Now().Add(jitter(n.settings.DiscoveryInterval))
		for open && time.Now().Before(end) {
			m.topics(time.Now())
			open = n.sleep(min(topicCheck, time.Until(end)))
		}
	}
}

// everybody meets nodes whatever their topics.
func (m *meeting) everybody() {
	// Adverts last for hours; repeating them each round costs little and makes up
	// for keepers that left.
	m.advertise(m.n.settings.Rendezvous)
	m.find(m.n.settings.Rendezvous, maxFound, func() bool {
		return len(m.n.host.Network().Peers()) < m.n.settings.Limits.ConnectionsLow
	})
}

// topics meets the nodes of those joined topics that lack them most: new ones first,
// then by how few peers of the topic are connected.
func (m *meeting) topics(now time.Time) {
	joined := slices.DeleteFunc(m.n.gossip.GetTopics(), func(t string) bool { return !strings.HasPrefix(t, topicPrefix) })
	slices.Sort(joined)
	for _, known := range []map[string]time.Time{m.advertised, m.sought} {
		for t := range known {
			if _, ok := slices.BinarySearch(joined, t); !ok {
				delete(known, t)
			}
		}
	}
	due := slices.DeleteFunc(slices.Clone(joined), func(t string) bool { return now.Sub(m.advertised[t]) < advertiseAgain })
	for _, t := range due[:min(len(due), topicsPerRound)] {
		if m.advertise(t) {
			m.advertised[t] = now
		}
	}
	peers := make(map[string]int, len(joined))
	lacking := slices.DeleteFunc(joined, func(t string) bool {
		peers[t] = len(m.n.gossip.ListPeers(t))
		return peers[t] >= meshDegreeLow || now.Sub(m.sought[t]) < m.n.settings.DiscoveryInterval
	})
	slices.SortStableFunc(lacking, func(a, b string) int {
		return cmp.Or(cmp.Compare(peers[a], peers[b]), m.sought[a].Compare(m.sought[b]))
	})
	for _, t := range lacking[:min(len(lacking), topicsPerRound)] {
		m.sought[t] = now
		wanted := meshDegree - peers[t]
		m.find(t, wanted, func() bool {
			return len(m.n.host.Network().Peers()) < m.n.settings.Limits.ConnectionsHigh
		})
	}
}

func (m *meeting) advertise(name string) bool {
	ctx, cancel := context.WithTimeout(m.n.ctx, lookupTimeout)
	defer cancel()
	if _, err := m.disc.Advertise(ctx, name); err != nil {
		m.n.logger.Debug("rendezvous: advertising failed", "name", name, "error", err)
		return false
	}
	return true
}

// find dials at most so many of the peers that advertised a name, while more may be
// dialled.
func (m *meeting) find(name string, most int, more func() bool) {
	ctx, cancel := context.WithTimeout(m.n.ctx, lookupTimeout)
	defer cancel()
	peers, err := m.disc.FindPeers(ctx, name)
	if err != nil {
		m.n.logger.Debug("rendezvous: lookup failed", "name", name, "error", err)
		return
	}
	dialled := 0
	for info := range peers {
		if info.ID == m.n.host.ID() || len(info.Addrs) == 0 || dialled >= most ||
			m.n.host.Network().Connectedness(info.ID) == network.Connected {
			continue
		}
		m.n.host.Peerstore().AddAddrs(info.ID, info.Addrs, peerstore.TempAddrTTL)
		if more() {
			dialled++
			_ = m.n.dial(info) // others may be found, and the next round asks again
		}
	}
}
