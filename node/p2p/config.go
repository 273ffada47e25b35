package p2p

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/metrics"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/pnet"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Errors that callers tell apart.
var (
	// ErrConfig is wrapped by every complaint about a [Config].
	ErrConfig = errors.New("network configuration")
	// ErrNotAllowed means that a peer is not on the allowlist, or not in the circle.
	ErrNotAllowed = errors.New("peer is not on the allowlist or not in the circle")
	// ErrClosed means that the network has been closed.
	ErrClosed = errors.New("network is closed")
	// ErrStarted means that Start was called twice.
	ErrStarted = errors.New("network has been started")
)

// Defaults of a [Config].
const (
	// DefaultListenTCP and DefaultListenQUIC take any free port on all interfaces.
	DefaultListenTCP  = "/ip4/0.0.0.0/tcp/0"
	DefaultListenQUIC = "/ip4/0.0.0.0/udp/0/quic-v1"
	// DefaultMDNSService keeps our announcements apart from other libp2p networks'.
	DefaultMDNSService = "_karasu._udp"
	// DefaultRendezvous is the namespace under which nodes find each other in the
	// DHT; 1 is the major wire version.
	DefaultRendezvous = "/karasu/1"
	// DefaultRedialInterval is how often unconnected bootstrap and good peers are
	// dialled. Each round waits between half and one and a half of it, so that
	// nodes that start together do not dial together.
	DefaultRedialInterval = 15 * time.Second
	// DefaultDiscoveryInterval is how often the DHT is asked for peers. A lookup
	// costs some tens of messages, so minutes, not seconds.
	DefaultDiscoveryInterval = 2 * time.Minute
	// DefaultVersion stands in the user agent where the caller gives none.
	DefaultVersion = "dev"
)

// Config says how a node takes part in the network. The zero value is a public
// node on free ports that knows nobody: no discovery, no bootstrap peers.
type Config struct {
	// Version is part of the user agent, "karasu/<version>".
	Version string
	// Role is what the node does for others; empty is [Leaf].
	Role Role
	// Listen are multiaddresses. Empty means TCP and QUIC on all IPv4 interfaces.
	Listen []string
	// DialOnly listens nowhere: the node is reached through its relays, if at all.
	DialOnly bool
	// Announce replaces the addresses that others are told. Empty announces what
	// the host listens on.
	Announce []string
	// Bootstrap are multiaddresses that end in /p2p/<peer id>. They are dialled
	// again and again until they are connected.
	Bootstrap []string
	// Relays are hubs, as in Bootstrap, through which others reach this node. It is
	// for a node that cannot be dialled, so a hub has none.
	Relays []string
	// MDNS finds peers on the local network.
	MDNS bool
	// MDNSService overrides [DefaultMDNSService].
	MDNSService string
	// DHT finds peers by rendezvous.
	DHT bool
	// Rendezvous overrides [DefaultRendezvous].
	Rendezvous string
	// Allowlist holds the peer ids of a consortium. Empty is an open network.
	Allowlist []string
	// PSK is the key of a private network, which is TCP only; see [ParsePSK]. Empty is none.
	PSK pnet.PSK
	// GoodPeersPath is the file of peers that were reached before. Empty keeps none.
	GoodPeersPath string
	// RedialInterval and DiscoveryInterval override the defaults.
	RedialInterval, DiscoveryInterval time.Duration
	// Limits bound what the network may use.
	Limits Limits
	// Bandwidth, if set, counts the bytes of all streams.
	Bandwidth metrics.Reporter
}

// Loopback returns the configuration of tests and of the demo: free ports on
// 127.0.0.1 only, no discovery.
func Loopback() Config {
	return Config{
		Listen:         []string{"/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/udp/0/quic-v1"},
		RedialInterval: time.Second,
	}
}

// Validate checks the configuration without touching the network. Errors wrap
// [ErrConfig].
func (c Config) Validate() error {
	_, err := c.parse()
	return err
}

// settings is a Config with its strings parsed and its defaults filled in.
type settings struct {
	Config
	listen, announce  []ma.Multiaddr
	bootstrap, relays []peer.AddrInfo
	allow             []peer.ID
	exempt            []netip.Prefix
}

func (c Config) parse() (settings, error) {
	s := settings{Config: c}
	if s.Role == "" {
		s.Role = Leaf
	}
	switch {
	case s.Role != Leaf && s.Role != Hub:
		return s, fmt.Errorf("%w: role must be %q or %q: %q", ErrConfig, Leaf, Hub, c.Role)
	case s.Role == Hub && (c.DialOnly || len(c.Relays) > 0):
		return s, fmt.Errorf("%w: a hub is dialled by others, so it must listen and needs no relays; its role could be %q", ErrConfig, Leaf)
	case c.DialOnly && len(c.Listen) > 0:
		return s, fmt.Errorf("%w: a node that only dials has no addresses to listen on", ErrConfig)
	}
	if len(c.Listen) == 0 && !c.DialOnly {
		s.Listen = []string{DefaultListenTCP}
		if len(c.PSK) == 0 {
			s.Listen = append(s.Listen, DefaultListenQUIC)
		}
	}
	orString(&s.Version, DefaultVersion)
	orString(&s.MDNSService, DefaultMDNSService)
	orString(&s.Rendezvous, DefaultRendezvous)
	orNumber(&s.RedialInterval, DefaultRedialInterval)
	orNumber(&s.DiscoveryInterval, DefaultDiscoveryInterval)
	s.Limits = s.Limits.withDefaults(s.Role)

	if s.RedialInterval < 0 || s.DiscoveryInterval < 0 {
		return s, fmt.Errorf("%w: intervals must be positive", ErrConfig)
	}
	l := s.Limits
	if l.ConnectionsLow < 0 || l.ConnectionsHigh < l.ConnectionsLow || l.ConnectionsPerAddress < 0 || l.MemoryBytes < 0 || l.FileDescriptors < 0 {
		return s, fmt.Errorf("%w: limits must be positive, and the high mark not below the low one: %+v", ErrConfig, l)
	}
	var err error
	if s.listen, err = parseAddrs("listen", s.Listen); err != nil {
		return s, err
	}
	if s.announce, err = parseAddrs("announce", c.Announce); err != nil {
		return s, err
	}
	if err = cmp.Or(c.checkPrivate("listen", s.listen), c.checkPrivate("announce", s.announce)); err != nil {
		return s, err
	}
	if s.bootstrap, err = parsePeers("bootstrap peer", c.Bootstrap); err != nil {
		return s, err
	}
	if s.relays, err = parsePeers("relay", c.Relays); err != nil {
		return s, err
	}
	for _, a := range c.Allowlist {
		id, err := peer.Decode(a)
		if err != nil {
			return s, fmt.Errorf("%w: %q on the allowlist is no peer id: %w", ErrConfig, a, err)
		}
		s.allow = append(s.allow, id)
	}
	for _, p := range c.Limits.ExemptPrefixes {
		prefix, err := netip.ParsePrefix(p)
		if err != nil {
			return s, fmt.Errorf("%w: exempt prefix %q: %w", ErrConfig, p, err)
		}
		s.exempt = append(s.exempt, prefix.Masked())
	}
	return s, nil
}

// parsePeers reads addresses of peers, one entry a peer.
func parsePeers(field string, in []string) ([]peer.AddrInfo, error) {
	addrs := make([]ma.Multiaddr, 0, len(in))
	for _, a := range in {
		m, err := ma.NewMultiaddr(a)
		if err == nil {
			_, err = peer.AddrInfoFromP2pAddr(m)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s %q must end in /p2p/<peer id>: %w", ErrConfig, field, a, err)
		}
		addrs = append(addrs, m)
	}
	infos, err := peer.AddrInfosFromP2pAddrs(addrs...)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrConfig, field, err)
	}
	slices.SortFunc(infos, func(a, b peer.AddrInfo) int { return cmp.Compare(a.ID, b.ID) })
	return infos, nil
}

func parseAddrs(field string, in []string) ([]ma.Multiaddr, error) {
	out := make([]ma.Multiaddr, 0, len(in))
	for _, a := range in {
		m, err := ma.NewMultiaddr(a)
		if err != nil {
			return nil, fmt.Errorf("%w: %s address %q is no multiaddress such as %s", ErrConfig, field, a, example(a))
		}
		out = append(out, m)
	}
	return out, nil
}

// example is a host and port as a multiaddress, if that is what was given, or else
// any.
func example(given string) ma.Multiaddr {
	if addr, err := netip.ParseAddrPort(given); err == nil {
		if m, err := manet.FromNetAddr(net.TCPAddrFromAddrPort(addr)); err == nil {
			return m
		}
	}
	return ma.StringCast("/ip4/127.0.0.1/tcp/4747")
}

func orString(s *string, def string) {
	if *s == "" {
		*s = def
	}
}

func orNumber[T ~int | ~int64](n *T, def T) {
	if *n == 0 {
		*n = def
	}
}
