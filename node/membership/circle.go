package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// Errors that callers tell apart.
var (
	// ErrOptions is wrapped by complaints about [Options].
	ErrOptions = errors.New("circle")
	// ErrNotMember says that an organisation is not in the circle.
	ErrNotMember = errors.New("not in the circle")
	// ErrNoCircle says that the network is open, so that there is no list to change.
	ErrNoCircle = errors.New("the network is open: there is no [circle] in config.toml")
	// ErrNotAdmin says that this daemon may not change the list.
	ErrNotAdmin = errors.New("this daemon may not change the list")
	// ErrChange is wrapped by complaints about a change of the list.
	ErrChange = errors.New("membership list")
)

const (
	// gather waits for changes of the commons that come close together.
	gather = 100 * time.Millisecond
	// lookAgain is how often delegations are looked at for their end.
	lookAgain = time.Minute
	// maxLeap bounds by how much an admin's list may be above the one that made it an
	// admin. Without it one admin could take the highest revision there is, after which
	// nobody could change the list any more.
	maxLeap = 1 << 32
)

// Store is what a circle needs of the commons. It must be safe for concurrent use.
type Store interface {
	// Control lists the usable membership lists and records about keys.
	Control() []commons.Entry
	// Get returns a record; the error wraps [commons.ErrNotFound].
	Get(id commons.ID) (*commons.Record, error)
	// Valid says whether a delegation holds now.
	Valid(d *commons.Delegation, now time.Time) bool
	// DropSince deletes received records of organisations that were created at a time or
	// later.
	DropSince(since map[peer.ID]time.Time) (int, error)
	NextRevision(by commons.Writer, topic model.Topic, key string) uint64
	SigningRevision(next uint64) uint64
	Subscribe() (<-chan struct{}, func())
}

// Options of a [Circle].
type Options struct {
	// Name of the circle; empty is an open network, which keeps nobody out.
	Name string
	// Founding admins, who cannot be removed but in every member's configuration.
	Founding []peer.ID
	// Named hosts are let in as long as nothing says that their organisation is none of
	// the circle: a newcomer has to begin somewhere.
	Named  []peer.ID
	Signer *commons.Signer
	// Organisation is this one's display name.
	Organisation string
	Store        Store
	// Publish stores own records and gossips them.
	Publish func(ctx context.Context, records []*commons.Record) error
	// Changed is called after the list or the known hosts changed.
	Changed func(ctx context.Context)
	Now     func() time.Time
	Logger  *slog.Logger
}

// Circle says who is in. It is safe for concurrent use.
type Circle struct {
	Options
	state atomic.Pointer[state]
	// mu is held while the state is made anew or the list is changed.
	mu sync.Mutex
	// known is what was read before, so that each record is read and verified once.
	known map[commons.ID]*decoded
	// dropped is the list whose removals were applied.
	dropped commons.ID
}

// decoded is what a record of the control topic holds: a list of this circle and its
// record, a delegation, or nothing of use.
type decoded struct {
	record     *commons.Record
	list       *commons.Membership
	delegation *commons.Delegation
}

// state is what follows from the records of the moment.
type state struct {
	// list is nil where there is none; record holds it.
	list    *commons.Membership
	record  *commons.Record
	members map[peer.ID]commons.Member
	// hosts are the organisations that say that a host is theirs.
	hosts map[peer.ID][]peer.ID
}

// New returns the circle as the store knows it. The error wraps [ErrOptions].
func New(o Options) (*Circle, error) {
	switch {
	case o.Name == "" && len(o.Founding) > 0:
		return nil, fmt.Errorf("%w: admins are named, but no circle; set circle.name", ErrOptions)
	case o.Name != "" && !commons.ValidCircle(o.Name):
		return nil, fmt.Errorf("%w: name must be 1 to %d of a-z, 0-9, '.' and '-': %q", ErrOptions, commons.MaxCircle, o.Name)
	case o.Name != "" && len(o.Founding) == 0:
		return nil, fmt.Errorf("%w: %s has no admins; name at least one organisation id under circle.admins", ErrOptions, o.Name)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func(context.Context) {}
	}
	o.Logger = o.Logger.With("component", "membership")
	c := &Circle{Options: o}
	c.state.Store(&state{})
	if _, err := c.update(); err != nil {
		return nil, err
	}
	return c, nil
}

// Open says that the network has no circle.
func (c *Circle) Open() bool { return c.Name == "" }

// Run keeps up with the commons until the context ends.
func (c *Circle) Run(ctx context.Context) {
	changed, unsubscribe := c.Store.Subscribe()
	defer unsubscribe()
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		if err := c.Update(ctx); err != nil && ctx.Err() == nil {
			c.Logger.ErrorContext(ctx, "membership cannot be read", "error", err)
		}
		if err := c.Renew(ctx); err != nil && ctx.Err() == nil {
			c.Logger.ErrorContext(ctx, "membership list is not renewed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-changed:
			select {
			case <-ctx.Done():
				return
			case <-time.After(gather):
			}
		}
	}
}

// Update takes over what the commons say now.
func (c *Circle) Update(ctx context.Context) error {
	changed, err := c.update()
	if changed {
		c.Changed(ctx)
	}
	return err
}

// update makes the state anew and says whether it is another one.
func (c *Circle) update() (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(); err != nil {
		return false, err
	}
	now := c.Now()
	next := &state{hosts: make(map[peer.ID][]peer.ID)}
	lists := make(map[*commons.Membership]*commons.Record)
	for _, d := range c.known {
		switch {
		case d.list != nil:
			lists[d.list] = d.record
		case d.delegation != nil && c.Store.Valid(d.delegation, now):
			next.hosts[d.delegation.Host] = append(next.hosts[d.delegation.Host], d.delegation.Organisation)
		}
	}
	for _, of := range next.hosts {
		slices.Sort(of)
	}
	next.choose(c.Founding, lists)
	before := c.state.Swap(next)
	if next.record != nil && next.record.ID != c.dropped {
		if err := c.drop(next); err != nil {
			return true, err
		}
		c.dropped = next.record.ID
	}
	return !next.equal(before), nil
}

// read decodes the records that are new, and forgets those that count no more. Of lists of
// other circles it keeps nothing: anybody can make any number of them.
func (c *Circle) read() error {
	known := make(map[commons.ID]*decoded)
	for _, e := range c.Store.Control() {
		if d := c.known[e.ID]; d != nil {
			known[e.ID] = d
			continue
		}
		r, err := c.Store.Get(e.ID)
		if errors.Is(err, commons.ErrNotFound) {
			continue // replaced since
		}
		if err != nil {
			return err
		}
		d := &decoded{}
		if r.Kind == karasuv1.RecordKind_RECORD_KIND_MEMBERSHIP {
			if !c.Open() && r.Key == commons.MembersKey(c.Name) {
				d.record = r
				d.list, err = commons.DecodeMembership(r)
			}
		} else if d.delegation, err = commons.DecodeHost(r); errors.Is(err, commons.ErrKind) {
			err = nil // a rotation, which the store heeds itself
		}
		if err != nil {
			c.Logger.Error("record of the control topic is not used", "record", r.ID.String(), "author", r.Author.String(), "error", err)
		}
		known[e.ID] = d
	}
	c.known = known
	return nil
}

// choose puts the list in force: of those that founding admins signed the highest, then
// any higher one by an admin of the list so far, by at most maxLeap. So founding admins
// have the last word, and all nodes that know the same lists agree.
func (s *state) choose(founding []peer.ID, lists map[*commons.Membership]*commons.Record) {
	admins := slices.Clone(founding)
	for {
		var best *commons.Membership
		for l, r := range lists {
			if !slices.Contains(admins, r.Author) ||
				s.list != nil && (l.Revision <= s.list.Revision || l.Revision-s.list.Revision > maxLeap) {
				continue
			}
			if best == nil || l.Revision > best.Revision ||
				l.Revision == best.Revision && slices.Compare(r.ID[:], lists[best].ID[:]) < 0 {
				best = l
			}
		}
		if best == nil {
			break
		}
		s.list, s.record = best, lists[best]
		admins = slices.Clone(founding)
		for _, m := range best.Members {
			if m.Role == karasuv1.Role_ROLE_ADMIN && m.Removed.IsZero() {
				admins = append(admins, m.Organisation)
			}
		}
	}
	s.members = make(map[peer.ID]commons.Member)
	if s.list != nil {
		for _, m := range s.list.Members {
			s.members[m.Organisation] = m
		}
	}
	for _, id := range founding {
		m := s.members[id]
		s.members[id] = commons.Member{Organisation: id, Name: m.Name, Role: karasuv1.Role_ROLE_ADMIN}
	}
}

func (s *state) equal(o *state) bool {
	if (s.record == nil) != (o.record == nil) || s.record != nil && s.record.ID != o.record.ID || len(s.hosts) != len(o.hosts) {
		return false
	}
	for h, of := range s.hosts {
		if !slices.Equal(of, o.hosts[h]) {
			return false
		}
	}
	return true
}

// drop deletes what removed members may no longer have here.
func (c *Circle) drop(s *state) error {
	since := make(map[peer.ID]time.Time)
	for id, m := range s.members {
		if m.Removed.IsZero() || id == c.Signer.Writer().Organisation {
			continue
		}
		since[id] = m.Removed
		if m.Drop {
			since[id] = time.Time{}
		}
	}
	if len(since) == 0 {
		return nil
	}
	n, err := c.Store.DropSince(since)
	if n > 0 {
		c.Logger.Info("records of removed members are dropped", "records", n)
	}
	return err
}

// Admit says why a record is not taken: its author is not in the circle, or was removed
// before. The error wraps [ErrNotMember].
func (c *Circle) Admit(r *commons.Record) error {
	if c.Open() {
		return nil
	}
	m, ok := c.state.Load().members[r.Author]
	switch {
	case r.Author == c.Signer.Writer().Organisation, r.Author == c.Signer.Host():
		return nil // whether others take it is up to them
	case !ok:
		return fmt.Errorf("%w %s: organisation %s", ErrNotMember, c.Name, r.Author)
	case m.Removed.IsZero(), !m.Drop && r.Created.Before(m.Removed):
		return nil
	}
	return fmt.Errorf("%w %s: organisation %s was removed on %s", ErrNotMember, c.Name, r.Author, m.Removed.Format(time.DateOnly))
}

// Permit says whether the node talks to a host.
func (c *Circle) Permit(host peer.ID) bool {
	if c.Open() || host == c.Signer.Host() {
		return true
	}
	s := c.state.Load()
	removed := false
	for _, id := range append(slices.Clone(s.hosts[host]), host) {
		m, ok := s.members[id]
		if ok && m.Removed.IsZero() {
			return true
		}
		removed = removed || ok
	}
	return !removed && slices.Contains(c.Named, host)
}

// OrganisationOf returns whose a host is: that says so, or else the host itself.
func (c *Circle) OrganisationOf(host peer.ID) peer.ID {
	of := c.state.Load().hosts[host]
	if len(of) == 0 {
		return host
	}
	return slices.Min(of)
}

// Hubs returns the hosts of members that are hubs, sorted.
func (c *Circle) Hubs() []peer.ID {
	s := c.state.Load()
	var out []peer.ID
	for id, m := range s.members {
		if m.Role == karasuv1.Role_ROLE_HUB && m.Removed.IsZero() {
			out = append(append(out, id), s.hostsOf(id)...)
		}
	}
	slices.Sort(out)
	return out
}

// hostsOf returns the hosts that an organisation says are its own, sorted.
func (s *state) hostsOf(organisation peer.ID) []peer.ID {
	var out []peer.ID
	for h, of := range s.hosts {
		if slices.Contains(of, organisation) {
			out = append(out, h)
		}
	}
	slices.Sort(out)
	return out
}

// Listed is a member as [Circle.Members] shows it.
type Listed struct {
	commons.Member
	Founding, Self bool
	// Hosts have a delegation. The organisation's own key may be one more host's.
	Hosts []peer.ID
}

// Members returns the circle's organisations, removed ones last, and the record that
// says so, which is nil where only the founding admins are known.
func (c *Circle) Members() ([]Listed, *commons.Membership, *commons.Record) {
	s := c.state.Load()
	var out []Listed
	for id, m := range s.members {
		out = append(out, Listed{m, slices.Contains(c.Founding, id), id == c.Signer.Writer().Organisation, s.hostsOf(id)})
	}
	slices.SortFunc(out, func(a, b Listed) int {
		return cmp.Or(compareBool(!a.Removed.IsZero(), !b.Removed.IsZero()), compareBool(!a.Founding, !b.Founding),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Organisation, b.Organisation))
	})
	return out, s.list, s.record
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
