package membership

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// listLife is how long a list is good for. Daemons of admins renew it at half of it, so
// that it ends only where no admin runs one for half a year.
const listLife = 365 * 24 * time.Hour

// Change is what becomes of one organisation.
type Change struct {
	Organisation peer.ID
	// Remove takes it out; Drop then drops what is held of it, too.
	Remove, Drop bool
	// Name and Role of a member; unspecified is what it was, or a member.
	Name string
	Role karasuv1.Role
}

// MayChange says whether this daemon may change the list: it is an admin's, and signs
// with its organisation's own key or a delegation for that.
func (c *Circle) MayChange() error {
	if c.Open() {
		return ErrNoCircle
	}
	m, ok := c.state.Load().members[c.Signer.Writer().Organisation]
	switch {
	case !ok || m.Role != karasuv1.Role_ROLE_ADMIN || !m.Removed.IsZero():
		return fmt.Errorf("%w: organisation %s is no admin of %s", ErrNotAdmin, c.Signer.Writer().Organisation, c.Name)
	case !c.Signer.Admin():
		return fmt.Errorf("%w: its delegation is without --admin", ErrNotAdmin)
	}
	return nil
}

// Change signs and publishes the list with one change, and returns it. The errors wrap
// [ErrNoCircle], [ErrNotAdmin] or [ErrChange].
func (c *Circle) Change(ctx context.Context, change Change) (*commons.Membership, error) {
	if err := c.Update(ctx); err != nil {
		return nil, err
	}
	if err := c.MayChange(); err != nil {
		return nil, err
	}
	next := &commons.Membership{Circle: c.Name}
	if s := c.state.Load(); s.list != nil {
		next.Revision, next.Members = s.list.Revision, slices.Clone(s.list.Members)
	}
	next.Revision++
	if err := c.apply(next, change); err != nil {
		return nil, err
	}
	if err := c.sign(ctx, next); err != nil {
		return nil, err
	}
	return next, c.Update(ctx)
}

// apply makes the change in the list.
func (c *Circle) apply(list *commons.Membership, change Change) error {
	at, known := slices.BinarySearchFunc(list.Members, change.Organisation, func(m commons.Member, id peer.ID) int {
		switch {
		case m.Organisation < id:
			return -1
		case m.Organisation > id:
			return 1
		}
		return 0
	})
	founding := slices.Contains(c.Founding, change.Organisation)
	switch {
	case change.Remove && founding:
		return fmt.Errorf("%w: %s is a founding admin; take it out of circle.admins in every member's config.toml first", ErrChange, change.Organisation)
	case change.Remove && !known:
		return fmt.Errorf("%w: %s is not on it", ErrChange, change.Organisation)
	case change.Remove:
		m := &list.Members[at]
		if m.Removed.IsZero() {
			// To the day, as records' times are: what it shared today goes, too.
			m.Removed = c.today()
		}
		m.Drop = m.Drop || change.Drop
		return nil
	case change.Drop:
		return fmt.Errorf("%w: only what is removed can be dropped", ErrChange)
	case founding && change.Role != karasuv1.Role_ROLE_UNSPECIFIED && change.Role != karasuv1.Role_ROLE_ADMIN:
		return fmt.Errorf("%w: %s is a founding admin; its role stands in config.toml", ErrChange, change.Organisation)
	}
	if err := commons.ValidateOrganisation(change.Name); err != nil {
		return fmt.Errorf("%w: name: %w", ErrChange, err)
	}
	if !known {
		if len(list.Members) >= commons.MaxMembers {
			return fmt.Errorf("%w: it holds %d organisations, at most %d", ErrChange, len(list.Members), commons.MaxMembers)
		}
		list.Members = slices.Insert(list.Members, at, commons.Member{Organisation: change.Organisation, Role: karasuv1.Role_ROLE_MEMBER})
	}
	m := &list.Members[at]
	m.Removed, m.Drop = time.Time{}, false
	if change.Name != "" {
		m.Name = change.Name
	}
	switch {
	case founding:
		m.Role = karasuv1.Role_ROLE_ADMIN
	case change.Role != karasuv1.Role_ROLE_UNSPECIFIED:
		m.Role = change.Role
	}
	return nil
}

// Renew signs the list in force anew where it is past half of its life and this daemon
// may.
func (c *Circle) Renew(ctx context.Context) error {
	s := c.state.Load()
	may := c.MayChange() == nil
	if s.record == nil || !may {
		return nil
	}
	half := s.record.Created.Add(s.record.NotAfter.Sub(s.record.Created) / 2)
	if c.Now().Before(half) || c.until().Sub(s.record.NotAfter) < 24*time.Hour {
		return nil
	}
	next := *s.list
	next.Revision++
	return c.sign(ctx, &next)
}

func (c *Circle) today() time.Time { return c.Now().UTC().Truncate(24 * time.Hour) }

func (c *Circle) until() time.Time { return c.Signer.Until(c.today().Add(listLife)) }

func (c *Circle) sign(ctx context.Context, list *commons.Membership) error {
	body, err := commons.MarshalBody(commons.EncodeMembership(list))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrChange, err)
	}
	topic, key := commons.ControlTopic(), commons.MembersKey(list.Circle)
	r, err := c.Signer.Seal(&karasuv1.Record{
		Topic: topic.String(), Kind: karasuv1.RecordKind_RECORD_KIND_MEMBERSHIP, Key: key,
		Revision: c.Store.SigningRevision(c.Store.NextRevision(c.Signer.Writer(), topic, key)),
		Created:  c.today().Unix(), NotAfter: c.until().Unix(),
		Organisation: c.Organisation, Body: body,
	})
	if err != nil {
		return err
	}
	return c.Publish(ctx, []*commons.Record{r})
}
