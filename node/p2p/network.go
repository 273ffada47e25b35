package p2p

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p"
	dht "github.com/libp2p/go-libp2p-kad-dht"
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/discovery/mdns"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/connmgr"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	libp2pquic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	ma "github.com/multiformats/go-multiaddr"
)

const (
	protocolVersion = "karasu/1"
	// dialTimeout bounds one attempt to connect, handshakes included.
	dialTimeout = 10 * time.Second
	// trimGrace spares new connections from trimming while they find their use.
	trimGrace = time.Minute
)

// Network is a node's host with everything that keeps it connected. Create it
// with [New], then Start it, and Close it at the end. All methods are safe for
// concurrent use.
type Network struct {
	settings settings
	logger   *slog.Logger
	host     host.Host
	gossip   *pubsub.PubSub
	gater    *gater
	filter   *subscriptionFilter
	good     *goodPeers
	failures dialFailures
	reserved *reservations
	scores   *scores
	// reachability is a [network.Reachability].
	reachability atomic.Int32
	// resets counts calls of Reset, and kick wakes the redial loop.
	resets atomic.Int64
	kick   chan struct{}

	mesh *mesh

	// ctx ends when the network closes; the gossip layer and all loops hang on it.
	ctx    context.Context
	cancel context.CancelFunc
	loops  sync.WaitGroup

	mu      sync.Mutex
	started bool
	closed  bool
	mdns    mdns.Service
	dht     *dht.IpfsDHT
	reach   event.Subscription
}

// PeerInfo is what is known about a peer.
type PeerInfo struct {
	ID        peer.ID
	Addrs     []ma.Multiaddr
	Connected bool
	// Latency is a moving average of round trips; 0 is unknown.
	Latency time.Duration
	// Bootstrap says that the configuration names the peer.
	Bootstrap bool
	// LastError is why a bootstrap peer or relay could not be dialled last; empty while
	// it is connected, and before it was tried.
	LastError string
	// Inbound says that the peer has dialled this node.
	Inbound bool
	// Relayed says that it is connected through relays only.
	Relayed bool
	// Score is what the gossip layer thinks of it, if Scored; 0 is neutral.
	Score  float64
	Scored bool
}

// New validates the configuration and builds the host without listening yet. The
// network lives until Close; ctx bounds only the construction and carries values.
// Errors about the configuration wrap [ErrConfig].
func New(ctx context.Context, priv crypto.PrivKey, cfg Config, logger *slog.Logger) (*Network, error) {
	if priv == nil {
		return nil, fmt.Errorf("%w: a private key is needed", ErrConfig)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := cfg.parse()
	if err != nil {
		return nil, err
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	n := &Network{
		settings: s,
		logger:   logger.With("component", "p2p"),
		gater:    newGater(s.allow),
		filter:   newSubscriptionFilter(),
		reserved: new(reservations),
		scores:   new(scores),
		mesh:     newMesh(),
		kick:     make(chan struct{}, 1),
	}
	if n.good, err = loadGoodPeers(s.GoodPeersPath); err != nil {
		// The file only saves time; a damaged one is not worth refusing to start.
		n.logger.Warn("good peers are lost, starting without them", "path", s.GoodPeersPath, "error", err)
	}
	if n.host, err = newHost(priv, s, n.gater, n.reserved); err != nil {
		return nil, err
	}
	n.ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx))
	//nolint:contextcheck // the gossip layer lives as long as the network
	if n.gossip, err = newGossip(n.ctx, n.host, n.filter, n.scores, n.mesh, n.logger.With("layer", "gossip")); err != nil {
		n.cancel()
		return nil, errors.Join(err, n.host.Close())
	}
	return n, nil
}

// newHost builds a libp2p host with every option chosen here, so that a new
// release of the library does not change what the node does.
func newHost(priv crypto.PrivKey, s settings, g *gater, reserved *reservations) (host.Host, error) {
	resources, err := newResourceManager(s.Limits, s.exempt)
	if err != nil {
		return nil, err
	}
	conns, err := connmgr.NewConnManager(s.Limits.ConnectionsLow, s.Limits.ConnectionsHigh, connmgr.WithGracePeriod(trimGrace))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connection manager: %w", err), resources.Close())
	}
	opts := []libp2p.Option{
		libp2p.Identity(priv),
		libp2p.NoListenAddrs,
		// With port reuse, two daemons would share one port without an error.
		libp2p.Transport(tcp.NewTCPTransport, tcp.DisableReuseport()),
		libp2p.Security(noise.ID, noise.New),
		libp2p.Security(libp2ptls.ID, libp2ptls.New),
		libp2p.Muxer(yamux.ID, yamux.DefaultTransport),
		libp2p.ResourceManager(resources),
		libp2p.ConnectionManager(conns),
		libp2p.ConnectionGater(g),
		libp2p.UserAgent("karasu/" + s.Version),
		libp2p.ProtocolVersion(protocolVersion),
		libp2p.WithDialTimeout(dialTimeout),
		// Every node can dial those that are behind a relay, and meet them half way.
		libp2p.EnableRelay(),
		libp2p.EnableHolePunching(),
		libp2p.DisableMetrics(),
		libp2p.Ping(true),
		libp2p.AddrsFactory(func(found []ma.Multiaddr) []ma.Multiaddr {
			if len(s.announce) > 0 {
				found = slices.Clone(s.announce)
			}
			return append(found, reserved.circuits()...)
		}),
	}
	if len(s.PSK) > 0 {
		opts = append(opts, libp2p.PrivateNetwork(s.PSK))
	} else {
		opts = append(opts, libp2p.Transport(libp2pquic.NewTransport))
	}
	switch {
	case s.Role == Hub:
		// Who runs a hub says that it can be dialled. It relays, and tries for others
		// whether they can be.
		opts = append(opts, libp2p.ForceReachabilityPublic(), libp2p.EnableRelayService(relayService(s.Limits, g)...), libp2p.EnableNATService())
	case len(s.relays) > 0:
		opts = append(opts, libp2p.ForceReachabilityPrivate())
	}
	if s.Bandwidth != nil {
		opts = append(opts, libp2p.BandwidthReporter(s.Bandwidth))
	}
	h, err := libp2p.New(opts...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("libp2p host: %w", err), conns.Close(), resources.Close())
	}
	return h, nil
}

// Start listens and begins to look for peers. It returns once the node can be
// reached; peers come in the background.
func (n *Network) Start(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.closed:
		return ErrClosed
	case n.started:
		return ErrStarted
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	n.host.Network().Notify(&network.NotifyBundle{
		ConnectedF:    n.onConnected,
		DisconnectedF: n.onDisconnected,
	})
	sub, err := n.host.EventBus().Subscribe(new(event.EvtLocalReachabilityChanged), eventbus.Name("karasu/p2p"))
	if err != nil {
		return fmt.Errorf("watching reachability: %w", err)
	}
	n.reach = sub
	n.loops.Go(func() { n.watchReachability(sub) })
	n.host.SetStreamHandler(clockProtocol, tell)
	// One by one: given several, the library is content if one of them works.
	for _, a := range n.settings.listen {
		if err := n.host.Network().Listen(a); err != nil {
			return fmt.Errorf("listen on %s: %w", a, err)
		}
	}
	if len(n.settings.relays) > 0 {
		if err := n.host.Network().Listen(everyCircuit); err != nil {
			return fmt.Errorf("listen behind relays: %w", err)
		}
	}
	if err := n.startDiscovery(); err != nil {
		return err
	}
	n.started = true
	n.loops.Go(n.redialLoop)
	n.loops.Go(n.pingLoop)
	if len(n.settings.relays) > 0 {
		n.loops.Go(n.relayLoop)
	}
	if n.dht != nil {
		n.loops.Go(n.rendezvousLoop)
	}
	n.logger.Info("listening", "peer", n.host.ID(), "addresses", n.Addrs())
	return nil
}

// Close leaves the network and waits for everything that Start began. Closing
// twice is fine.
func (n *Network) Close() error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil
	}
	n.closed = true
	n.mu.Unlock()

	var errs []error
	if n.mdns != nil {
		errs = append(errs, n.mdns.Close())
	}
	n.rememberConnected()
	errs = append(errs, n.good.save())
	n.cancel()
	n.loops.Wait()
	if n.reach != nil {
		errs = append(errs, n.reach.Close())
	}
	if n.dht != nil {
		errs = append(errs, n.dht.Close())
	}
	errs = append(errs, n.host.Close())
	return errors.Join(errs...)
}

// Host returns the libp2p host, for protocols on top of it.
func (n *Network) Host() host.Host { return n.host }

// PubSub returns the gossip layer.
func (n *Network) PubSub() *pubsub.PubSub { return n.gossip }

// ID returns the node's peer id.
func (n *Network) ID() peer.ID { return n.host.ID() }

// Addrs returns the announced addresses, each ending in /p2p/<peer id>, which is
// what another node takes as a bootstrap peer. Empty before Start.
func (n *Network) Addrs() []ma.Multiaddr {
	addrs := n.host.Addrs()
	if len(addrs) == 0 {
		return nil
	}
	full, err := peer.AddrInfoToP2pAddrs(&peer.AddrInfo{ID: n.host.ID(), Addrs: addrs})
	if err != nil {
		return nil // Not possible: the host's id is valid.
	}
	return full
}

// Refused counts peers that the allowlist kept out, dials and calls together.
func (n *Network) Refused() uint64 { return n.gater.refused.Load() }

// Allow replaces the allowlist (empty opens the network) and disconnects whom it
// no longer holds.
func (n *Network) Allow(peers []peer.ID) error {
	n.gater.set(peers)
	return n.disconnectStrangers()
}

// Connect dials a multiaddress that ends in /p2p/<peer id>. The error wraps
// [ErrConfig] for a bad address and [ErrNotAllowed] for a stranger.
func (n *Network) Connect(ctx context.Context, addr string) error {
	info, err := peer.AddrInfoFromString(addr)
	if err != nil {
		return fmt.Errorf("%w: address %q must end in /p2p/<peer id>: %w", ErrConfig, addr, err)
	}
	if !n.gater.allowed(info.ID) {
		return fmt.Errorf("%w: %s", ErrNotAllowed, info.ID)
	}
	if err := n.host.Connect(ctx, *info); err != nil {
		return fmt.Errorf("connect to %s: %w", info.ID, err)
	}
	return nil
}

// Peers lists connected peers first, then those that are dialled or should be, each
// sorted by id.
func (n *Network) Peers() []PeerInfo {
	net := n.host.Network()
	ids := net.Peers()
	for _, t := range n.targets() {
		ids = append(ids, t.ID)
	}
	bootstrap := make(map[peer.ID][]ma.Multiaddr)
	for _, b := range n.settings.bootstrap {
		bootstrap[b.ID] = append(bootstrap[b.ID], b.Addrs...)
		ids = append(ids, b.ID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	out := make([]PeerInfo, 0, len(ids))
	for _, id := range ids {
		if id == n.host.ID() {
			continue
		}
		named, isBootstrap := bootstrap[id]
		p := PeerInfo{
			ID:        id,
			Addrs:     n.host.Peerstore().Addrs(id),
			Connected: net.Connectedness(id) == network.Connected,
			Latency:   n.host.Peerstore().LatencyEWMA(id),
			Bootstrap: isBootstrap,
		}
		if len(p.Addrs) == 0 {
			p.Addrs = named
		}
		p.Score, p.Scored = n.scores.of(id)
		conns := net.ConnsToPeer(id)
		p.Inbound = slices.ContainsFunc(conns, func(c network.Conn) bool {
			return c.Stat().Direction == network.DirInbound && !isCircuit(c.RemoteMultiaddr())
		})
		p.Relayed = len(conns) > 0 && !slices.ContainsFunc(conns, func(c network.Conn) bool { return !isCircuit(c.RemoteMultiaddr()) })
		if (isBootstrap || n.isRelay(id)) && !p.Connected {
			p.LastError = n.failures.of(id)
			if !n.gater.allowed(id) {
				p.LastError = ErrNotAllowed.Error()
			}
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b PeerInfo) int {
		if a.Connected != b.Connected {
			if a.Connected {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return out
}

func (n *Network) onConnected(net network.Network, c network.Conn) {
	level := slog.LevelDebug
	if len(net.ConnsToPeer(c.RemotePeer())) == 1 {
		level = slog.LevelInfo // the first; more may come of both dialling at once
	}
	n.logger.Log(n.ctx, level, "peer connected", "peer", c.RemotePeer(), "address", c.RemoteMultiaddr(), "direction", c.Stat().Direction.String())
}

func (n *Network) onDisconnected(net network.Network, c network.Conn) {
	if id := c.RemotePeer(); net.Connectedness(id) != network.Connected {
		n.filter.forget(id)
		level := slog.LevelInfo
		if n.ctx.Err() != nil {
			level = slog.LevelDebug // it is this node that leaves
		}
		n.logger.Log(n.ctx, level, "peer disconnected", "peer", id, "address", c.RemoteMultiaddr())
	}
}
