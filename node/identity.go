package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/node/membership"
	"github.com/karasu-project/karasu/store/commons"
)

// DelegationFile lets this host sign in an organisation's name. Without it the host is
// an organisation of its own.
func (h Home) DelegationFile() string { return filepath.Join(h.ConfigDir, "delegation.json") }

// OrganisationFile is the organisation's key, mode 0600, where it is kept here.
func (h Home) OrganisationFile() string { return filepath.Join(h.ConfigDir, "organisation.key") }

// NextIdentityFile is a key that will be the host's once it has a delegation.
func (h Home) NextIdentityFile() string { return filepath.Join(h.ConfigDir, "identity.next.key") }

// Grant reads the delegation of this host; nil where it has none.
func (h Home) Grant() (*membership.Grant, error) {
	g, err := membership.ReadGrant(h.DelegationFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil //nolint:nilnil // no delegation is no error
	}
	return g, err
}

// Signer signs for this host: with its key, and in its organisation's name where it has
// a delegation.
func (h Home) Signer() (*commons.Signer, error) {
	key, err := h.Identity()
	if err != nil {
		return nil, err
	}
	g, err := h.Grant()
	if err != nil {
		return nil, err
	}
	var d *commons.Delegation
	if g != nil {
		d = g.Delegation
	}
	s, err := commons.NewSigner(key, d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; get one for this host with: karasu org request", h.DelegationFile(), err)
	}
	return s, nil
}

// OrganisationKey reads the organisation's key of a file; an empty path is the one of
// this home. The passphrase is for a file that is encrypted. The error wraps [ErrNoHome]
// where there is none here.
func (h Home) OrganisationKey(path, passphrase string) (*membership.Key, error) {
	if path == "" {
		path = h.OrganisationFile()
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w: no organisation key at %s; name its file, or make one with: karasu org create", ErrNoHome, path)
		}
	}
	return membership.ReadKey(path, passphrase)
}

// CreateOrganisation makes the key of an organisation in this home: a new one, or the
// host's own, so that the organisation keeps the id that the host had so far. The error
// wraps [ErrHomeExists] where there is one.
func (h Home) CreateOrganisation(fromIdentity bool) (*membership.Key, error) {
	identity, err := h.Identity()
	if err != nil {
		return nil, err
	}
	key := &membership.Key{Private: identity}
	if !fromIdentity {
		if key, err = membership.NewKey(); err != nil {
			return nil, err
		}
	}
	raw, err := key.Encode("")
	if err != nil {
		return nil, err
	}
	if err := writeNew(h.OrganisationFile(), raw); errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%w: %s is an organisation's key; move it away first to make another", ErrHomeExists, h.OrganisationFile())
	} else if err != nil {
		return nil, fmt.Errorf("organisation key: %w", err)
	}
	return key, nil
}

// Request is what this host asks an organisation for. With newKey it is for a key that
// replaces the host's, which is made where there is none yet. What the host signs goes on
// under the name that it has, or that writer gives it.
func (h Home) Request(newKey bool, writer *string) (membership.Request, error) {
	signer, err := h.Signer()
	if err != nil {
		return membership.Request{}, err
	}
	r := membership.Request{Host: signer.Host(), Writer: commons.DefaultWriter(signer.Host())}
	if newKey {
		r.Writer = signer.Writer().Name
		if _, err := os.Stat(h.NextIdentityFile()); errors.Is(err, os.ErrNotExist) {
			if err := newIdentity(h.NextIdentityFile()); err != nil {
				return r, err
			}
		}
		key, err := readIdentity(h.NextIdentityFile())
		if err != nil {
			return r, err
		}
		if r.Host, err = peer.IDFromPrivateKey(key); err != nil {
			return r, fmt.Errorf("identity: %w", err)
		}
	} else if signer.Delegation() != nil {
		r.Writer = signer.Writer().Name
	}
	if writer != nil {
		r.Writer = *writer
	}
	return r, nil
}

// ErrDelegation is wrapped by complaints about a delegation that does not suit this home.
var ErrDelegation = errors.New("delegation")

// Import makes a delegation this host's, and the key that it is for where that was made
// by [Home.Request]. A daemon that runs goes on as before until its next start. Replaced
// says where the key is that was this host's before.
func (h Home) Import(g *membership.Grant, now time.Time) (replaced string, err error) {
	d := g.Delegation
	if now.After(d.NotAfter) {
		return "", fmt.Errorf("%w: it ended on %s; ask for a new one", ErrDelegation, d.NotAfter.Format(time.DateOnly))
	}
	next, err := h.isNext(d.Host)
	if err != nil {
		return "", err
	}
	if !next {
		key, err := h.Identity()
		if err != nil {
			return "", err
		}
		if id, err := peer.IDFromPrivateKey(key); err != nil || id != d.Host {
			return "", fmt.Errorf("%w: it is for host %s, and this is %s; make a request with: karasu org request", ErrDelegation, d.Host, id)
		}
	}
	raw, err := g.Encode()
	if err == nil {
		err = membership.WriteFile(h.DelegationFile(), raw)
	}
	if err != nil || !next {
		return "", err
	}
	replaced = filepath.Join(h.ConfigDir, "identity.old.key")
	if err := os.Rename(h.IdentityFile(), replaced); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("replace identity: %w", err)
	}
	if err := os.Rename(h.NextIdentityFile(), h.IdentityFile()); err != nil {
		return "", fmt.Errorf("replace identity: %w; run the same again", err)
	}
	return replaced, nil
}

// isNext says whether a host's key is the one that will be this host's.
func (h Home) isNext(host peer.ID) (bool, error) {
	if _, err := os.Stat(h.NextIdentityFile()); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	key, err := readIdentity(h.NextIdentityFile())
	if err != nil {
		return false, err
	}
	id, err := peer.IDFromPrivateKey(key)
	return id == host, err
}
