package exchange

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/commons"
)

const (
	// answerDelay is how long the node with the higher id leaves it to the other to
	// begin after a connection; a session serves both.
	answerDelay = 2 * time.Second
	// nudgeDelay collects news before peers are told, and nudgeGap is the least time
	// between two sessions with one peer for that purpose.
	nudgeDelay = 200 * time.Millisecond
	nudgeGap   = time.Second
	// maxNudged bounds the peers that one piece of news is told to directly.
	maxNudged = 16
	// recentDays is what most sessions are about: today and yesterday, UTC, as records
	// are dated by the day.
	recentDays = 2
	// fullEvery is after how many intervals a peer is compared with about everything
	// again, if its turn comes: what is old is found where it came by a peer that was
	// away for long.
	fullEvery = 20
	// maxFull bounds the sessions about everything that a node leads at once: one that
	// joins fetches from two peers, and is shown by the others what is recent. Those are
	// compared with about everything fullWait later, when there is little to it.
	maxFull  = 2
	fullWait = 5 * time.Second
	// maxSpread bounds the peers that are shown what a session brought: with four
	// for each, news reaches n nodes in about log4(n) rounds.
	maxSpread = 4
)

// eventLoop schedules a session with every peer that has connected and speaks the
// protocol.
func (e *Exchange) eventLoop(sub event.Subscription) {
	for {
		select {
		case <-e.ctx.Done():
			return
		case ev, ok := <-sub.Out():
			if !ok {
				return
			}
			switch ev := ev.(type) {
			case event.EvtPeerIdentificationCompleted:
				if slices.Contains(ev.Protocols, e.opts.Reconciler.Protocol()) {
					e.greet(ev.Peer)
				}
			case event.EvtPeerProtocolsUpdated:
				if slices.Contains(ev.Added, e.opts.Reconciler.Protocol()) {
					e.greet(ev.Peer)
				}
			case event.EvtPeerConnectednessChanged:
				if ev.Connectedness == network.NotConnected {
					e.forget(ev.Peer)
				}
			}
		}
	}
}

// greet schedules the first session with a peer.
func (e *Exchange) greet(id peer.ID) {
	if e.self < id {
		e.schedule(id, 0, time.Time{}, e.scope(id))
	} else {
		// Nothing to do if the other side has begun by then.
		e.schedule(id, answerDelay, time.Now(), e.scope(id))
	}
}

// recent is the day from which on most sessions compare.
func (e *Exchange) recent() commons.Day {
	return commons.DayOf(e.opts.Now().AddDate(0, 0, 1-recentDays))
}

// scope is the day from which on a session with a peer compares when it is due: 0,
// which is everything, unless that was done not long ago.
func (e *Exchange) scope(id peer.ID) commons.Day {
	e.mu.Lock()
	defer e.mu.Unlock()
	if full := e.state(id).full; !full.IsZero() && time.Since(full) < fullEvery*e.opts.SyncInterval {
		return e.recent()
	}
	return 0
}

// forget drops the state of a peer that has left, unless a session still ends.
func (e *Exchange) forget(id peer.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if st := e.peers[id]; st != nil && st.inbound == 0 && len(st.outbound) == 0 && !st.pending {
		delete(e.peers, id)
	}
}

// prune forgets peers that left in the middle of something.
func (e *Exchange) prune() {
	e.mu.Lock()
	ids := slices.Collect(maps.Keys(e.peers))
	e.mu.Unlock()
	for _, id := range ids {
		if e.opts.Host.Network().Connectedness(id) == network.NotConnected {
			e.forget(id)
		}
	}
}

// schedule runs a session about what was created since a day, after a delay; one that
// is scheduled already serves both. If unless is set, a session that ended after it
// makes this one superfluous.
func (e *Exchange) schedule(id peer.ID, delay time.Duration, unless time.Time, since commons.Day) {
	e.mu.Lock()
	defer e.mu.Unlock()
	st := e.state(id)
	st.force = st.force || unless.IsZero()
	if st.pending || e.closed {
		st.since = min(st.since, since)
		return
	}
	st.pending, st.since = true, since
	e.work.Go(func() {
		ok := sleep(e.ctx, delay) && e.awaitInbound(id)
		e.mu.Lock()
		ok = ok && (st.force || !st.last.After(unless))
		st.pending, st.force = false, false
		since := st.since
		e.mu.Unlock()
		if !ok || e.opts.Host.Network().Connectedness(id) != network.Connected {
			return
		}
		if since == 0 {
			select {
			case e.full <- struct{}{}:
				defer release(e.full)
			default:
				since = e.recent()
				e.schedule(id, jitter(fullWait), time.Time{}, 0)
			}
		}
		if err := e.syncWith(e.ctx, id, since); err != nil && e.ctx.Err() == nil {
			e.opts.Logger.Debug("sync failed", "peer", id, "error", err)
		}
	})
}

// awaitInbound waits while the peer leads a session, which may well make another one
// small: up to the time in which an honest one ends. It reports false when the exchange
// closes.
func (e *Exchange) awaitInbound(id peer.ID) bool {
	for begin := time.Now(); time.Since(begin) < graceFrames*e.opts.FrameTimeout; {
		e.mu.Lock()
		busy := e.state(id).inbound > 0
		e.mu.Unlock()
		if !busy {
			break
		}
		if !sleep(e.ctx, nudgeDelay) {
			return false
		}
	}
	return e.ctx.Err() == nil
}

// periodicLoop reconciles with a random peer now and then.
func (e *Exchange) periodicLoop() {
	for sleep(e.ctx, jitter(e.opts.SyncInterval)) {
		e.prune()
		peers := e.speakers()
		if len(peers) > 0 {
			id := peers[rand.IntN(len(peers))]
			e.schedule(id, 0, time.Time{}, e.scope(id))
		}
	}
}

// nudge tells peers that have not joined a topic that there is something in it, or
// asks what they have of it: a session shows, of what was created since a day. Those that said that they do not want it are spared.
func (e *Exchange) nudge(topic model.Topic, since commons.Day) {
	peers := e.speakers()
	in := e.TopicPeers(topic)
	rand.Shuffle(len(peers), func(i, j int) { peers[i], peers[j] = peers[j], peers[i] })
	nudged := 0
	for _, id := range peers {
		if nudged == maxNudged {
			return
		}
		e.mu.Lock()
		st := e.state(id)
		wanted := st.wants == nil || matchAny(st.wants, topic)
		e.mu.Unlock()
		if wanted && !slices.Contains(in, id) {
			e.scheduleSoon(id, since)
			nudged++
		}
	}
}

// spread passes on what came by reconciliation, which gossip does not: a few other
// peers are shown what is new, of the days since its oldest. One that has it already
// costs one small message.
func (e *Exchange) spread(from peer.ID, oldest commons.Day) {
	peers := slices.DeleteFunc(e.speakers(), func(id peer.ID) bool { return id == from })
	rand.Shuffle(len(peers), func(i, j int) { peers[i], peers[j] = peers[j], peers[i] })
	for _, id := range peers[:min(len(peers), maxSpread)] {
		e.scheduleSoon(id, oldest)
	}
}

// scheduleSoon schedules a session for news, a little later so that more of them
// come along.
func (e *Exchange) scheduleSoon(id peer.ID, since commons.Day) {
	e.mu.Lock()
	wait := max(nudgeDelay, nudgeGap-time.Since(e.state(id).last))
	e.mu.Unlock()
	e.schedule(id, wait, time.Time{}, since)
}

// speakers lists connected peers that are known to speak the protocol.
func (e *Exchange) speakers() []peer.ID {
	var out []peer.ID
	for _, id := range e.opts.Host.Network().Peers() {
		if got, err := e.opts.Host.Peerstore().SupportsProtocols(id, e.opts.Reconciler.Protocol()); err == nil && len(got) > 0 {
			out = append(out, id)
		}
	}
	return out
}

// SyncNow reconciles everything with all connected peers, some at a time, and returns when
// that is done. Peers that do not speak the protocol are left out; the errors of
// the others are joined.
func (e *Exchange) SyncNow(ctx context.Context) error {
	if err := e.running(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(e.ctx, cancel) //nolint:contextcheck // closing the exchange ends the call too
	defer stop()
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		errs  []error
		slots = make(chan struct{}, maxOutbound)
	)
	for _, id := range e.opts.Host.Network().Peers() {
		if acquire(ctx, slots) != nil {
			break
		}
		wg.Go(func() {
			defer release(slots)
			if err := e.syncWith(ctx, id, 0); err != nil && !notSpoken(err) {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		errs = append(errs, fmt.Errorf("sync: %w", err))
	}
	return errors.Join(errs...)
}

// sleep waits and reports false when the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter spreads d over half to one and a half of it.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d+1) }
