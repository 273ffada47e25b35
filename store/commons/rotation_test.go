package commons_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// control signs a record on the control topic.
func control(t testing.TB, s *commons.Signer, kind karasuv1.RecordKind, key string, revision uint64, body proto.Message) *commons.Record {
	t.Helper()
	w := &karasuv1.Record{
		Topic: commons.ControlTopic().String(), Kind: kind, Key: key, Revision: revision,
		Created: noon.Unix(), NotAfter: noon.Add(7 * 24 * time.Hour).Unix(),
	}
	if body != nil {
		b, err := commons.MarshalBody(body)
		if err != nil {
			t.Fatal(err)
		}
		w.Body = b
	}
	r, err := s.Seal(w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func own(t testing.TB, key crypto.PrivKey) *commons.Signer {
	t.Helper()
	s, err := commons.NewSigner(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func rotation(t testing.TB, organisation crypto.PrivKey, revision, epoch uint64, since time.Time) *commons.Record {
	t.Helper()
	return control(t, own(t, organisation), karasuv1.RecordKind_RECORD_KIND_DELEGATION, commons.RotationKey, revision,
		commons.EncodeRotation(commons.Rotation{Epoch: epoch, Since: since}))
}

// TestRotationEndsDelegations: whatever the order of arrival, and after a restart, what
// hosts of earlier epochs created since then does not count.
func TestRotationEndsDelegations(t *testing.T) {
	organisation, other := newKey(t), newKey(t)
	in := func(epoch uint64) *commons.Signer {
		return delegate(t, organisation, newKey(t), func(d *commons.Delegation) {
			d.Epoch, d.Writer = epoch, commons.DefaultWriter(d.Host)
		})
	}
	at := func(created time.Time) func(*karasuv1.Record) {
		return func(w *karasuv1.Record) { w.Created, w.NotAfter = created.Unix(), noon.Add(72*time.Hour).Unix() }
	}
	since := noon.Add(24 * time.Hour)
	kept := []*commons.Record{
		sealBy(t, in(1), at(since.Add(-time.Second))), // before
		sealBy(t, in(2), at(since)),                   // of the new epoch
		seal(t, organisation, at(since)),              // by the organisation itself
		sealBy(t, delegate(t, other, newKey(t), nil), at(since)),
	}
	gone := []*commons.Record{sealBy(t, in(0), at(since)), sealBy(t, in(1), at(since.Add(time.Hour)))}
	rotated := rotation(t, organisation, 1, 2, since)
	records := append(append([]*commons.Record{rotated}, kept...), gone...)
	want := ids(append([]*commons.Record{rotated}, kept...)...)
	c := &clock{since.Add(2 * time.Hour)}
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 0))
		dir := t.TempDir()
		db := openDB(t, dir, c)
		order := slices.Clone(records)
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for part := range slices.Chunk(order, 1+random.IntN(len(order))) {
			if _, err := db.PutAll(t.Context(), part, false); err != nil {
				t.Fatal(err)
			}
		}
		sameIDs(t, "after a rotation", want, ids(all(t, db)...))
		for _, r := range gone {
			if !db.Ended(r) || db.Has(r.ID) {
				t.Fatalf("record of epoch %d counts", r.Delegation.Epoch)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		again := openDB(t, dir, c)
		put(t, again, gone[0], false, commons.Stale)
		sameIDs(t, "after a restart", want, ids(all(t, again)...))
	}
}

// TestTwoRotationsOfOneRevision: the stricter of both counts, as neither may be used to
// hide the other.
func TestTwoRotationsOfOneRevision(t *testing.T) {
	organisation := newKey(t)
	db := openDB(t, t.TempDir(), &clock{noon})
	put(t, db, rotation(t, organisation, 1, 1, noon), false, commons.Stored)
	put(t, db, rotation(t, organisation, 1, 5, noon.Add(time.Hour)), false, commons.Equivocation)
	got, ok := db.Rotation(idOf(t, organisation))
	if want := (commons.Rotation{Epoch: 5, Since: noon}); !ok || got != want {
		t.Errorf("rotation %+v, want %+v", got, want)
	}
}

func TestDropSince(t *testing.T) {
	a, b := newKey(t), newKey(t)
	db := openDB(t, t.TempDir(), &clock{noon})
	early := seal(t, a, func(w *karasuv1.Record) { w.Created -= 3600 })
	late := seal(t, a, func(w *karasuv1.Record) { w.Kind, w.Key = 90, "late" })
	others := seal(t, b, nil)
	for _, r := range []*commons.Record{early, late, others} {
		put(t, db, r, false, commons.Stored)
	}
	mine := seal(t, a, func(w *karasuv1.Record) { w.Kind, w.Key = 90, "mine" })
	put(t, db, mine, true, commons.Stored)
	if n, err := db.DropSince(map[peer.ID]time.Time{idOf(t, a): noon}); n != 1 || err != nil {
		t.Fatalf("dropped %d records (%v), want 1", n, err)
	}
	sameIDs(t, "left", ids(early, others, mine), ids(all(t, db)...))
	if n, err := db.DropSince(map[peer.ID]time.Time{idOf(t, a): {}}); n != 1 || err != nil {
		t.Fatalf("dropped %d records (%v), want 1", n, err)
	}
	sameIDs(t, "left", ids(others, mine), ids(all(t, db)...))
}

// TestControlTopic: who may say what there.
func TestControlTopic(t *testing.T) {
	const (
		keys       = karasuv1.RecordKind_RECORD_KIND_DELEGATION
		membership = karasuv1.RecordKind_RECORD_KIND_MEMBERSHIP
		retraction = karasuv1.RecordKind_RECORD_KIND_RETRACTION
	)
	organisation, host := newKey(t), newKey(t)
	self, plain := own(t, organisation), delegate(t, organisation, host, nil)
	admin := delegate(t, organisation, host, func(d *commons.Delegation) { d.Admin = true })
	told := commons.EncodeHost(plain.Delegation())
	foreign := commons.EncodeHost(delegate(t, newKey(t), host, nil).Delegation())
	hostKey := commons.HostKey(idOf(t, host))
	rotated := commons.EncodeRotation(commons.Rotation{Epoch: 1, Since: noon})
	list := func(change func(*karasuv1.Membership)) *karasuv1.Membership {
		m := commons.EncodeMembership(&commons.Membership{Circle: "demo", Revision: 1, Members: []commons.Member{
			{Organisation: idOf(t, organisation), Name: "acme", Role: karasuv1.Role_ROLE_ADMIN},
		}})
		if change != nil {
			change(m)
		}
		return m
	}
	for _, c := range []struct {
		name string
		r    *commons.Record
		ok   bool
	}{
		{"delegation by the organisation", control(t, self, keys, hostKey, 1, told), true},
		{"delegation by its host", control(t, admin, keys, hostKey, 1, told), false},
		{"delegation by another organisation", control(t, self, keys, hostKey, 1, foreign), false},
		{"delegation under another key", control(t, self, keys, commons.HostKey("x"), 1, told), false},
		{"rotation by the organisation", control(t, self, keys, commons.RotationKey, 1, rotated), true},
		{"rotation by a host", control(t, admin, keys, commons.RotationKey, 1, rotated), false},
		{"rotation without an epoch", control(t, self, keys, commons.RotationKey, 1, commons.EncodeRotation(commons.Rotation{Since: noon})), false},
		{"rotation under a host's key", control(t, self, keys, hostKey, 1, rotated), false},
		{"rotation withdrawn by a host", control(t, admin, retraction, commons.RotationKey, 2, nil), false},
		{"rotation withdrawn by the organisation", control(t, self, retraction, commons.RotationKey, 2, nil), true},
		{"neither", control(t, self, keys, hostKey, 1, nil), false},
		{"another kind under a host's key", control(t, self, 90, hostKey, 1, nil), false},
		{"list by the organisation", control(t, self, membership, commons.MembersKey("demo"), 1, list(nil)), true},
		{"list by a host that may", control(t, admin, membership, commons.MembersKey("demo"), 1, list(nil)), true},
		{"list by a host that may not", control(t, plain, membership, commons.MembersKey("demo"), 1, list(nil)), false},
		{"list withdrawn by a host that may not", control(t, plain, retraction, commons.MembersKey("demo"), 1, nil), false},
		{"list of another circle", control(t, self, membership, commons.MembersKey("other"), 1, list(nil)), false},
		{"list without a revision", control(t, self, membership, commons.MembersKey("demo"), 1, list(func(m *karasuv1.Membership) { m.Revision = 0 })), false},
		{"list without a role", control(t, self, membership, commons.MembersKey("demo"), 1, list(func(m *karasuv1.Membership) { m.Members[0].Role = 0 })), false},
		{"list with a member twice", control(t, self, membership, commons.MembersKey("demo"), 1, list(func(m *karasuv1.Membership) {
			m.Members = append(m.Members, m.Members[0])
		})), false},
		{"list with a name that hides", control(t, self, membership, commons.MembersKey("demo"), 1, list(func(m *karasuv1.Membership) { m.Members[0].Name = "a\u202eb" })), false},
		{"list that drops a member", control(t, self, membership, commons.MembersKey("demo"), 1, list(func(m *karasuv1.Membership) { m.Members[0].Drop = true })), false},
		{"list with no id", control(t, self, membership, commons.MembersKey("demo"), 1, list(func(m *karasuv1.Membership) { m.Members[0].Organisation = nil })), false},
		{"a summary", seal(t, organisation, func(w *karasuv1.Record) { w.Topic = commons.ControlTopic().String() }), false},
		{"a list elsewhere", seal(t, organisation, func(w *karasuv1.Record) { w.Kind = membership }), false},
		{"a kind of tomorrow", control(t, plain, 90, "anything", 1, nil), true},
	} {
		if err := commons.ValidateBody(c.r); (err == nil) != c.ok {
			t.Errorf("%s: error %v, want one: %v", c.name, err, !c.ok)
		}
	}
}

func FuzzDecodeMembership(f *testing.F) {
	key := newKey(f)
	good, err := commons.MarshalBody(commons.EncodeMembership(&commons.Membership{Circle: "demo", Revision: 1, Members: []commons.Member{
		{Organisation: idOf(f, key), Role: karasuv1.Role_ROLE_HUB, Removed: noon, Drop: true},
	}}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		l, err := commons.DecodeMembership(&commons.Record{Kind: karasuv1.RecordKind_RECORD_KIND_MEMBERSHIP, Body: body})
		if err == nil && (!commons.ValidCircle(l.Circle) || l.Revision < 1 || len(l.Members) > commons.MaxMembers) {
			t.Fatalf("accepted %+v", l)
		}
	})
}

func FuzzDecodeOrganisationKeys(f *testing.F) {
	organisation := newKey(f)
	author := idOf(f, organisation)
	for _, m := range []proto.Message{
		commons.EncodeHost(delegate(f, organisation, newKey(f), nil).Delegation()),
		commons.EncodeRotation(commons.Rotation{Epoch: 1, Since: noon}),
	} {
		b, err := commons.MarshalBody(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := &commons.Record{Kind: karasuv1.RecordKind_RECORD_KIND_DELEGATION, Author: author, Body: body}
		if d, err := commons.DecodeHost(r); err == nil && d.Organisation != author {
			t.Fatalf("accepted %+v", d)
		}
		if x, err := commons.DecodeRotation(r); err == nil && x.Epoch < 1 {
			t.Fatalf("accepted %+v", x)
		}
	})
}
