package commons

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Keys on the control topic.
const (
	// RotationKey is where an organisation says that earlier epochs have ended.
	RotationKey   = "rotation"
	hostPrefix    = "host/"
	membersPrefix = "members/"
)

// Bounds of a membership list.
const (
	// MaxMembers bounds members, removed ones included: 150 bytes each fit a record.
	MaxMembers = 1500
	// MaxCircle bounds a circle's name in bytes.
	MaxCircle = 48
)

// ControlTopic is where organisations speak of themselves and of their circle. Every
// node wants it, whatever its patterns.
func ControlTopic() model.Topic {
	return model.Topic{Infrastructure: "karasu", Framework: "control", Algorithm: "organisations"}
}

// HostKey is the key under which an organisation says that a host is its own.
func HostKey(host peer.ID) string {
	h := sha256.Sum256([]byte(host))
	return hostPrefix + hex.EncodeToString(h[:16])
}

// MembersKey is the key of a circle's membership list.
func MembersKey(circle string) string { return membersPrefix + circle }

// Rotation ends an organisation's delegations of earlier epochs than Epoch: records
// under them that were created at Since or later do not count.
type Rotation struct {
	Epoch uint64
	Since time.Time
}

// EncodeRotation returns the body of a rotation.
func EncodeRotation(r Rotation) *karasuv1.OrganisationKeys {
	return &karasuv1.OrganisationKeys{What: &karasuv1.OrganisationKeys_Rotation{
		Rotation: &karasuv1.Rotation{Epoch: r.Epoch, Since: r.Since.Unix()},
	}}
}

// EncodeHost returns the body that makes a delegation known.
func EncodeHost(d *Delegation) *karasuv1.OrganisationKeys {
	return &karasuv1.OrganisationKeys{What: &karasuv1.OrganisationKeys_Delegation{Delegation: d.Envelope}}
}

// DecodeRotation returns the rotation that a record's body holds. The error wraps
// [ErrKind] or [ErrMalformed].
func DecodeRotation(r *Record) (*Rotation, error) {
	var m karasuv1.OrganisationKeys
	if err := decode(r, karasuv1.RecordKind_RECORD_KIND_DELEGATION, &m); err != nil {
		return nil, err
	}
	w := m.GetRotation()
	switch {
	case w == nil:
		return nil, fmt.Errorf("%w: no rotation", ErrKind)
	case w.GetEpoch() < 1:
		return nil, fmt.Errorf("%w: a rotation begins epoch 1 or a later one", ErrMalformed)
	case w.GetSince() < 0 || w.GetSince() > maxUnix:
		return nil, fmt.Errorf("%w: since must be between the years 1970 and 9999", ErrMalformed)
	}
	return &Rotation{w.GetEpoch(), time.Unix(w.GetSince(), 0).UTC()}, nil
}

// DecodeHost returns the delegation that a record's body makes known, by the record's
// author. The error wraps [ErrKind], [ErrMalformed] or [ErrDelegation].
func DecodeHost(r *Record) (*Delegation, error) {
	var m karasuv1.OrganisationKeys
	if err := decode(r, karasuv1.RecordKind_RECORD_KIND_DELEGATION, &m); err != nil {
		return nil, err
	}
	if len(m.GetDelegation()) == 0 {
		return nil, fmt.Errorf("%w: no delegation", ErrKind)
	}
	d, err := OpenDelegation(m.GetDelegation())
	if err != nil {
		return nil, err
	}
	if d.Organisation != r.Author {
		return nil, fmt.Errorf("%w: by %s, told by %s", ErrDelegation, d.Organisation, r.Author)
	}
	return d, nil
}

// Membership is a circle's list.
type Membership struct {
	Circle   string
	Revision uint64
	// Members are sorted by organisation.
	Members []Member
}

// Member is an organisation in a circle, or one that was removed.
type Member struct {
	Organisation peer.ID
	Name         string
	Role         karasuv1.Role
	// Removed is the zero time for a member.
	Removed time.Time
	// Drop says that all of the removed member's records are dropped.
	Drop bool
}

// EncodeMembership returns the body of a membership list.
func EncodeMembership(l *Membership) *karasuv1.Membership {
	m := &karasuv1.Membership{Circle: l.Circle, Revision: l.Revision}
	for _, x := range l.Members {
		w := &karasuv1.Member{Organisation: []byte(x.Organisation), Name: x.Name, Role: x.Role, Drop: x.Drop}
		if !x.Removed.IsZero() {
			w.Removed = x.Removed.Unix()
		}
		m.Members = append(m.Members, w)
	}
	return m
}

// DecodeMembership returns the list that a record's body holds. The error wraps
// [ErrKind] or [ErrMalformed].
func DecodeMembership(r *Record) (*Membership, error) {
	var m karasuv1.Membership
	if err := decode(r, karasuv1.RecordKind_RECORD_KIND_MEMBERSHIP, &m); err != nil {
		return nil, err
	}
	switch {
	case !ValidCircle(m.GetCircle()):
		return nil, fmt.Errorf("%w: circle must be 1 to %d of a-z, 0-9, '.' and '-': %q", ErrMalformed, MaxCircle, model.Clip(m.GetCircle()))
	case m.GetRevision() < 1:
		return nil, fmt.Errorf("%w: a list's revision must be at least 1", ErrMalformed)
	case len(m.GetMembers()) > MaxMembers:
		return nil, fmt.Errorf("%w: %d members, at most %d", ErrMalformed, len(m.GetMembers()), MaxMembers)
	}
	out := &Membership{Circle: m.GetCircle(), Revision: m.GetRevision()}
	for i, w := range m.GetMembers() {
		x, err := decodeMember(w)
		if err == nil && i > 0 && out.Members[i-1].Organisation >= x.Organisation {
			err = errors.New("not in order, or twice in the list")
		}
		if err != nil {
			return nil, fmt.Errorf("%w: member %d: %w", ErrMalformed, i+1, err)
		}
		out.Members = append(out.Members, x)
	}
	return out, nil
}

func decodeMember(w *karasuv1.Member) (Member, error) {
	id, err := peer.IDFromBytes(w.GetOrganisation())
	if err != nil {
		return Member{}, err
	}
	m := Member{Organisation: id, Name: w.GetName(), Role: w.GetRole(), Drop: w.GetDrop()}
	switch {
	case w.GetRemoved() < 0 || w.GetRemoved() > maxUnix:
		return m, errors.New("removed must be between the years 1970 and 9999")
	case w.GetRole() <= karasuv1.Role_ROLE_UNSPECIFIED:
		return m, errors.New("no role")
	case w.GetDrop() && w.GetRemoved() == 0:
		return m, errors.New("to be dropped, but not removed")
	case w.GetRemoved() > 0:
		m.Removed = time.Unix(w.GetRemoved(), 0).UTC()
	}
	return m, ValidateOrganisation(w.GetName())
}

// ValidCircle says whether a circle may have a name.
func ValidCircle(s string) bool {
	return s != "" && len(s) <= MaxCircle && validKey(s) && !strings.Contains(s, "/")
}

// validateControl checks who may say what on the control topic, retractions included:
// of an organisation's keys only its own, of a circle also a host that it lets.
func validateControl(r *Record) error {
	if r.Topic != ControlTopic() {
		if r.Kind == karasuv1.RecordKind_RECORD_KIND_DELEGATION || r.Kind == karasuv1.RecordKind_RECORD_KIND_MEMBERSHIP {
			return fmt.Errorf("%w: %s belongs to topic %s", ErrMalformed, r.Kind, ControlTopic())
		}
		return nil
	}
	keys := r.Key == RotationKey || strings.HasPrefix(r.Key, hostPrefix)
	switch {
	case keys && r.Delegation != nil:
		return fmt.Errorf("%w: %q is for the organisation's own key", ErrDelegation, model.Clip(r.Key))
	case strings.HasPrefix(r.Key, membersPrefix) && r.Delegation != nil && !r.Delegation.Admin:
		return fmt.Errorf("%w: the delegation does not cover membership lists", ErrDelegation)
	case r.Kind == karasuv1.RecordKind_RECORD_KIND_DELEGATION && r.Key == RotationKey:
		_, err := DecodeRotation(r)
		return malformedKind(err)
	case r.Kind == karasuv1.RecordKind_RECORD_KIND_DELEGATION:
		d, err := DecodeHost(r)
		if err != nil {
			return malformedKind(err)
		}
		return matchKey(r, HostKey(d.Host))
	case r.Kind == karasuv1.RecordKind_RECORD_KIND_MEMBERSHIP:
		l, err := DecodeMembership(r)
		if err != nil {
			return err
		}
		return matchKey(r, MembersKey(l.Circle))
	case keys && r.Kind != karasuv1.RecordKind_RECORD_KIND_RETRACTION:
		return fmt.Errorf("%w: %q holds %s", ErrMalformed, model.Clip(r.Key), r.Kind)
	}
	switch r.Kind {
	case karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY, karasuv1.RecordKind_RECORD_KIND_SUPPORT_MODEL, karasuv1.RecordKind_RECORD_KIND_RUNTIME_MODEL:
		return fmt.Errorf("%w: no %s on the control topic", ErrMalformed, r.Kind)
	}
	return nil
}

// malformedKind turns the complaint that a body holds something else into that it is
// not well formed: under its key it has to be what the key says.
func malformedKind(err error) error {
	if errors.Is(err, ErrKind) {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return err
}

// MarshalBody encodes a body as it is signed.
func MarshalBody(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}
