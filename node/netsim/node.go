package netsim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/metrics"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/karasu-project/karasu/node/exchange"
	"github.com/karasu-project/karasu/node/p2p"
	"github.com/karasu-project/karasu/store/commons"
)

// node is network, commons and exchange. Its key and directory outlive restarts.
type node struct {
	key   crypto.PrivKey
	dir   string
	sync  time.Duration
	wrap  func(exchange.Store) exchange.Store
	bytes meter

	// mu is held for reading by what uses the parts, and for writing by restarts.
	mu  sync.RWMutex
	net *p2p.Network
	db  *commons.DB
	ex  *exchange.Exchange
}

// seeded makes the keys of a network follow from its seed.
type seeded struct{ r *rand.ChaCha8 }

func (s seeded) Read(b []byte) (int, error) { return s.r.Read(b) }

// newKey returns the key of a number under a seed.
func newKey(seed uint64, number int) (crypto.PrivKey, error) {
	var b [32]byte
	copy(b[:], fmt.Sprintf("netsim %d %d", seed, number))
	priv, _, err := crypto.GenerateEd25519Key(seeded{rand.NewChaCha8(b)})
	return priv, err
}

func newNode(dir string, o Options, number int) (*node, error) {
	key, err := newKey(o.Seed, number)
	if err != nil {
		return nil, err
	}
	return &node{
		key: key, dir: filepath.Join(dir, fmt.Sprintf("node%d", number)), sync: o.SyncInterval, wrap: o.wrap,
	}, nil
}

// openStore opens the commons only. A node that is started has opened it.
func (n *node) openStore() (err error) {
	if n.db == nil {
		n.db, err = commons.OpenDB(n.dir, commons.Options{})
	}
	return err
}

// start starts the node. The caller holds the lock, or is alone.
func (n *node) start(ctx context.Context) error {
	if err := n.openStore(); err != nil {
		return err
	}
	cfg := p2p.Loopback()
	cfg.Listen = cfg.Listen[:1] // TCP is enough for all that is measured here
	cfg.Bandwidth = &n.bytes
	var err error
	if n.net, err = p2p.New(ctx, n.key, cfg, nil); err != nil {
		return errors.Join(err, n.stop())
	}
	n.ex, err = exchange.New(exchange.Options{
		Host: n.net.Host(), PubSub: n.net.PubSub(), Store: n.wrap(n.db), SyncInterval: n.sync,
	})
	if err == nil {
		err = n.net.Start(ctx)
	}
	if err == nil {
		err = n.ex.Start(ctx)
	}
	if err != nil {
		return errors.Join(err, n.stop())
	}
	return nil
}

// stop stops what runs of the node. The caller holds the lock, or is alone.
func (n *node) stop() error {
	var errs []error
	if n.ex != nil {
		errs = append(errs, n.ex.Close())
	}
	if n.net != nil {
		errs = append(errs, n.net.Close())
	}
	if n.db != nil {
		errs = append(errs, n.db.Close())
	}
	n.ex, n.net, n.db = nil, nil, nil
	return errors.Join(errs...)
}

// restart stops the node and starts it again, on another port.
func (n *node) restart(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return errors.Join(n.stop(), n.start(ctx))
}

// remove stops the node and deletes its files.
func (n *node) remove() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return errors.Join(n.stop(), os.RemoveAll(n.dir))
}

// connect dials another node.
func (n *node) connect(ctx context.Context, other *node) error {
	other.mu.RLock()
	addr := other.net.Addrs()[0].String()
	other.mu.RUnlock()
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.net.Connect(ctx, addr)
}

// persist is [node.connect] until it succeeds, for so long.
func (n *node) persist(ctx context.Context, other *node, most time.Duration) error {
	for begin := time.Now(); ; {
		err := n.connect(ctx, other)
		if err == nil || ctx.Err() != nil || time.Since(begin) > most {
			return err
		}
	}
}

// publish seals and publishes records, and returns what was acknowledged.
func (n *node) publish(ctx context.Context, drafts []draft) ([]*commons.Record, error) {
	records := make([]*commons.Record, 0, len(drafts))
	for _, d := range drafts {
		r, err := d.seal(n.key)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	if err := n.ex.PublishAll(ctx, records); err != nil {
		return nil, err
	}
	return records, nil
}

// held is how many records the node holds.
func (n *node) held() int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.db == nil {
		return 0
	}
	return n.db.Len()
}

// root is the fingerprint of all that the node holds.
func (n *node) root() commons.Fingerprint {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.db == nil {
		return commons.Fingerprint{}
	}
	return n.db.Index().Root(0)
}

// moved counts the bytes of all streams so far, over restarts.
func (n *node) moved() int64 { return n.bytes.total.Load() }

// meter counts the bytes of all streams. libp2p's own counter is a second behind.
type meter struct {
	metrics.BandwidthCounter
	total atomic.Int64
}

func (m *meter) LogSentMessage(bytes int64) { m.total.Add(bytes) }
func (m *meter) LogRecvMessage(bytes int64) { m.total.Add(bytes) }

// The same bytes once more, by protocol and peer.
func (*meter) LogSentMessageStream(int64, protocol.ID, peer.ID) {}
func (*meter) LogRecvMessageStream(int64, protocol.ID, peer.ID) {}
