package exchange

import (
	"errors"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/commons"
)

// maxSkew is how far ahead a record may be before it is the sender's fault: a
// clock in the wrong time zone is, by ignoring it, not punished.
const maxSkew = 24 * time.Hour

// Source says which way a record came.
type Source int

const (
	// Gossip is subject to its author's rate.
	Gossip Source = iota
	// Sync was asked for, and so has a bound already.
	Sync
)

// Validator decides whether a record that came from outside is taken. The same one
// serves gossip and reconciliation. It is safe for concurrent use.
type Validator struct {
	store Store
	self  commons.Writer
	admit func(*commons.Record) error
	usage *usage
	now   func() time.Time
}

// NewValidator returns a validator for records that go into the store of a node. The
// quotas about all authors are not for the node's own records, nor is admit, which says
// whose records a circle takes; nil takes everybody's.
func NewValidator(store Store, self commons.Writer, admit func(*commons.Record) error, quotas Quotas, now func() time.Time) (*Validator, error) {
	quotas, err := quotas.withDefaults()
	if err != nil {
		return nil, err
	}
	if now == nil {
		now = time.Now
	}
	if admit == nil {
		admit = func(*commons.Record) error { return nil }
	}
	return &Validator{store: store, self: self, admit: admit, usage: newUsage(quotas, store, self), now: now}, nil
}

// Check returns the record in an envelope that came under a topic, or why it is
// refused. It keeps the envelope. Cheap checks come first.
func (v *Validator) Check(topic model.Topic, envelope []byte, from Source) (*commons.Record, *RefusalError) {
	r, refusal := v.open(envelope)
	if refusal == nil {
		refusal = v.judge(r, topic, from)
	}
	if refusal != nil {
		return nil, refusal
	}
	return r, nil
}

// open checks what can be checked without knowing where the record belongs.
func (v *Validator) open(envelope []byte) (*commons.Record, *RefusalError) {
	r, err := commons.Open(envelope)
	switch {
	case errors.Is(err, commons.ErrTooLarge):
		return nil, reject(Oversize, err)
	case errors.Is(err, commons.ErrSignature):
		return nil, reject(Forged, err)
	case errors.Is(err, commons.ErrDelegation):
		return nil, reject(Undelegated, err)
	case errors.Is(err, commons.ErrVersion):
		return nil, ignore(Version, err)
	case err != nil:
		return nil, reject(Malformed, err)
	}
	return r, nil
}

// judge decides on a record whose author is proved.
func (v *Validator) judge(r *commons.Record, topic model.Topic, from Source) *RefusalError {
	if r.Topic != topic {
		return reject(WrongTopic, nil)
	}
	now := v.now()
	switch err := r.CheckTime(now); {
	case errors.Is(err, commons.ErrFuture) && r.Created.After(now.Add(maxSkew)):
		return reject(FarFuture, err)
	case errors.Is(err, commons.ErrFuture):
		return ignore(Future, err)
	case err != nil:
		return ignore(Expired, err)
	}
	if r.By() != v.self {
		if err := v.admit(r); err != nil {
			return ignore(NotMember, err)
		}
	}
	switch err := commons.ValidateBody(r); {
	case errors.Is(err, commons.ErrDelegation):
		return reject(Undelegated, err)
	case err != nil:
		return reject(BadBody, err)
	}
	if v.store.Ended(r) {
		return ignore(Ended, nil)
	}
	if v.store.Has(r.ID) {
		return ignore(Duplicate, nil)
	}
	if r.Revision < v.store.NextRevision(r.By(), r.Topic, r.Key)-1 {
		return ignore(Stale, nil)
	}
	return v.usage.check(r, from == Gossip, now)
}

// prepare counts what is held before the first record comes, which would wait for it.
func (v *Validator) prepare() { v.usage.prepare(v.now()) }

// Stored tells the validator that a record that it let pass is now held.
func (v *Validator) Stored(r *commons.Record) { v.usage.stored(r) }
