package p2p

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

const (
	// clockProtocol answers a stream with the time: milliseconds since 1970 UTC in 8
	// bytes, big endian. Records are refused by their time, so a clock that is off
	// cuts a node off without a sign.
	clockProtocol protocol.ID = "/karasu/clock/1"
	clockBytes                = 8
	clockTimeout              = 5 * time.Second
	// maxClocks bounds the peers that one diagnosis asks.
	maxClocks = 16
	// latestClock is the year 2242. What is later, or before 1970, is no time.
	latestClock = 1 << 43
)

var errClock = errors.New("answer holds no time")

// Clock is what a peer's clock showed.
type Clock struct {
	Peer peer.ID
	// Ahead is how far the peer's clock is ahead of this node's, negative if behind, to
	// half of the round trip.
	Ahead time.Duration
}

// tell answers with the time. Nothing is read, so a peer cannot keep it waiting.
func tell(s network.Stream) {
	if s.SetWriteDeadline(time.Now().Add(clockTimeout)) != nil {
		_ = s.Reset() // closing all the same
		return
	}
	if _, err := s.Write(encodeClock(time.Now())); err != nil {
		_ = s.Reset()
		return
	}
	_ = s.Close() // the peer has what it asked for, or has left
}

func encodeClock(t time.Time) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(t.UnixMilli()))
}

func decodeClock(b []byte) (time.Time, error) {
	if len(b) != clockBytes {
		return time.Time{}, fmt.Errorf("%w: %d bytes, want %d", errClock, len(b), clockBytes)
	}
	ms := binary.BigEndian.Uint64(b)
	if ms > latestClock {
		return time.Time{}, fmt.Errorf("%w: %d ms since 1970", errClock, ms)
	}
	return time.UnixMilli(int64(ms)), nil
}

// askClock compares a peer's clock with this node's.
func (n *Network) askClock(ctx context.Context, id peer.ID) (Clock, error) {
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	s, err := n.host.NewStream(ctx, id, clockProtocol)
	if err != nil {
		return Clock{}, err
	}
	defer s.Reset() //nolint:errcheck // all was read, or nothing will be
	deadline, _ := ctx.Deadline()
	if err := s.SetReadDeadline(deadline); err != nil {
		return Clock{}, err
	}
	sent := time.Now()
	// The stream's protocol is negotiated with the first byte.
	if err := s.CloseWrite(); err != nil {
		return Clock{}, err
	}
	var b [clockBytes]byte
	if _, err := io.ReadFull(s, b[:]); err != nil {
		return Clock{}, err
	}
	got := time.Now()
	theirs, err := decodeClock(b[:])
	if err != nil {
		return Clock{}, err
	}
	return Clock{Peer: id, Ahead: theirs.Sub(sent.Add(got.Sub(sent) / 2)).Round(time.Millisecond)}, nil
}

// clocks asks some connected peers for the time. Peers that do not answer are left out.
func (n *Network) clocks(ctx context.Context) []Clock {
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		out []Clock
	)
	ids := n.host.Network().Peers()
	slices.Sort(ids)
	for _, id := range ids[:min(len(ids), maxClocks)] {
		wg.Go(func() {
			c, err := n.askClock(ctx, id)
			if err != nil {
				n.logger.Debug("clock is not told", "peer", id, "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out = append(out, c)
		})
	}
	wg.Wait()
	slices.SortFunc(out, func(a, b Clock) int { return cmp.Compare(a.Peer, b.Peer) })
	return out
}
