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
	limiter := rcmgr.NewFixedLimiter(scaling.Scale(l.MemoryBytes, l.FileDescriptors))

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
