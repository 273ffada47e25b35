package exchange

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/commons"
)

// Errors that end a session.
var (
	// ErrProtocol means that the other side broke the protocol.
	ErrProtocol = errors.New("sync protocol violation")
	// ErrTooSlow means that the other side took too long.
	ErrTooSlow = errors.New("sync peer is too slow")
	// ErrRefused means that the other side would not start a session.
	ErrRefused = errors.New("sync refused by the peer")
)

// Reconciler makes two nodes hold the same records of the topics that they want,
// in sessions over a stream. It keeps no state between sessions and must be safe
// for concurrent use.
//
// Errors wrap [ErrProtocol] for what is the other side's fault, [ErrTooSlow] for
// time that ran out and [ErrRefused] for a polite no. Both sides return as soon
// as the stream fails.
type Reconciler interface {
	// Protocol names the stream protocol, version included.
	Protocol() protocol.ID
	// Initiate leads a session, and Respond answers one.
	Initiate(ctx context.Context, s Stream, r Replica) (Result, error)
	Respond(ctx context.Context, s Stream, r Replica) (Result, error)
}

// Stream is the part of a libp2p stream that a reconciler uses.
type Stream interface {
	io.Reader
	io.Writer
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// Result says what a session did.
type Result struct {
	// Stored records were new here, Refused ones were not taken, Sent were handed
	// to the other side.
	Stored, Refused, Sent int
	// Wants is what the other side said it wants.
	Wants []Pattern
	// Busy are ids that another session was fetching at the time.
	Busy int
	// More is set if the session's limits left something out.
	More bool
	// Full is set if the session was about all that either side wants, and not only
	// about what is recent.
	Full bool
}

// Replica is what a session sees of the node. A replica serves one session; the
// node behind it serves many at once.
type Replica interface {
	// Peer is the other side.
	Peer() peer.ID
	// Snapshot returns what is held now. It is shared and must not be changed.
	Snapshot() (*Snapshot, error)
	// Index arranges what is held now, and is read while it changes.
	Index() *commons.Index
	// Since is the day from which on a session that is led here is about what was
	// created; 0 is all.
	Since() commons.Day
	// Patterns select what is wanted.
	Patterns() []Pattern
	// Claim reserves records that are to be fetched. Of the ids it returns those
	// that are lacking, were not refused a while ago and are not being fetched in
	// another session; busy counts the last.
	Claim(ids []commons.ID) (fetch []commons.ID, busy int)
	// Envelope returns a record to send. The error wraps [commons.ErrNotFound] if it
	// is not held or should not be sent any more.
	Envelope(id commons.ID) ([]byte, error)
	// Admit validates and stores what was fetched. Asked has the topic under which
	// each id was asked for; Admit deletes what arrives. The error wraps
	// [ErrProtocol] when the other side sent what was not asked for, or too much
	// that is its fault; else it is our own.
	Admit(ctx context.Context, asked map[commons.ID]model.Topic, envelopes [][]byte) (stored, refused int, err error)
	// Sent notes that n records were handed over.
	Sent(n int)
}
