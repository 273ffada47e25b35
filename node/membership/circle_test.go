package membership_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/node/membership"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func newKey(t testing.TB) *membership.Key {
	t.Helper()
	k, err := membership.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func idOf(t testing.TB, key crypto.PrivKey) peer.ID {
	t.Helper()
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// party is an organisation whose host has its key.
type party struct {
	*membership.Key
	id     peer.ID
	signer *commons.Signer
}

func newParty(t testing.TB) party {
	t.Helper()
	k := newKey(t)
	s, err := commons.NewSigner(k.Private, nil)
	if err != nil {
		t.Fatal(err)
	}
	return party{k, idOf(t, k.Private), s}
}

// world is a commons and the circle that a party sees in it.
type world struct {
	t      *testing.T
	now    time.Time
	db     *commons.DB
	circle *membership.Circle
	// changed counts calls of Changed.
	changed int
}

func newWorld(t *testing.T, self *commons.Signer, founding []peer.ID, named ...peer.ID) *world {
	t.Helper()
	w := &world{t: t, now: noon}
	clock := func() time.Time { return w.now }
	var err error
	if w.db, err = commons.OpenDB(t.TempDir(), commons.Options{Now: clock}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.db.Close(); err != nil {
			t.Error(err)
		}
	})
	name := "demo"
	if founding == nil {
		name = ""
	}
	w.circle, err = membership.New(membership.Options{
		Name: name, Founding: founding, Named: named, Signer: self, Organisation: "self", Store: w.db, Now: clock,
		Publish: func(ctx context.Context, records []*commons.Record) error {
			_, err := w.db.PutAll(ctx, records, true)
			return err
		},
		Changed: func(context.Context) { w.changed++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// list stores a membership list that a party signed.
func (w *world) list(by party, revision uint64, members ...commons.Member) *commons.Record {
	w.t.Helper()
	slices.SortFunc(members, func(a, b commons.Member) int {
		if a.Organisation < b.Organisation {
			return -1
		}
		return 1
	})
	body, err := commons.MarshalBody(commons.EncodeMembership(&commons.Membership{Circle: "demo", Revision: revision, Members: members}))
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := by.signer.Seal(&karasuv1.Record{
		Topic: commons.ControlTopic().String(), Kind: karasuv1.RecordKind_RECORD_KIND_MEMBERSHIP, Key: commons.MembersKey("demo"),
		Revision: revision, Created: noon.Unix(), NotAfter: noon.Add(100 * 24 * time.Hour).Unix(), Body: body,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(r)
	return r
}

func (w *world) put(r *commons.Record) {
	w.t.Helper()
	if err := commons.ValidateBody(r); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.db.Put(w.t.Context(), r, false); err != nil {
		w.t.Fatal(err)
	}
	if err := w.circle.Update(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// knowledge is a record of a party under a key.
func (w *world) knowledge(by *commons.Signer, key string, created time.Time) *commons.Record {
	w.t.Helper()
	r, err := by.Seal(&karasuv1.Record{
		Topic: "/karasu/1/aws/spark/sort", Kind: 90, Key: key, Revision: 1, Created: created.Unix(), NotAfter: created.Add(24 * time.Hour).Unix(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) revision() uint64 {
	_, list, _ := w.circle.Members()
	if list == nil {
		return 0
	}
	return list.Revision
}

func (w *world) in(p party) bool {
	return w.circle.Admit(w.knowledge(p.signer, "k", noon)) == nil && w.circle.Permit(p.id)
}

func member(p party, r karasuv1.Role) commons.Member {
	return commons.Member{Organisation: p.id, Role: r}
}

const (
	plain = karasuv1.Role_ROLE_MEMBER
	hub   = karasuv1.Role_ROLE_HUB
	admin = karasuv1.Role_ROLE_ADMIN
)

func TestOpenNetworkKeepsNobodyOut(t *testing.T) {
	w := newWorld(t, newParty(t).signer, nil)
	if stranger := newParty(t); !w.in(stranger) || !w.circle.Open() {
		t.Error("an open network keeps a stranger out")
	}
	if err := w.circle.MayChange(); !errors.Is(err, membership.ErrNoCircle) {
		t.Errorf("change of an open network: error %v, want %v", err, membership.ErrNoCircle)
	}
}

func TestNewRefusesHalfACircle(t *testing.T) {
	p := newParty(t)
	for _, o := range []membership.Options{
		{Founding: []peer.ID{p.id}}, {Name: "demo"}, {Name: "a b", Founding: []peer.ID{p.id}}, {Name: "a/b", Founding: []peer.ID{p.id}},
	} {
		if _, err := membership.New(o); !errors.Is(err, membership.ErrOptions) {
			t.Errorf("%+v: error %v, want %v", o, err, membership.ErrOptions)
		}
	}
}

// TestListInForce: the founding admins have the last word, admins of the list speak as
// long as it says so, and nobody else does.
func TestListInForce(t *testing.T) {
	founder, deputy, a, b, stranger := newParty(t), newParty(t), newParty(t), newParty(t), newParty(t)
	w := newWorld(t, founder.signer, []peer.ID{founder.id})
	check := func(what string, revision uint64, in ...party) {
		t.Helper()
		if got := w.revision(); got != revision {
			t.Errorf("%s: list %d is in force, want %d", what, got, revision)
		}
		for _, p := range []party{deputy, a, b, stranger} {
			if want := slices.ContainsFunc(in, func(x party) bool { return x.id == p.id }); w.in(p) != want {
				t.Errorf("%s: member %v, want %v", what, !want, want)
			}
		}
		if !w.in(founder) {
			t.Errorf("%s: the founder is out", what)
		}
	}
	check("at first", 0)
	w.list(stranger, 9, member(stranger, admin))
	check("a stranger's list", 0)
	w.list(founder, 1, member(deputy, admin), member(a, plain))
	check("the founder's list", 1, deputy, a)
	w.list(a, 8, member(a, admin), member(stranger, plain))
	check("a plain member's list", 1, deputy, a)
	w.list(deputy, 2, member(deputy, admin), member(a, plain), member(b, hub))
	check("the deputy's list", 2, deputy, a, b)
	if hubs := w.circle.Hubs(); !slices.Equal(hubs, []peer.ID{b.id}) {
		t.Errorf("hubs %v, want %v", hubs, b.id)
	}
	w.list(founder, 2, member(a, plain))
	check("the founder leaves the deputy out", 2, a)
	w.list(deputy, 9, member(deputy, admin), member(stranger, plain))
	check("the deputy, who is none any more", 2, a)
	w.now = noon.Add(101 * 24 * time.Hour)
	if err := w.circle.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("after the end of the list", 0)
}

// TestHighestRevision: an admin who takes the highest revision there is has no list in
// force, and does not keep the others from changing it.
func TestHighestRevision(t *testing.T) {
	founder, deputy, a := newParty(t), newParty(t), newParty(t)
	w := newWorld(t, founder.signer, []peer.ID{founder.id})
	w.list(founder, 1, member(deputy, admin))
	w.list(deputy, 1+1<<32, member(deputy, admin))
	if got := w.revision(); got != 1+1<<32 {
		t.Errorf("list %d is in force, want the deputy's", got)
	}
	w.list(deputy, math.MaxUint64, member(deputy, admin))
	if got := w.revision(); got != 1 {
		t.Errorf("list %d is in force, want the founder's", got)
	}
	list, err := w.circle.Change(t.Context(), membership.Change{Organisation: a.id})
	if err != nil || list.Revision != 2 || !w.in(a) {
		t.Errorf("the founder's change: list %+v, error %v", list, err)
	}
}

// TestListsOfOtherCircles: a node does not hold on to lists that are none of its own.
func TestListsOfOtherCircles(t *testing.T) {
	founder, stranger := newParty(t), newParty(t)
	for name, founding := range map[string][]peer.ID{"a circle": {founder.id}, "an open network": nil} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, founder.signer, founding)
			body, err := commons.MarshalBody(commons.EncodeMembership(&commons.Membership{Circle: "other", Revision: 1,
				Members: []commons.Member{member(stranger, plain)}}))
			if err != nil {
				t.Fatal(err)
			}
			r, err := stranger.signer.Seal(&karasuv1.Record{
				Topic: commons.ControlTopic().String(), Kind: karasuv1.RecordKind_RECORD_KIND_MEMBERSHIP, Key: commons.MembersKey("other"),
				Revision: 1, Created: noon.Unix(), NotAfter: noon.Add(time.Hour).Unix(), Body: body,
			})
			if err != nil {
				t.Fatal(err)
			}
			w.put(r)
			if n := w.circle.HeldLists(); n != 0 {
				t.Errorf("%d lists are held in memory", n)
			}
		})
	}
}

// TestRemovedMember: nothing new is taken, what was there stays, and goes on request.
func TestRemovedMember(t *testing.T) {
	founder, a := newParty(t), newParty(t)
	w := newWorld(t, founder.signer, []peer.ID{founder.id}, a.id)
	if !w.circle.Permit(a.id) {
		t.Error("a host that the configuration names is kept out before anything is known of it")
	}
	w.list(founder, 1, member(a, plain))
	before, today := w.knowledge(a.signer, "before", noon.Add(-48*time.Hour)), w.knowledge(a.signer, "today", noon)
	// The first has expired by now, but for the test of Admit its time is all that counts.
	w.put(today)
	removed := commons.Member{Organisation: a.id, Role: plain, Removed: noon.Truncate(24 * time.Hour)}
	w.list(founder, 2, removed)
	if w.circle.Permit(a.id) {
		t.Error("a removed member's host is let in, as the configuration names it")
	}
	if err := w.circle.Admit(before); err != nil {
		t.Errorf("what it shared before is refused: %v", err)
	}
	if err := w.circle.Admit(today); !errors.Is(err, membership.ErrNotMember) || w.db.Has(today.ID) {
		t.Errorf("what it shared that day: error %v, held %v", err, w.db.Has(today.ID))
	}
	removed.Drop = true
	w.list(founder, 3, removed)
	if err := w.circle.Admit(before); !errors.Is(err, membership.ErrNotMember) {
		t.Errorf("to be dropped: error %v, want %v", err, membership.ErrNotMember)
	}
	w.list(founder, 4, member(a, plain))
	if !w.in(a) {
		t.Error("taken in again, it is out")
	}
}

// TestHostsOfMembers: a host is let in where a member's key says that it is its own, as
// long as the delegation holds.
func TestHostsOfMembers(t *testing.T) {
	founder, a, stranger := newParty(t), newParty(t), newParty(t)
	host, theirs := idOf(t, newKey(t).Private), idOf(t, newKey(t).Private)
	w := newWorld(t, founder.signer, []peer.ID{founder.id})
	w.list(founder, 1, member(a, hub))
	tell := func(k *membership.Key, id peer.ID, now time.Time) {
		t.Helper()
		g, err := k.Delegate(membership.Terms{Host: id, Valid: 48 * time.Hour}, "a", now)
		if err != nil {
			t.Fatal(err)
		}
		w.put(g.Record)
	}
	if w.circle.Permit(host) {
		t.Error("a host that nobody knows is let in")
	}
	tell(a.Key, host, noon)
	tell(stranger.Key, theirs, noon)
	if !w.circle.Permit(host) || w.circle.OrganisationOf(host) != a.id {
		t.Errorf("permitted %v, of %s; want true, %s", w.circle.Permit(host), w.circle.OrganisationOf(host), a.id)
	}
	if hubs := w.circle.Hubs(); !slices.Contains(hubs, host) || len(hubs) != 2 {
		t.Errorf("hubs %v, want %s and %s", hubs, host, a.id)
	}
	if w.circle.Permit(theirs) {
		t.Error("a stranger's host is let in")
	}
	tell(stranger.Key, host, noon)
	if !w.circle.Permit(host) {
		t.Error("a stranger's claim keeps a member's host out")
	}
	w.now = noon.Add(49 * time.Hour)
	if err := w.circle.Update(t.Context()); err != nil || w.circle.Permit(host) {
		t.Errorf("after the delegation's end the host is let in (%v)", err)
	}
	tell(a.Key, host, w.now)
	if !w.circle.Permit(host) {
		t.Error("with a new delegation the host is kept out")
	}
	rotated, err := a.Rotate(w.now, "a", w.now.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	w.put(rotated)
	if w.circle.Permit(host) {
		t.Error("after a rotation the host is let in")
	}
	tell(a.Key, host, w.now.Add(2*time.Second))
	if !w.circle.Permit(host) {
		t.Error("with a delegation of the new epoch the host is kept out")
	}
}

func TestChange(t *testing.T) {
	founder, a, b := newParty(t), newParty(t), newParty(t)
	w := newWorld(t, founder.signer, []peer.ID{founder.id})
	change := func(c membership.Change) error {
		_, err := w.circle.Change(t.Context(), c)
		return err
	}
	for _, c := range []struct {
		what string
		membership.Change
		want error
	}{
		{"add", membership.Change{Organisation: a.id, Name: "globex"}, nil},
		{"add with a role", membership.Change{Organisation: b.id, Role: admin}, nil},
		{"rename", membership.Change{Organisation: a.id, Name: "Globex"}, nil},
		{"name that hides", membership.Change{Organisation: a.id, Name: "a\u202eb"}, membership.ErrChange},
		{"drop without removing", membership.Change{Organisation: a.id, Drop: true}, membership.ErrChange},
		{"remove a founder", membership.Change{Organisation: founder.id, Remove: true}, membership.ErrChange},
		{"make a founder less", membership.Change{Organisation: founder.id, Role: plain}, membership.ErrChange},
		{"remove nobody", membership.Change{Organisation: newParty(t).id, Remove: true}, membership.ErrChange},
		{"remove", membership.Change{Organisation: a.id, Remove: true, Drop: true}, nil},
		{"name a founder", membership.Change{Organisation: founder.id, Name: "Acme"}, nil},
	} {
		before := w.revision()
		if err := change(c.Change); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: error %v, want %v", c.what, err, c.want)
		}
		if grown := w.revision() - before; grown != map[bool]uint64{true: 1, false: 0}[c.want == nil] {
			t.Errorf("%s: the list's revision grew by %d", c.what, grown)
		}
	}
	members, _, record := w.circle.Members()
	if len(members) != 3 || members[0].Name != "Acme" || !members[0].Founding || members[1].Organisation != b.id ||
		members[2].Name != "Globex" || !members[2].Drop || record.Author != founder.id {
		t.Errorf("members %+v", members)
	}
	if w.changed == 0 {
		t.Error("nobody was told")
	}
}

// TestWhoMayChange: an admin, with its own key or a delegation for that.
func TestWhoMayChange(t *testing.T) {
	founder, a := newParty(t), newParty(t)
	host := func(admin bool) *commons.Signer {
		key := newKey(t).Private
		g, err := founder.Delegate(membership.Terms{Host: idOf(t, key), Valid: 24 * time.Hour, Admin: admin}, "", noon)
		if err != nil {
			t.Fatal(err)
		}
		s, err := commons.NewSigner(key, g.Delegation)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, c := range map[string]struct {
		self *commons.Signer
		want error
	}{
		"the founder":               {founder.signer, nil},
		"its host that may":         {host(true), nil},
		"its host that may not":     {host(false), membership.ErrNotAdmin},
		"who is not even a member":  {newParty(t).signer, membership.ErrNotAdmin},
		"a host without delegation": {host(true).Own(), membership.ErrNotAdmin},
	} {
		w := newWorld(t, c.self, []peer.ID{founder.id})
		_, err := w.circle.Change(t.Context(), membership.Change{Organisation: a.id})
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
		if w.in(a) != (c.want == nil) {
			t.Errorf("%s: the new member is in: %v", name, w.in(a))
		}
	}
}

func TestRenew(t *testing.T) {
	founder, a := newParty(t), newParty(t)
	w := newWorld(t, founder.signer, []peer.ID{founder.id})
	if _, err := w.circle.Change(t.Context(), membership.Change{Organisation: a.id}); err != nil {
		t.Fatal(err)
	}
	renew := func(want uint64) {
		t.Helper()
		if err := w.circle.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.circle.Update(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.revision(); got != want {
			t.Errorf("list %d, want %d", got, want)
		}
	}
	renew(1)
	w.now = noon.Add(183 * 24 * time.Hour)
	renew(2)
	renew(2)
	_, _, record := w.circle.Members()
	if want := w.now.Add(364 * 24 * time.Hour); record.NotAfter.Before(want) {
		t.Errorf("the list ends on %s, want after %s", record.NotAfter, want)
	}
	if !w.in(a) {
		t.Error("the renewed list lacks a member")
	}
}
