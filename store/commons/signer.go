package commons

import (
	"errors"
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Writer is who signs a set of records: an organisation, or one of its hosts under the
// name that its delegation gives it. Revisions of two writers do not compete.
type Writer struct {
	// Organisation is the hash of the organisation's key.
	Organisation peer.ID
	// Name is empty for the organisation's own key.
	Name string
}

// By returns in whose name the record is signed.
func (r *Record) By() Writer { return writerOf(r.Author, r.Delegation) }

func writerOf(own peer.ID, d *Delegation) Writer {
	if d == nil {
		return Writer{Organisation: own}
	}
	return Writer{d.Organisation, d.Writer}
}

// Signer signs records in an organisation's name: with its own key, or with a host's
// and a delegation. It must not be changed.
type Signer struct {
	key        crypto.PrivKey
	host       peer.ID
	delegation *Delegation
}

// NewSigner returns the signer of a host's key. Without a delegation the host is an
// organisation of its own. The error wraps [ErrDelegation] where the delegation is for
// another host.
func NewSigner(key crypto.PrivKey, d *Delegation) (*Signer, error) {
	if key == nil {
		return nil, errors.New("signer: a private key is needed")
	}
	host, err := peer.IDFromPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("signer: %w", err)
	}
	if d != nil && d.Host != host {
		return nil, fmt.Errorf("%w: the delegation is for %s, this host is %s", ErrDelegation, d.Host, host)
	}
	return &Signer{key, host, d}, nil
}

// Host is whose key signs.
func (s *Signer) Host() peer.ID { return s.host }

// Delegation is nil where the host is an organisation of its own.
func (s *Signer) Delegation() *Delegation { return s.delegation }

// Writer is in whose name is signed.
func (s *Signer) Writer() Writer { return writerOf(s.host, s.delegation) }

// Own returns the signer of the same key without a delegation.
func (s *Signer) Own() *Signer { return &Signer{key: s.key, host: s.host} }

// Admin says whether the signer may sign membership lists.
func (s *Signer) Admin() bool { return s.delegation == nil || s.delegation.Admin }

// Until is the latest not_after of a record that the signer signs, given the one that
// is wanted: a delegation bounds it.
func (s *Signer) Until(wanted time.Time) time.Time {
	if s.delegation != nil && s.delegation.NotAfter.Before(wanted) {
		return s.delegation.NotAfter
	}
	return wanted
}

// Seal signs a record. Its version and delegation are set here; everything else is
// checked as by [Open], whose errors it returns.
func (s *Signer) Seal(r *karasuv1.Record) (*Record, error) {
	if s.delegation == nil {
		return seal(s.key, r, nil)
	}
	return seal(s.key, r, s.delegation.Envelope)
}
