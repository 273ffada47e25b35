package commons

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/record"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// What binds a signature to this use. They are part of the wire format.
const (
	Domain      = "karasu-record"
	PayloadType = "/karasu/record/1"
	// Major is the wire version that is understood; another is refused.
	Major = 1
	// Minor is the wire version that is written; a higher one is carried. 1 has
	// delegations.
	Minor = 1
)

// Bounds of a record.
const (
	// MaxEnvelope bounds the signed envelope in bytes: the largest message that
	// the gossip layer carries. A summary of a hundred configurations has 10 KB.
	MaxEnvelope = 256 << 10
	// MaxKey bounds a key: a pseudonym of 32 digits, a slash and a word.
	MaxKey = 128
	// MaxOrganisation bounds a display name in bytes.
	MaxOrganisation = 64
	// MaxLifetime bounds not_after - created: a yearly job is still known when it
	// is due again.
	MaxLifetime = 400 * 24 * time.Hour
	// MaxAhead is how far a sender's clock may be ahead of ours.
	MaxAhead = 10 * time.Minute
	// maxUnknown bounds fields that this version does not know, in bytes.
	maxUnknown = 4 << 10
)

// Why a record is refused.
var (
	// ErrTooLarge says that an envelope exceeds [MaxEnvelope].
	ErrTooLarge = errors.New("record too large")
	// ErrMalformed says that bytes do not parse or a field is out of bounds.
	ErrMalformed = errors.New("malformed record")
	// ErrSignature says that the signature is not the author's, or not for this use.
	ErrSignature = errors.New("bad record signature")
	// ErrVersion says that the record is of another major version.
	ErrVersion = errors.New("unsupported record version")
	// ErrFuture says that it was created more than [MaxAhead] from now.
	ErrFuture = errors.New("record from the future")
	// ErrExpired says that its not_after has passed.
	ErrExpired = errors.New("record expired")
)

// ID is the SHA-256 over domain, author's public key, payload type and payload.
// The signature is not in it: an author can make many for one payload.
type ID [sha256.Size]byte

// String returns the first 16 hex digits, enough for people.
func (id ID) String() string { return hex.EncodeToString(id[:8]) }

// Record is a signed record that has passed [Open]. It must not be changed.
type Record struct {
	ID ID
	// Author is the organisation.
	Author peer.ID
	// Host signed the record: the author itself, or whom Delegation names.
	Host peer.ID
	// Delegation is nil where the author signed itself.
	Delegation *Delegation
	Topic      model.Topic
	// Kind may be one that this version does not know.
	Kind     karasuv1.RecordKind
	Key      string
	Revision uint64
	// Created and NotAfter are in whole seconds, UTC.
	Created, NotAfter time.Time
	// Organisation is the display name that the author claims.
	Organisation string
	Body         []byte
	// Envelope holds the signed bytes as they came.
	Envelope []byte
}

// Seal signs a record with an organisation's own key. Its version is set here; everything
// else is checked as by [Open], whose errors it returns.
func Seal(priv crypto.PrivKey, r *karasuv1.Record) (*Record, error) { return seal(priv, r, nil) }

func seal(priv crypto.PrivKey, r *karasuv1.Record, delegation []byte) (*Record, error) {
	r = proto.CloneOf(r)
	r.Major, r.Minor, r.Delegation = Major, Minor, delegation
	payload, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
	if err != nil {
		// A string that is not UTF-8.
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	env, err := record.Seal(&rawPayload{b: payload}, priv)
	if err != nil {
		return nil, fmt.Errorf("signing a record: %w", err)
	}
	b, err := env.Marshal()
	if err != nil {
		return nil, fmt.Errorf("signing a record: %w", err)
	}
	return Open(b)
}

// Open checks an envelope from outside: size, signature, version, and the bounds
// of every field but the body. The error wraps [ErrTooLarge], [ErrMalformed],
// [ErrSignature], [ErrDelegation] or [ErrVersion]; all of them are the sender's fault,
// except that ErrVersion may come from a newer release. It keeps envelope.
func Open(envelope []byte) (*Record, error) {
	if len(envelope) > MaxEnvelope {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(envelope), MaxEnvelope)
	}
	var payload rawPayload
	env, err := record.ConsumeTypedEnvelope(envelope, &payload)
	switch {
	case env == nil:
		return nil, fmt.Errorf("%w: envelope: %w", ErrMalformed, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrSignature, err)
	}
	// What is not signed must not be there: anybody could add it on the way.
	if b, err := env.Marshal(); err != nil || len(b) != len(envelope) {
		return nil, fmt.Errorf("%w: envelope holds more than a signed payload", ErrMalformed)
	}
	return assemble(env, envelope, OpenDelegation)
}

// reopen is [Open] for an envelope that was verified before it was stored.
func reopen(envelope []byte) (*Record, error) {
	env, err := record.UnmarshalEnvelope(envelope)
	if err != nil {
		return nil, fmt.Errorf("%w: envelope: %w", ErrMalformed, err)
	}
	return assemble(env, envelope, reopenDelegation)
}

func assemble(env *record.Envelope, envelope []byte, open func([]byte) (*Delegation, error)) (*Record, error) {
	if !bytes.Equal(env.PayloadType, []byte(PayloadType)) {
		return nil, fmt.Errorf("%w: payload type %q, want %q", ErrMalformed, model.Clip(string(env.PayloadType)), PayloadType)
	}
	host, err := peer.IDFromPublicKey(env.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("%w: author: %w", ErrMalformed, err)
	}
	id, err := identify(env.PublicKey, env.RawPayload)
	if err != nil {
		return nil, err
	}
	var w karasuv1.Record
	if err := proto.Unmarshal(env.RawPayload, &w); err != nil {
		return nil, fmt.Errorf("%w: payload: %w", ErrMalformed, err)
	}
	topic, err := check(&w)
	if err != nil {
		return nil, err
	}
	r := &Record{
		ID: id, Author: host, Host: host, Topic: topic, Kind: w.GetKind(), Key: w.GetKey(), Revision: w.GetRevision(),
		Created: time.Unix(w.GetCreated(), 0).UTC(), NotAfter: time.Unix(w.GetNotAfter(), 0).UTC(),
		Organisation: w.GetOrganisation(), Body: w.GetBody(), Envelope: envelope,
	}
	if len(w.GetDelegation()) == 0 {
		return r, nil
	}
	d, err := open(w.GetDelegation())
	if err == nil {
		err = d.covers(&w, host)
	}
	if err != nil {
		return nil, err
	}
	r.Author, r.Delegation = d.Organisation, d
	return r, nil
}

// identify hashes the four fields, each behind its length, so that no two
// records share an input.
func identify(key crypto.PubKey, payload []byte) (ID, error) {
	pub, err := crypto.MarshalPublicKey(key)
	if err != nil {
		return ID{}, fmt.Errorf("%w: author: %w", ErrMalformed, err)
	}
	h := sha256.New()
	for _, f := range [][]byte{[]byte(Domain), pub, []byte(PayloadType), payload} {
		h.Write(binary.AppendUvarint(nil, uint64(len(f))))
		h.Write(f)
	}
	return ID(h.Sum(nil)), nil
}

// Times that seconds since 1970 may name: the year 9999 is the end, so that
// they fit every representation.
const maxUnix = 253402300799

// check bounds every field but the body.
func check(w *karasuv1.Record) (model.Topic, error) {
	if w.GetMajor() != Major {
		return model.Topic{}, fmt.Errorf("%w: %d, want %d", ErrVersion, w.GetMajor(), Major)
	}
	topic, err := model.ParseTopic(w.GetTopic())
	if err != nil {
		return model.Topic{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	created, notAfter := w.GetCreated(), w.GetNotAfter()
	switch {
	case w.GetKind() == karasuv1.RecordKind_RECORD_KIND_UNSPECIFIED:
		err = errors.New("kind is missing")
	case !validKey(w.GetKey()):
		err = fmt.Errorf("key must be 1 to %d of a-z, 0-9, '.', '-' and '/': %q", MaxKey, model.Clip(w.GetKey()))
	case w.GetRevision() < 1:
		err = errors.New("revision must be at least 1")
	case created < 1 || created > maxUnix || notAfter > maxUnix:
		err = errors.New("created and not_after must be between the years 1970 and 9999")
	case created > notAfter:
		err = errors.New("not_after is before created")
	case notAfter-created > int64(MaxLifetime/time.Second):
		err = fmt.Errorf("lifetime is above %d days", int(MaxLifetime/(24*time.Hour)))
	case w.GetKind() == karasuv1.RecordKind_RECORD_KIND_RETRACTION && len(w.GetBody()) > 0:
		err = errors.New("a retraction has no body")
	case len(w.ProtoReflect().GetUnknown()) > maxUnknown:
		err = fmt.Errorf("unknown fields exceed %d bytes", maxUnknown)
	default:
		err = ValidateOrganisation(w.GetOrganisation())
	}
	if err != nil {
		return model.Topic{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return topic, nil
}

func validKey(s string) bool {
	if s == "" || len(s) > MaxKey {
		return false
	}
	for _, c := range []byte(s) {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-/", rune(c)) {
			return false
		}
	}
	return true
}

// CheckTime checks the record against a clock: [ErrFuture] where it was created
// more than [MaxAhead] after now, [ErrExpired] where its not_after has passed.
func (r *Record) CheckTime(now time.Time) error {
	switch {
	case r.Created.After(now.Add(MaxAhead)):
		return fmt.Errorf("%w: created %s, now %s", ErrFuture, r.Created.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	case now.After(r.NotAfter):
		return fmt.Errorf("%w: on %s", ErrExpired, r.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// rawPayload lets libp2p's envelopes carry bytes that are marshalled already, so
// that the bytes that were signed are the bytes that are parsed.
type rawPayload struct{ b []byte }

func (*rawPayload) Domain() string                   { return Domain }
func (*rawPayload) Codec() []byte                    { return []byte(PayloadType) }
func (p *rawPayload) MarshalRecord() ([]byte, error) { return p.b, nil }
func (p *rawPayload) UnmarshalRecord(b []byte) error { p.b = b; return nil }
