package exchange

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/multiformats/go-multistream"
	"golang.org/x/time/rate"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

const (
	// maxInbound and maxOutbound bound sessions at once. Each may hold some MiB of
	// ids and a batch of records.
	maxInbound  = 16
	maxOutbound = 8
	// maxInboundPerPeer leaves the other slots to others if one peer hangs.
	maxInboundPerPeer = 1
	// A peer may open sessionBurst sessions at once and one every sessionEvery after;
	// a late joiner of a large network needs some in a row.
	sessionBurst = 32
	sessionEvery = time.Second
	// maxRounds bounds the sessions of one catch-up in a row.
	maxRounds = 256
	// retryWait is how long to wait at first for another session that fetches what
	// this one lacks, or for a peer that is busy; each time twice as long, and
	// maxRetries times at most: 8 s in all.
	retryWait  = 250 * time.Millisecond
	maxRetries = 5
	// refuseTimeout bounds telling a peer no, and maxRefusing how many are told at
	// once; the others are just cut off.
	refuseTimeout = 5 * time.Second
	maxRefusing   = 16
)

// peerState is what is remembered of a peer while it is connected.
type peerState struct {
	inbound  int
	bucket   *rate.Limiter
	outbound chan struct{} // holds a token while a session runs
	pending  bool          // a session is scheduled
	force    bool          // and has to run
	since    commons.Day   // and is about what was created since then
	last     time.Time     // when the last session ended, either direction
	full     time.Time     // when the last one about everything did, leaving nothing out
	wants    []Pattern     // what it said it wants; nil is unknown
}

// state returns what is remembered of a peer. The caller holds e.mu.
func (e *Exchange) state(id peer.ID) *peerState {
	s := e.peers[id]
	if s == nil {
		s = &peerState{
			bucket:   rate.NewLimiter(rate.Every(sessionEvery), sessionBurst),
			outbound: make(chan struct{}, 1),
		}
		e.peers[id] = s
	}
	return s
}

// handleStream answers a session. libp2p calls it in a goroutine of its own.
func (e *Exchange) handleStream(s network.Stream) {
	id := s.Conn().RemotePeer()
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		_ = s.Reset()
		return
	}
	e.work.Add(1)
	defer e.work.Done()
	st := e.state(id)
	reason := Reason("")
	switch {
	case e.greylist.listed(id, e.opts.Now()):
		reason = Greylisted
	case e.inbound >= maxInbound || st.inbound >= maxInboundPerPeer:
		reason = Busy
	case !st.bucket.Allow():
		reason = TooOften
	default:
		e.inbound++
		st.inbound++
	}
	e.mu.Unlock()
	if reason != "" {
		e.counters.refused(reason)
		select {
		case e.refusing <- struct{}{}:
			e.refuseStream(s, reason)
			release(e.refusing)
		default:
			_ = s.Reset()
		}
		return
	}
	defer func() {
		e.mu.Lock()
		e.inbound--
		st.inbound--
		e.mu.Unlock()
	}()
	_, err := e.run(e.ctx, s, 0, e.opts.Reconciler.Respond)
	if err != nil {
		e.opts.Logger.Debug("sync answered", "peer", id, "error", err)
	}
}

// refuseStream says no, politely and briefly.
func (e *Exchange) refuseStream(s network.Stream, reason Reason) {
	defer s.Reset() //nolint:errcheck // there is nobody left to tell
	if s.SetDeadline(time.Now().Add(refuseTimeout)) != nil {
		return
	}
	frame := &karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Refusal{Refusal: &karasuv1.SyncRefusal{Reason: string(reason)}}}
	if _, err := protodelim.MarshalTo(&tapped{Stream: s, e: e}, frame); err != nil || s.CloseWrite() != nil {
		return
	}
	// Wait until the peer has read it and closes, or a reset would overtake it.
	var scrap [1 << 10]byte
	for range maxControlFrame / len(scrap) {
		if _, err := s.Read(scrap[:]); err != nil {
			return
		}
	}
}

// run drives one session over an open stream, in either role. Since is for the leader.
func (e *Exchange) run(ctx context.Context, s network.Stream, since commons.Day, role func(context.Context, Stream, Replica) (Result, error)) (Result, error) {
	id := s.Conn().RemotePeer()
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	r := &replica{
		e: e, peer: id, fetcher: fetcher{peer: id}, learned: make(map[model.Topic]struct{}),
		since: since, oldest: e.recent(),
	}
	defer func() { e.fetches.release(&r.fetcher, time.Now()) }()
	res, err := role(ctx, &tapped{Stream: s, e: e}, r)
	if err != nil {
		_ = s.Reset()
	} else {
		err = s.Close()
	}
	e.joinLearned(slices.Collect(maps.Keys(r.learned)))
	e.account(id, res, err)
	if res.Stored > 0 {
		e.spread(id, r.oldest)
	}
	return res, err
}

// account notes how a session ended.
func (e *Exchange) account(id peer.ID, res Result, err error) {
	switch {
	case errors.Is(err, ErrProtocol):
		e.counters.refused(Protocol)
		e.offence(id, reject(Protocol, err), e.opts.Now())
	case errors.Is(err, ErrTooSlow):
		e.counters.refused(TooSlow)
	}
	e.counters.add(func(s *Stats) {
		if err == nil {
			s.Syncs++
			s.LastSync = time.Now()
		} else {
			s.SyncsFailed++
		}
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	st := e.state(id)
	st.last = time.Now()
	if err != nil {
		return
	}
	st.wants = res.Wants
	if res.Full && !res.More {
		st.full = st.last
	}
}

// syncWith catches up with one peer on what was created since a day: sessions in a row
// until nothing is left out.
func (e *Exchange) syncWith(ctx context.Context, id peer.ID, since commons.Day) error {
	e.mu.Lock()
	st := e.state(id)
	e.mu.Unlock()
	if err := acquire(ctx, st.outbound); err != nil {
		return err
	}
	defer release(st.outbound)
	retries := 0
	for range maxRounds {
		res, err := e.session(ctx, id, since)
		switch {
		case err == nil && res.More && res.Stored+res.Sent > 0:
			continue
		case err == nil && res.Busy == 0, err != nil && !errors.Is(err, ErrRefused), retries == maxRetries:
			return err
		}
		if !sleep(ctx, jitter(retryWait<<retries)) {
			return ctx.Err()
		}
		retries++
	}
	return nil
}

// session leads one session with a connected peer.
func (e *Exchange) session(ctx context.Context, id peer.ID, since commons.Day) (Result, error) {
	if err := acquire(ctx, e.outbound); err != nil {
		return Result{}, err
	}
	defer release(e.outbound)
	open, cancel := context.WithTimeout(network.WithNoDial(ctx, "sync"), e.opts.FrameTimeout)
	defer cancel()
	s, err := e.opts.Host.NewStream(open, id, e.opts.Reconciler.Protocol())
	if err != nil {
		return Result{}, fmt.Errorf("sync with %s: %w", id, err)
	}
	res, err := e.run(ctx, s, since, e.opts.Reconciler.Initiate)
	if err != nil {
		return res, fmt.Errorf("sync with %s: %w", id, err)
	}
	if res.Stored+res.Sent+res.Refused > 0 {
		e.opts.Logger.Debug("synced", "peer", id, "stored", res.Stored, "refused", res.Refused, "sent", res.Sent, "more", res.More)
	}
	return res, nil
}

// notSpoken says whether a peer does not know the protocol at all.
func notSpoken(err error) bool {
	var unsupported multistream.ErrNotSupported[protocol.ID]
	return errors.As(err, &unsupported)
}

// tapped counts a stream's bytes and shows what is written to the tap.
type tapped struct {
	network.Stream
	e *Exchange
	// wrote is set between a write and the next read, which ends a round.
	wrote atomic.Bool
}

func (t *tapped) Read(b []byte) (int, error) {
	n, err := t.Stream.Read(b)
	round := n > 0 && t.wrote.Swap(false)
	t.e.counters.add(func(s *Stats) {
		s.SyncBytesIn += uint64(n)
		if round {
			s.SyncRounds++
		}
	})
	return n, err
}

func (t *tapped) Write(b []byte) (int, error) {
	t.wrote.Store(true)
	t.e.opts.Tap(string(t.e.opts.Reconciler.Protocol()), b)
	n, err := t.Stream.Write(b)
	t.e.counters.add(func(s *Stats) { s.SyncBytesOut += uint64(n) })
	return n, err
}

func acquire(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func release(slots chan struct{}) { <-slots }
