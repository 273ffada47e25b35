package commons_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

func idOf(t testing.TB, key crypto.PrivKey) peer.ID {
	t.Helper()
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// delegate lets a host sign for an organisation from noon on for a week.
func delegate(t testing.TB, organisation, host crypto.PrivKey, change func(*commons.Delegation)) *commons.Signer {
	t.Helper()
	d := commons.Delegation{Host: idOf(t, host), Writer: "a", NotBefore: noon, NotAfter: noon.Add(7 * 24 * time.Hour)}
	if change != nil {
		change(&d)
	}
	sealed, err := commons.SealDelegation(organisation, d)
	if err != nil {
		t.Fatal(err)
	}
	s, err := commons.NewSigner(host, sealed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sealBy(t testing.TB, s *commons.Signer, change func(*karasuv1.Record)) *commons.Record {
	t.Helper()
	w := wireRecord()
	if change != nil {
		change(w)
	}
	r, err := s.Seal(w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDelegatedRecordIsTheOrganisations(t *testing.T) {
	organisation, host := newKey(t), newKey(t)
	s := delegate(t, organisation, host, func(d *commons.Delegation) { d.Epoch, d.Admin = 3, true })
	r, err := commons.Open(bytes.Clone(sealBy(t, s, nil).Envelope))
	if err != nil {
		t.Fatal(err)
	}
	want := commons.Writer{Organisation: idOf(t, organisation), Name: "a"}
	if r.Author != want.Organisation || r.Host != idOf(t, host) || r.By() != want || s.Writer() != want {
		t.Errorf("author %s, host %s, by %v; want author %s and host %s", r.Author, r.Host, r.By(), want.Organisation, idOf(t, host))
	}
	if d := r.Delegation; d == nil || d.Epoch != 3 || !d.Admin || !d.NotBefore.Equal(noon) {
		t.Errorf("delegation %+v", d)
	}
	if own := sealBy(t, s.Own(), nil); own.Author != idOf(t, host) || own.Delegation != nil {
		t.Errorf("without the delegation, the author is %s", own.Author)
	}
}

func TestSignerRefusesAnotherHostsDelegation(t *testing.T) {
	d, err := commons.SealDelegation(newKey(t), commons.Delegation{Host: idOf(t, newKey(t)), NotBefore: noon, NotAfter: noon})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := commons.NewSigner(newKey(t), d); !errors.Is(err, commons.ErrDelegation) {
		t.Errorf("error %v, want %v", err, commons.ErrDelegation)
	}
}

// TestDelegationBoundsRecords: what is signed outside of the delegation's time, by
// another host or under a spoiled delegation is nobody's.
func TestDelegationBoundsRecords(t *testing.T) {
	organisation, host, thief := newKey(t), newKey(t), newKey(t)
	envelope := delegate(t, organisation, host, nil).Delegation().Envelope
	forged := bytes.Clone(envelope)
	forged[len(forged)-1] ^= 1
	day := int64(24 * 60 * 60)
	for _, c := range []struct {
		name       string
		key        crypto.PrivKey
		delegation []byte
		change     func(*karasuv1.Record)
		want       error
	}{
		{"as it should be", host, envelope, nil, nil},
		{"by another host", thief, envelope, nil, commons.ErrDelegation},
		{"by the organisation itself", organisation, envelope, nil, commons.ErrDelegation},
		{"forged", host, forged, nil, commons.ErrDelegation},
		{"no delegation", host, []byte("x"), nil, commons.ErrMalformed},
		{"with something unsigned", host, protowire.AppendTag(bytes.Clone(envelope), 99, protowire.VarintType), nil, commons.ErrMalformed},
		{"too large", host, make([]byte, commons.MaxDelegation+1), nil, commons.ErrMalformed},
		{"on its first day, rounded down", host, envelope, func(w *karasuv1.Record) { w.Created = noon.Unix() / day * day }, nil},
		{"before its first day", host, envelope, func(w *karasuv1.Record) { w.Created = noon.Unix()/day*day - 1 }, commons.ErrDelegation},
		{"until its end", host, envelope, func(w *karasuv1.Record) { w.NotAfter = noon.Unix() + 7*day }, nil},
		{"beyond its end", host, envelope, func(w *karasuv1.Record) { w.NotAfter = noon.Unix() + 7*day + 1 }, commons.ErrDelegation},
		{"after its end", host, envelope, func(w *karasuv1.Record) { w.Created, w.NotAfter = noon.Unix()+8*day, noon.Unix()+9*day }, commons.ErrDelegation},
		{"a retraction may outlive it", host, envelope, func(w *karasuv1.Record) {
			w.Kind, w.Body, w.NotAfter = karasuv1.RecordKind_RECORD_KIND_RETRACTION, nil, noon.Unix()+365*day
		}, nil},
	} {
		w := wireRecord()
		w.Major, w.Delegation = commons.Major, c.delegation
		if c.change != nil {
			c.change(w)
		}
		b, err := proto.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		_, err = commons.Open(sign(t, c.key, payload{commons.Domain, commons.PayloadType, b}))
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
}

func TestOpenDelegationRefuses(t *testing.T) {
	organisation, host := newKey(t), idOf(t, newKey(t))
	for _, c := range []struct{ name, payloadType, want string }{
		{"another type", "/karasu/delegation/2", "payload type"},
		{"a record's type", commons.PayloadType, "payload type"},
	} {
		b := sign(t, organisation, payload{commons.DelegationDomain, c.payloadType, nil})
		if _, err := commons.OpenDelegation(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := commons.OpenDelegation(sign(t, organisation, payload{commons.Domain, commons.DelegationPayloadType, nil})); !errors.Is(err, commons.ErrDelegation) {
		t.Errorf("another domain: error %v, want %v", err, commons.ErrDelegation)
	}
	for _, c := range []struct {
		d    commons.Delegation
		want string
	}{
		{commons.Delegation{Host: idOf(t, organisation), NotBefore: noon, NotAfter: noon}, "own key needs none"},
		{commons.Delegation{Host: host, Writer: "A b", NotBefore: noon, NotAfter: noon}, "writer must be"},
		{commons.Delegation{Host: host, Writer: strings.Repeat("a", 33), NotBefore: noon, NotAfter: noon}, "writer must be"},
		{commons.Delegation{Host: host, NotBefore: noon, NotAfter: noon.Add(-time.Second)}, "before not_before"},
		{commons.Delegation{Host: host, NotBefore: noon, NotAfter: noon.Add(commons.MaxDelegated + time.Second)}, "more than 366 days"},
		{commons.Delegation{Host: host, NotBefore: time.Unix(0, 0), NotAfter: noon}, "between the years"},
		{commons.Delegation{Host: "short", NotBefore: noon, NotAfter: noon}, "host of a delegation"},
	} {
		if _, err := commons.SealDelegation(organisation, c.d); !errors.Is(err, commons.ErrMalformed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.d, err, c.want)
		}
	}
}

// TestWritersDoNotCompete: two hosts of one organisation may use one key and revision,
// and a host that takes another's name over goes on where that was.
func TestWritersDoNotCompete(t *testing.T) {
	dir, c := t.TempDir(), &clock{noon}
	db := openDB(t, dir, c)
	organisation := newKey(t)
	named := func(name string) *commons.Signer {
		return delegate(t, organisation, newKey(t), func(d *commons.Delegation) { d.Writer = name })
	}
	body := func(n int) func(*karasuv1.Record) {
		return func(w *karasuv1.Record) { w.Kind, w.Body = 90, []byte{byte(n)} }
	}
	own, first, second := seal(t, organisation, body(1)), sealBy(t, named("a"), body(2)), sealBy(t, named("b"), body(3))
	for _, r := range []*commons.Record{own, first, second} {
		put(t, db, r, false, commons.Stored)
	}
	sameIDs(t, "all writers", ids(own, first, second), ids(all(t, db)...))
	if a := db.Authors()[idOf(t, organisation)]; a.Usable != 3 || a.Equivocations != 0 {
		t.Errorf("the organisation has %d usable records and %d equivocations, want 3 and 0", a.Usable, a.Equivocations)
	}
	next := named("a")
	if got := db.NextRevision(next.Writer(), first.Topic, first.Key); got != 2 {
		t.Errorf("the next host called a signs revision %d, want 2", got)
	}
	put(t, db, sealBy(t, next, func(w *karasuv1.Record) { body(4)(w); w.Revision = 2 }), true, commons.Stored)
	if n := len(all(t, db)); n != 3 {
		t.Errorf("%d records are usable, want 3", n)
	}
	put(t, db, sealBy(t, named("a"), func(w *karasuv1.Record) { body(5)(w); w.Revision = 2 }), false, commons.Equivocation)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := openDB(t, dir, c).NextRevision(next.Writer(), first.Topic, first.Key); got != 3 {
		t.Errorf("after a restart the next revision is %d, want 3", got)
	}
}

func FuzzOpenDelegation(f *testing.F) {
	organisation := newKey(f)
	f.Add(delegate(f, organisation, newKey(f), nil).Delegation().Envelope)
	f.Add(delegate(f, organisation, newKey(f), func(d *commons.Delegation) { d.Writer, d.Admin, d.Epoch = "", true, 7 }).Delegation().Envelope)
	f.Add(sign(f, organisation, payload{commons.DelegationDomain, commons.DelegationPayloadType, []byte("x")}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := commons.OpenDelegation(b)
		if err != nil {
			return
		}
		if !commons.ValidWriter(d.Writer) || d.NotAfter.Before(d.NotBefore) || d.Host == d.Organisation || len(b) > commons.MaxDelegation {
			t.Fatalf("accepted %+v", d)
		}
	})
}
