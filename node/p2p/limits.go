package p2p

import (
	"fmt"
	"math"
	"net/netip"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/network"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/x/rate"
)

// Role is what a node does for others.
type Role string

const (
	// Leaf takes part for itself.
	Leaf Role = "leaf"
	// Hub is a node that all others can dial. It relays connections of those that
	// nobody can, tells others whether they can be dialled, and has room for many.
	Hub Role = "hub"
)

// Defaults of [Limits], for a leaf and for a hub.
const (
	// Where trimming of idle connections stops and starts. A mesh needs 12 peers a
	// topic; 64 leaves room for topics whose members differ. A hub is connected to
	// each of some hundred members.
	leafConnectionsLow, leafConnectionsHigh = 64, 128
	hubConnectionsLow, hubConnectionsHigh   = 512, 1024
	// Connections from one address outside the exempt prefixes: 8 are what one peer's
	// parallel dials may use, and four daemons behind one address translator is a
	// common office. All of a cluster may come to a hub from one address.
	leafConnectionsPerAddress = 32
	hubConnectionsPerAddress  = 256
	// What libp2p may reserve for buffers: of a leaf two thirds of the 150 MB that a
	// daemon may use at rest; of a hub half a MiB for each connection.
	leafMemoryBytes = 96 << 20
	hubMemoryBytes  = 512 << 20
	// What sockets may use: half of the usual 1024; a hub's service raises the limit.
	leafFileDescriptors = 512
	hubFileDescriptors  = 4096
)

// Limits bound what the network may use. Zero fields take the defaults of the role.
type Limits struct {
	// ConnectionsLow and ConnectionsHigh are the connection manager's marks.
	ConnectionsLow, ConnectionsHigh int
	// ConnectionsPerAddress bounds connections from one IPv4 address or IPv6 /56.
	ConnectionsPerAddress int
	// ExemptPrefixes, such as "10.1.0.0/16", are members' networks: no bound and no
	// rate by address applies there. Loopback is always exempt.
	ExemptPrefixes []string
	// MemoryBytes and FileDescriptors size the resource manager.
	MemoryBytes     int64
	FileDescriptors int
}

func (l Limits) withDefaults(role Role) Limits {
	d := Limits{
		ConnectionsLow: leafConnectionsLow, ConnectionsHigh: leafConnectionsHigh, ConnectionsPerAddress: leafConnectionsPerAddress,
		MemoryBytes: leafMemoryBytes, FileDescriptors: leafFileDescriptors,
	}
	if role == Hub {
		d = Limits{
			ConnectionsLow: hubConnectionsLow, ConnectionsHigh: hubConnectionsHigh, ConnectionsPerAddress: hubConnectionsPerAddress,
			MemoryBytes: hubMemoryBytes, FileDescriptors: hubFileDescriptors,
		}
	}
	orNumber(&l.ConnectionsLow, d.ConnectionsLow)
	orNumber(&l.ConnectionsHigh, max(d.ConnectionsHigh, 2*l.ConnectionsLow))
	orNumber(&l.ConnectionsPerAddress, d.ConnectionsPerAddress)
	orNumber(&l.MemoryBytes, d.MemoryBytes)
	orNumber(&l.FileDescriptors, d.FileDescriptors)
	return l
}

// Rates of new connections from one address outside the exempt prefixes. A peer
// that restarts needs a handful; a burst of ConnectionsPerAddress is let through,
// and one every two seconds after it.
const connectionsPerSecond = 0.5

// newResourceManager returns libp2p's resource manager, scaled to the limits.
// The library's own bound of 8 connections for each address cuts off clusters
// behind one address translator, which tests on loopback never show.
func newResourceManager(l Limits, exempt []netip.Prefix) (network.ResourceManager, error) {
	scaling := rcmgr.DefaultLimits
	libp2p.SetDefaultServiceLimits(&scaling)
	// The library derives the number of connections from the memory, and half a GiB
	// would be 96 calls. What trimming lets live must fit, and as many again while a
	// network restarts: dials of both sides are open until one is dropped.
	connections := rcmgr.LimitVal(2 * l.ConnectionsHigh)
	own := rcmgr.ResourceLimits{Conns: connections, ConnsInbound: connections, ConnsOutbound: connections}
	transient := rcmgr.LimitVal(max(l.ConnectionsHigh/2, 64)) // handshakes at once
	handshakes := rcmgr.ResourceLimits{Conns: transient, ConnsInbound: transient, ConnsOutbound: transient}
	limiter := rcmgr.NewFixedLimiter(rcmgr.PartialLimitConfig{System: own, Transient: handshakes}.
		Build(scaling.Scale(l.MemoryBytes, l.FileDescriptors)))

	exempt = append([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}, exempt...)
	var v4, v6 []rcmgr.NetworkPrefixLimit
	rates := make([]rate.PrefixLimit, 0, len(exempt))
	for _, p := range exempt {
		limit := rcmgr.NetworkPrefixLimit{Network: p, ConnCount: math.MaxInt}
		if p.Addr().Is4() {
			v4 = append(v4, limit)
		} else {
			v6 = append(v6, limit)
		}
		rates = append(rates, rate.PrefixLimit{Prefix: p}) // The zero limit is none.
	}
	perAddress := rate.Limit{RPS: connectionsPerSecond, Burst: 2 * l.ConnectionsPerAddress}
	m, err := rcmgr.NewResourceManager(limiter,
		rcmgr.WithMetricsDisabled(),
		rcmgr.WithNetworkPrefixLimit(v4, v6),
		rcmgr.WithLimitPerSubnet(
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 32, ConnCount: l.ConnectionsPerAddress}},
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 56, ConnCount: l.ConnectionsPerAddress}},
		),
		rcmgr.WithConnRateLimiters(&rate.Limiter{
			NetworkPrefixLimits: rates,
			SubnetRateLimiter: rate.SubnetLimiter{
				IPv4SubnetLimits: []rate.SubnetLimit{{PrefixLength: 32, Limit: perAddress}},
				IPv6SubnetLimits: []rate.SubnetLimit{{PrefixLength: 56, Limit: perAddress}},
			},
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("resource manager: %w", err)
	}
	return m, nil
}
