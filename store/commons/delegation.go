package commons

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/record"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// What binds a delegation's signature to its use. They are part of the wire format.
const (
	DelegationDomain      = "karasu-delegation"
	DelegationPayloadType = "/karasu/delegation/1"
)

// Bounds of a delegation.
const (
	// MaxDelegation bounds the envelope in bytes; with an Ed25519 key it has about 230.
	MaxDelegation = 1024
	// MaxWriter bounds a writer's name.
	MaxWriter = 32
	// MaxDelegated bounds not_after - not_before. A rotation, which lives for up to
	// [MaxLifetime], outlives all that it ends.
	MaxDelegated = 366 * 24 * time.Hour
)

// ErrDelegation says that a record's host may not sign for the organisation. It is the
// sender's fault.
var ErrDelegation = errors.New("host may not sign for the organisation")

// Delegation lets a host sign records in an organisation's name. It must not be changed.
type Delegation struct {
	Organisation, Host peer.ID
	// Writer names the records that the host continues.
	Writer string
	// NotBefore and NotAfter are in whole seconds, UTC.
	NotBefore, NotAfter time.Time
	Epoch               uint64
	// Admin lets the host sign membership lists.
	Admin bool
	// Envelope holds the signed bytes.
	Envelope []byte
}

// DefaultWriter names a host's records where nobody chose a name: 16 hex digits of the
// hash of its id, so that hosts do not get into each other's way.
func DefaultWriter(host peer.ID) string {
	h := sha256.Sum256([]byte(host))
	return hex.EncodeToString(h[:8])
}

// SealDelegation signs a delegation with an organisation's key. Organisation and
// Envelope of d are set, not read. The errors are those of [OpenDelegation].
func SealDelegation(organisation crypto.PrivKey, d Delegation) (*Delegation, error) {
	payload, err := proto.MarshalOptions{Deterministic: true}.Marshal(&karasuv1.Delegation{
		Host: []byte(d.Host), Writer: d.Writer, NotBefore: d.NotBefore.Unix(), NotAfter: d.NotAfter.Unix(),
		Epoch: d.Epoch, Admin: d.Admin,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	env, err := record.Seal(&delegationPayload{payload}, organisation)
	if err != nil {
		return nil, fmt.Errorf("signing a delegation: %w", err)
	}
	b, err := env.Marshal()
	if err != nil {
		return nil, fmt.Errorf("signing a delegation: %w", err)
	}
	return OpenDelegation(b)
}

// OpenDelegation checks a delegation from outside: size, signature and bounds, not the
// clock. The error wraps [ErrMalformed] or [ErrDelegation]. It keeps envelope.
func OpenDelegation(envelope []byte) (*Delegation, error) {
	if len(envelope) > MaxDelegation {
		return nil, fmt.Errorf("%w: delegation of %d bytes, at most %d", ErrMalformed, len(envelope), MaxDelegation)
	}
	var payload delegationPayload
	env, err := record.ConsumeTypedEnvelope(envelope, &payload)
	switch {
	case env == nil:
		return nil, fmt.Errorf("%w: delegation: %w", ErrMalformed, err)
	case err != nil:
		return nil, fmt.Errorf("%w: delegation: %w", ErrDelegation, err)
	}
	if b, err := env.Marshal(); err != nil || len(b) != len(envelope) {
		return nil, fmt.Errorf("%w: delegation holds more than a signed payload", ErrMalformed)
	}
	return readDelegation(env, envelope)
}

// reopenDelegation is [OpenDelegation] for one that was verified before it was stored.
func reopenDelegation(envelope []byte) (*Delegation, error) {
	env, err := record.UnmarshalEnvelope(envelope)
	if err != nil {
		return nil, fmt.Errorf("%w: delegation: %w", ErrMalformed, err)
	}
	return readDelegation(env, envelope)
}

func readDelegation(env *record.Envelope, envelope []byte) (*Delegation, error) {
	if string(env.PayloadType) != DelegationPayloadType {
		return nil, fmt.Errorf("%w: payload type %q, want %q", ErrMalformed, model.Clip(string(env.PayloadType)), DelegationPayloadType)
	}
	organisation, err := peer.IDFromPublicKey(env.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("%w: organisation of a delegation: %w", ErrMalformed, err)
	}
	var w karasuv1.Delegation
	if err := proto.Unmarshal(env.RawPayload, &w); err != nil {
		return nil, fmt.Errorf("%w: delegation: %w", ErrMalformed, err)
	}
	host, err := peer.IDFromBytes(w.GetHost())
	if err != nil {
		return nil, fmt.Errorf("%w: host of a delegation: %w", ErrMalformed, err)
	}
	from, to := w.GetNotBefore(), w.GetNotAfter()
	switch {
	case host == organisation:
		err = errors.New("an organisation's own key needs none")
	case !ValidWriter(w.GetWriter()):
		err = fmt.Errorf("writer must be at most %d of a-z, 0-9 and '-': %q", MaxWriter, model.Clip(w.GetWriter()))
	case from < 1 || from > maxUnix || to > maxUnix:
		err = errors.New("not_before and not_after must be between the years 1970 and 9999")
	case from > to:
		err = errors.New("not_after is before not_before")
	case to-from > int64(MaxDelegated/time.Second):
		err = fmt.Errorf("valid for more than %d days", int(MaxDelegated/(24*time.Hour)))
	case unknownBytes(w.ProtoReflect()) > maxUnknown:
		err = fmt.Errorf("unknown fields exceed %d bytes", maxUnknown)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: delegation: %w", ErrMalformed, err)
	}
	return &Delegation{
		Organisation: organisation, Host: host, Writer: w.GetWriter(),
		NotBefore: time.Unix(from, 0).UTC(), NotAfter: time.Unix(to, 0).UTC(),
		Epoch: w.GetEpoch(), Admin: w.GetAdmin(), Envelope: envelope,
	}, nil
}

// ValidWriter says whether a writer's name may be used; empty is one.
func ValidWriter(s string) bool {
	if len(s) > MaxWriter {
		return false
	}
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return false
		}
	}
	return true
}

// covers says whether the host of the delegation may have signed a record. What it
// signed ends with the delegation at the latest, so that a key that was stolen is worth
// nothing afterwards, also to one who sets back the clock. Only a retraction may live on,
// as it has to outlive what it withdraws. Records' times are rounded down to the day.
func (d *Delegation) covers(w *karasuv1.Record, host peer.ID) error {
	const day = 24 * 60 * 60
	first := d.NotBefore.Unix() / day * day
	switch {
	case d.Host != host:
		return fmt.Errorf("%w: the delegation is for %s, not for %s", ErrDelegation, d.Host, host)
	case w.GetCreated() < first || w.GetCreated() > d.NotAfter.Unix():
		return fmt.Errorf("%w: created %s, delegated from %s to %s", ErrDelegation,
			time.Unix(w.GetCreated(), 0).UTC().Format(time.DateOnly), d.NotBefore.Format(time.DateOnly), d.NotAfter.Format(time.DateOnly))
	case w.GetKind() != karasuv1.RecordKind_RECORD_KIND_RETRACTION && w.GetNotAfter() > d.NotAfter.Unix():
		return fmt.Errorf("%w: the record ends on %s, the delegation on %s", ErrDelegation,
			time.Unix(w.GetNotAfter(), 0).UTC().Format(time.DateOnly), d.NotAfter.Format(time.DateOnly))
	}
	return nil
}

// delegationPayload is rawPayload for delegations.
type delegationPayload struct{ b []byte }

func (*delegationPayload) Domain() string                   { return DelegationDomain }
func (*delegationPayload) Codec() []byte                    { return []byte(DelegationPayloadType) }
func (p *delegationPayload) MarshalRecord() ([]byte, error) { return p.b, nil }
func (p *delegationPayload) UnmarshalRecord(b []byte) error { p.b = b; return nil }
