package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/karasu-project/karasu/node/api"
	"github.com/karasu-project/karasu/node/metrics"
)

const (
	// A node that has partners reconciles once every sync_interval on average. Ten
	// intervals without one success are no chance, and 5 minutes no restart of a peer.
	stuckIntervals = 10
	stuckAfter     = 5 * time.Minute
)

// syncWatch finds out whether reconciliation is stuck. It is safe for concurrent use.
type syncWatch struct {
	mu sync.Mutex
	// since is from when on there were partners whenever it was looked; zero is that
	// there were none the last time.
	since time.Time
}

// check returns an error where there have been partners for longer than patience, and
// no session ended well in that time. Last is when one did.
func (w *syncWatch) check(now time.Time, partners int, last time.Time, patience time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if partners == 0 {
		w.since = time.Time{}
		return nil // nobody to reconcile with is a state, not a fault
	}
	if w.since.IsZero() {
		w.since = now
	}
	if now.Sub(w.since) <= patience || now.Sub(last) <= patience {
		return nil
	}
	return fmt.Errorf("no reconciliation with any of %d peers has succeeded for %s; see the log at level DEBUG", partners, now.Sub(later(w.since, last)).Round(time.Second))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// alive says whether the daemon can read its databases: where it cannot, a restart is
// all that is left.
func (a *App) alive(ctx context.Context) []metrics.Check {
	_, private := a.private.Secret(ctx)
	_, commons := a.commons.Source()
	return []metrics.Check{metrics.Passed("private store can be read", private), metrics.Passed("commons can be read", commons)}
}

// ready says whether the daemon does its work.
func (a *App) ready(context.Context) []metrics.Check {
	var network error
	if len(a.network.Addrs()) == 0 {
		network = errors.New("no address is listened on; see network.listen in config.toml")
	}
	patience := max(stuckAfter, stuckIntervals*time.Duration(a.config.Network.SyncInterval))
	return []metrics.Check{
		metrics.Passed("private store can be written", a.private.Probe()),
		metrics.Passed("commons can be written", a.commons.Probe()),
		metrics.Passed("network is up", network),
		metrics.Passed("reconciliation goes on", a.syncWatch.check(time.Now(), a.exchange.Partners(), a.exchange.Stats().LastSync, patience)),
	}
}

// newMetrics builds the server of metrics where the configuration asks for one, and
// returns who is told of requests; nil is nobody.
func (a *App) newMetrics() (api.Observer, error) {
	if a.config.Metrics.Listen == "" {
		return nil, nil
	}
	m, err := metrics.New(a.metricsSource())
	if err != nil {
		return nil, err
	}
	a.metrics = metrics.NewServer(a.config.Metrics.Listen, m, metrics.Health{Alive: a.alive, Ready: a.ready}, a.logger.With("component", "metrics"))
	return m.Request, nil
}

// MetricsAddr is where metrics are served; nil where they are not.
func (a *App) MetricsAddr() net.Addr {
	if a.metrics == nil {
		return nil
	}
	return a.metrics.Addr()
}

// metricsSource is what a scrape reads.
func (a *App) metricsSource() metrics.Source {
	return metrics.Source{
		Version: a.options.Version,
		Exchange: func() metrics.Exchange {
			s := a.exchange.Stats()
			out := metrics.Exchange{
				RecordsIn: s.RecordsIn, RecordsOut: s.RecordsOut, Rejected: make(map[string]uint64, len(s.Rejected)),
				SyncBytesIn: s.SyncBytesIn, SyncBytesOut: s.SyncBytesOut, SyncRounds: s.SyncRounds, Syncs: s.Syncs, SyncsFailed: s.SyncsFailed,
				LastSync: s.LastSync, Topics: s.Topics,
			}
			for _, o := range a.exchange.Offenders() {
				if o.Greylisted > 0 {
					out.Greylisted++
				}
			}
			for reason, n := range s.Rejected {
				out.Rejected[string(reason)] = n
			}
			return out
		},
		Network: func() metrics.Network {
			gossip := a.network.GossipStats()
			out := metrics.Network{Mesh: gossip.Mesh, Dropped: gossip.Dropped, Refused: a.network.Refused()}
			for _, p := range a.network.Peers() {
				if p.Connected {
					out.Connected++
				}
				if p.LastError != "" {
					out.UnreachableBootstrap++
				}
			}
			return out
		},
		Stores: func(ctx context.Context) (out metrics.Stores, err error) {
			out.Records, out.Bytes = a.commons.Len(), make(map[string]int64, 2)
			if out.Runs, err = a.private.CountRuns(ctx); err != nil {
				return out, err
			}
			if out.Bytes["private"], err = a.private.DiskBytes(); err != nil {
				return out, err
			}
			out.Bytes["commons"], err = a.commons.DiskBytes()
			return out, err
		},
	}
}
