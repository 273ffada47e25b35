package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/pnet"

	"github.com/karasu-project/karasu/node/exchange"
	"github.com/karasu-project/karasu/node/membership"
	"github.com/karasu-project/karasu/node/p2p"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// CircleConfig names the consortium that the node is in; without a name the network is
// open.
type CircleConfig struct {
	Name string `toml:"name"`
	// Admins are ids of the founding organisations, who sign the list of members.
	Admins []string `toml:"admins"`
	// PSKFile holds a key without which nobody gets as far as a handshake. A relative
	// path starts at the configuration's folder.
	PSKFile string `toml:"psk_file"`
}

// founding are the ids of the admins.
func (c CircleConfig) founding() ([]peer.ID, error) {
	var out []peer.ID
	for _, a := range c.Admins {
		id, err := peer.Decode(a)
		if err != nil {
			return nil, fmt.Errorf("circle.admins: %q is no organisation id (karasu org show prints one): %w", a, err)
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

func (c CircleConfig) validate() error {
	switch {
	case c.Name == "" && len(c.Admins) > 0:
		return errors.New("circle.admins are named, but no circle.name")
	case c.Name != "" && !commons.ValidCircle(c.Name):
		return fmt.Errorf("circle.name must be 1 to %d of a-z, 0-9, '.' and '-': %q", commons.MaxCircle, c.Name)
	case c.Name != "" && len(c.Admins) == 0:
		return fmt.Errorf("circle.name is %q, but circle.admins is empty; name at least one organisation id (karasu org show prints one)", c.Name)
	}
	_, err := c.founding()
	return err
}

// psk reads the pre-shared key; nil is none. It refuses a file that others may read.
func (h Home) psk(file string) (pnet.PSK, error) {
	if file == "" {
		return nil, nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(h.ConfigDir, file)
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("circle.psk_file: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("circle.psk_file: %s may be read by others (mode %o); run: chmod 600 %s", file, info.Mode().Perm(), file)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("circle.psk_file: %w", err)
	}
	key, err := p2p.ParsePSK(raw)
	if err != nil {
		return nil, fmt.Errorf("circle.psk_file: %s: %w", file, err)
	}
	return key, nil
}

// newCircle makes the circle of the configuration. It publishes by the exchange, which
// is made after it.
func (a *App) newCircle() (*membership.Circle, error) {
	founding, err := a.config.Circle.founding()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	var named []peer.ID
	for _, addr := range append(slices.Clone(a.config.Network.Bootstrap), a.config.Network.Relays...) {
		if info, err := peer.AddrInfoFromString(addr); err == nil {
			named = append(named, info.ID)
		}
	}
	for _, id := range a.config.Network.Allow {
		if id, err := peer.Decode(id); err == nil {
			named = append(named, id)
		}
	}
	c, err := membership.New(membership.Options{
		Name: a.config.Circle.Name, Founding: founding, Named: named,
		Signer: a.signer, Organisation: a.config.Organisation, Store: a.commons, Logger: a.logger,
		Publish: func(ctx context.Context, records []*commons.Record) error { return a.exchange.PublishAll(ctx, records) },
		Changed: a.circleChanged,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return c, nil
}

// delegationWarning is how long before a delegation's end a daemon that starts says so.
const delegationWarning = 21 * 24 * time.Hour

// circleChanged makes network and exchange follow the circle.
func (a *App) circleChanged(ctx context.Context) {
	if err := a.network.Restrict(a.circle.Permit, a.circle.Hubs()); err != nil {
		a.complain(ctx, "closing connections", err)
	}
	if a.circle.Open() {
		return
	}
	a.exchange.Reconsider()
	members, list, _ := a.circle.Members()
	self := slices.IndexFunc(members, func(m membership.Listed) bool { return m.Self && m.Removed.IsZero() })
	if list != nil {
		a.logger.InfoContext(ctx, "circle", "name", a.circle.Name, "revision", list.Revision, "organisations", len(members), "member", self >= 0)
	}
}

// introduceSelf tells others that this host is its organisation's.
func (a *App) introduceSelf(ctx context.Context) {
	if a.grant == nil {
		return
	}
	if left := time.Until(a.grant.Delegation.NotAfter); left < delegationWarning {
		a.logger.WarnContext(ctx, "this host's delegation ends soon or has ended, and what it shared with it; get a new one, beginning with: karasu org request",
			"until", a.grant.Delegation.NotAfter.Format(time.DateOnly), "left", max(left, 0).Round(time.Hour))
		if left < 0 {
			return
		}
	}
	_, err := a.exchange.Introduce(ctx, a.grant.Record)
	a.complain(ctx, "introducing this host", err)
}

// near says whether a host of an organisation is connected.
func (a *App) near(organisation peer.ID) bool {
	return a.connectedHosts(organisation) > 0
}

func (a *App) connectedHosts(organisation peer.ID) int {
	n := 0
	for _, id := range a.network.Host().Network().Peers() {
		if a.circle.OrganisationOf(id) == organisation && a.network.Host().Network().Connectedness(id) == network.Connected {
			n++
		}
	}
	return n
}

// Members says who is in the circle.
func (a *App) Members(context.Context) (*karasuv1.ListMembersResponse, error) {
	members, list, record := a.circle.Members()
	out := &karasuv1.ListMembersResponse{Circle: a.circle.Name, MayChange: a.circle.MayChange() == nil}
	if list != nil {
		out.Revision, out.Created, out.NotAfter, out.SignedBy = list.Revision, record.Created.Unix(), record.NotAfter.Unix(), record.Author.String()
	}
	authors := a.commons.Authors()
	for _, m := range members {
		w := &karasuv1.CircleMember{
			OrganisationId: m.Organisation.String(), Name: m.Name, Role: m.Role, Founding: m.Founding, Dropped: m.Drop,
			Connected: uint32(a.connectedHosts(m.Organisation)), Records: uint32(authors[m.Organisation].Usable), Self: m.Self,
		}
		if m.Name == "" {
			w.Name = authors[m.Organisation].Organisation
			if m.Self {
				w.Name = a.config.Organisation
			}
		}
		if !m.Removed.IsZero() {
			w.Removed = m.Removed.Unix()
		}
		if m.Organisation == a.network.ID() || a.network.Host().Network().Connectedness(m.Organisation) == network.Connected {
			m.Hosts = append(m.Hosts, m.Organisation)
		}
		for _, h := range m.Hosts {
			w.Hosts = append(w.Hosts, h.String())
		}
		out.Members = append(out.Members, w)
	}
	return out, nil
}

// ChangeMembers signs the list with one change.
func (a *App) ChangeMembers(ctx context.Context, c membership.Change) (*karasuv1.ChangeMembersResponse, error) {
	list, err := a.circle.Change(ctx, c)
	if err != nil {
		return nil, err
	}
	n := 0
	members, _, _ := a.circle.Members()
	for _, m := range members {
		if m.Removed.IsZero() {
			n++
		}
	}
	return &karasuv1.ChangeMembersResponse{Revision: list.Revision, Members: uint32(n)}, nil
}

// ErrRefused is wrapped where a record that a user handed in is not taken.
var ErrRefused = errors.New("record is refused")

// AnnounceOrganisation publishes what an organisation's key signed about its hosts.
func (a *App) AnnounceOrganisation(ctx context.Context, envelope []byte) (*karasuv1.AnnounceOrganisationResponse, error) {
	r, err := commons.Open(envelope)
	if err == nil {
		err = membership.CheckAnnounced(r)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	fresh, err := a.exchange.Introduce(ctx, r)
	var refusal *exchange.RefusalError
	switch {
	case errors.As(err, &refusal):
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	case err != nil:
		return nil, err
	}
	return &karasuv1.AnnounceOrganisationResponse{
		New: fresh, OrganisationId: r.Author.String(), Peers: uint32(len(a.network.Host().Network().Peers())),
	}, a.circle.Update(ctx)
}
