package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
