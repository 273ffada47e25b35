package p2p

import (
	"sync"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// mesh follows which peers the gossip layer keeps in the mesh of each topic, which it
// tells nobody but a tracer. It is safe for concurrent use.
type mesh struct {
	mu      sync.Mutex
	topics  map[string]map[peer.ID]struct{}
	dropped uint64
}

var _ pubsub.RawTracer = (*mesh)(nil)

func newMesh() *mesh { return &mesh{topics: make(map[string]map[peer.ID]struct{})} }

// Join notes a topic without peers.
func (m *mesh) Join(topic string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.topics[topic] == nil {
		m.topics[topic] = make(map[peer.ID]struct{})
	}
}

// Leave forgets a topic.
func (m *mesh) Leave(topic string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.topics, topic)
}

// Graft notes a peer.
func (m *mesh) Graft(p peer.ID, topic string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if peers := m.topics[topic]; peers != nil {
		peers[p] = struct{}{}
	}
}

// Prune forgets a peer.
func (m *mesh) Prune(p peer.ID, topic string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.topics[topic], p)
}

// OnClosedOutboundStream forgets a peer that is gone.
func (m *mesh) OnClosedOutboundStream(p peer.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, peers := range m.topics {
		delete(peers, p)
	}
}

// DropRPC counts what a slow peer did not get.
func (m *mesh) DropRPC(*pubsub.RPC, peer.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropped++
}

// The rest of what a tracer is told does not matter here.

func (*mesh) OnNewOutboundStream(peer.ID, protocol.ID)             {}
func (*mesh) ValidateMessage(*pubsub.Message)                      {}
func (*mesh) DeliverMessage(*pubsub.Message)                       {}
func (*mesh) RejectMessage(*pubsub.Message, string)                {}
func (*mesh) DuplicateMessage(*pubsub.Message)                     {}
func (*mesh) ThrottlePeer(peer.ID)                                 {}
func (*mesh) RecvRPC(*pubsub.RPC)                                  {}
func (*mesh) SendRPC(*pubsub.RPC, peer.ID)                         {}
func (*mesh) SendRPCCompleted(*pubsub.RPC, peer.ID, time.Duration) {}
func (*mesh) UndeliverableMessage(*pubsub.Message)                 {}

// GossipStats are figures of the gossip layer.
type GossipStats struct {
	// Mesh has the number of mesh peers of every topic that was joined.
	Mesh map[string]int
	// Dropped counts messages that peers were too slow to take.
	Dropped uint64
}

// GossipStats says how the gossip layer stands.
func (n *Network) GossipStats() GossipStats {
	n.mesh.mu.Lock()
	defer n.mesh.mu.Unlock()
	out := GossipStats{Mesh: make(map[string]int, len(n.mesh.topics)), Dropped: n.mesh.dropped}
	for topic, peers := range n.mesh.topics {
		out.Mesh[topic] = len(peers)
	}
	return out
}
