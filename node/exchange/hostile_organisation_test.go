package exchange

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// signerOf lets a host sign for an organisation for a day from now on.
func signerOf(t testing.TB, organisation, host crypto.PrivKey, change func(*commons.Delegation)) *commons.Signer {
	t.Helper()
	id, err := peer.IDFromPrivateKey(host)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	d := commons.Delegation{Host: id, Writer: commons.DefaultWriter(id), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(48 * time.Hour)}
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

func idOfKey(t testing.TB, key crypto.PrivKey) peer.ID {
	t.Helper()
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestHostileAuthors: a peer that says it is somebody else's, whose delegation ended, or
// that is in no circle. Nothing of it is stored or travels, and the reason is counted.
func TestHostileAuthors(t *testing.T) {
	organisation, host, thief, outsider := newKey(t), newKey(t), newKey(t), newKey(t)
	var members sync.Map
	members.Store(idOfKey(t, organisation), true)
	circle := func(o *Options) {
		o.Admit = func(r *commons.Record) error {
			if _, in := members.Load(r.Author); !in {
				return fmt.Errorf("organisation %s is not in the circle", r.Author)
			}
			return nil
		}
	}
	good := signerOf(t, organisation, host, nil)
	under := func(delegation []byte, change func(*karasuv1.Record)) *karasuv1.Record {
		r := draft(t, pagerank, 1, change)
		r.Delegation = delegation
		return r
	}
	foreign := signerOf(t, thief, host, nil).Delegation().Envelope // the thief's own organisation
	hostile := func(n *commons.Signer, kind karasuv1.RecordKind, key string, body proto.Message) []byte {
		b, err := commons.MarshalBody(body)
		if err != nil {
			t.Fatal(err)
		}
		r := draft(t, pagerank, 0, func(r *karasuv1.Record) {
			r.Topic, r.Kind, r.Key, r.Body = commons.ControlTopic().String(), kind, key, b
		})
		sealed, err := n.Seal(r)
		if err != nil {
			t.Fatal(err)
		}
		return sealed.Envelope
	}
	cases := []struct {
		name   string
		topic  string
		data   []byte
		reason Reason
	}{
		{"a delegation of another host", pagerank.String(), spoiled(t, thief, under(good.Delegation().Envelope, nil)), Undelegated},
		{"a delegation that is none", pagerank.String(), spoiled(t, host, under([]byte("x"), nil)), Malformed},
		{"beyond the delegation's end", pagerank.String(), spoiled(t, host, under(good.Delegation().Envelope, func(r *karasuv1.Record) {
			r.NotAfter = time.Now().Add(72 * time.Hour).Unix()
		})), Undelegated},
		{"a delegation by an organisation of its own", pagerank.String(), spoiled(t, host, under(foreign, nil)), NotMember},
		{"an organisation on no list", pagerank.String(), seal(t, outsider, pagerank, 2, nil).Envelope, NotMember},
		{"a host that tells of rotations", commons.ControlTopic().String(), hostile(good, karasuv1.RecordKind_RECORD_KIND_DELEGATION, commons.RotationKey,
			commons.EncodeRotation(commons.Rotation{Epoch: 9, Since: time.Now()})), Undelegated},
		{"a host that signs a list", commons.ControlTopic().String(), hostile(good, karasuv1.RecordKind_RECORD_KIND_MEMBERSHIP, commons.MembersKey("demo"),
			commons.EncodeMembership(&commons.Membership{Circle: "demo", Revision: 9})), Undelegated},
	}
	a, b := startNode(t, circle), startNode(t, circle)
	members.Store(a.net.ID(), true)
	members.Store(b.net.ID(), true)
	a.connect(b)
	first := a.publish(pagerank, 0)
	eventually(t, "B takes part", func() bool { return b.holds(first) && len(b.ex.Topics()) == 1 })
	m := newHostile(t)
	m.connect(b)
	topics := map[string]func([]byte){}
	for _, name := range []string{pagerank.String(), commons.ControlTopic().String()} {
		tp := m.join(name)
		topics[name] = func(data []byte) { m.publish(tp, data) }
	}
	for _, c := range cases {
		before := b.ex.Stats().Rejected[c.reason]
		topics[c.topic](c.data)
		eventually(t, c.name+" is counted as "+string(c.reason), func() bool { return b.ex.Stats().Rejected[c.reason] > before })
	}
	entries, err := b.db.Entries(nil)
	if err != nil || len(entries) != 1 {
		t.Errorf("B holds %d records (%v), want the honest one", len(entries), err)
	}
	after, err := good.Seal(draft(t, pagerank, 3, nil))
	if err != nil {
		t.Fatal(err)
	}
	topics[pagerank.String()](after.Envelope)
	eventually(t, "what a host may sign passes, also to A", func() bool { return b.holds(after) && a.holds(after) })
	if n := a.ex.Stats().Rejected[Undelegated] + a.ex.Stats().Rejected[NotMember]; n > 0 {
		t.Errorf("A saw %d of what B refused", n)
	}
}

// TestEndedDelegation: once an organisation has rotated, what its hosts of before create
// is refused, and what they created is gone everywhere.
func TestEndedDelegation(t *testing.T) {
	a, b := startNode(t, nil), startNode(t, nil)
	a.connect(b)
	connected(t, a, b)
	organisation, host := newKey(t), newKey(t)
	s := signerOf(t, organisation, host, nil)
	stolen := func(i int) *commons.Record {
		r, err := s.Seal(draft(t, pagerank, i, nil))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	before := stolen(1)
	if fresh, err := a.ex.Introduce(t.Context(), before); !fresh || err != nil {
		t.Fatal(fresh, err)
	}
	eventually(t, "B has the host's record", func() bool { return b.holds(before) })
	body, err := commons.MarshalBody(commons.EncodeRotation(commons.Rotation{Epoch: 1, Since: time.Unix(0, 0)}))
	if err != nil {
		t.Fatal(err)
	}
	rotated := seal(t, organisation, commons.ControlTopic(), 0, func(r *karasuv1.Record) {
		r.Kind, r.Key, r.Body = karasuv1.RecordKind_RECORD_KIND_DELEGATION, commons.RotationKey, body
	})
	if fresh, err := a.ex.Introduce(t.Context(), rotated); !fresh || err != nil {
		t.Fatal(fresh, err)
	}
	eventually(t, "the host's record is gone", func() bool {
		return !a.holds(before) && b.holds(rotated) && !b.holds(before)
	})
	_, err = b.ex.Introduce(t.Context(), stolen(2))
	var refusal *RefusalError
	if !errors.As(err, &refusal) || refusal.Reason != Ended || refusal.Verdict != Ignore {
		t.Errorf("error %v, want %s", err, Ended)
	}
	if fresh, err := b.ex.Introduce(t.Context(), rotated); fresh || err != nil {
		t.Errorf("introduced twice: new %v, error %v", fresh, err)
	}
}

// TestTwoFacedAuthor: an author that tells different nodes different things under one
// revision is found out by all of them, and none uses either.
func TestTwoFacedAuthor(t *testing.T) {
	a, b := startNode(t, nil), startNode(t, nil)
	liar := newKey(t)
	says := func(n int) *commons.Record {
		return seal(t, liar, pagerank, 1, func(r *karasuv1.Record) {
			r.Organisation = "liar"
			r.Body = draft(t, pagerank, 1+64*n, nil).Body
			r.Kind = 90
		})
	}
	for i, n := range []*node{a, b} {
		m := newHostile(t)
		m.connect(n)
		n.publish(pagerank, 10+i)
		one := says(i)
		tp := m.join(pagerank.String())
		m.publish(tp, one.Envelope)
		eventually(t, "each believes what it is told", func() bool { return n.holds(one) })
	}
	a.connect(b)
	id := idOfKey(t, liar)
	for _, n := range []*node{a, b} {
		eventually(t, "both hold the proof and use neither", func() bool {
			author := n.db.Authors()[id]
			return author.Equivocations == 1 && author.Usable == 0 && author.Records == 2
		})
	}
	// A third body is no news.
	third := says(3)
	if _, err := a.ex.Introduce(t.Context(), third); err != nil {
		t.Fatal(err)
	}
	if n := a.db.Authors()[id].Records; n != 2 {
		t.Errorf("%d bodies are kept, want 2", n)
	}
}

// TestHostsOfOneOrganisation: what another host of the organisation shares is received,
// counts on the same quota, and never competes with this one's.
func TestHostsOfOneOrganisation(t *testing.T) {
	organisation := newKey(t)
	var nodes []*node
	var signers []*commons.Signer
	for range 2 {
		n := startNode(t, func(o *Options) { o.Quotas.RecordsPerAuthor = 3 })
		s := signerOf(t, organisation, n.key, nil)
		n.stopAndChange(func(o *Options) { o.Self = s.Writer() })
		nodes, signers = append(nodes, n), append(signers, s)
	}
	nodes[0].connect(nodes[1])
	connected(t, nodes[0], nodes[1])
	publish := func(i, workload int) (*commons.Record, error) {
		r, err := signers[i].Seal(draft(t, pagerank, workload, func(r *karasuv1.Record) { r.Organisation = fmt.Sprint("host ", i) }))
		if err != nil {
			t.Fatal(err)
		}
		return r, nodes[i].ex.Publish(t.Context(), r)
	}
	var records []*commons.Record
	for i := range nodes {
		r, err := publish(i, 1) // one workload, one key, one revision
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	for i, n := range nodes {
		eventually(t, "both have both", func() bool { return n.holds(records...) })
		if !n.db.IsOwn(records[i].ID) || n.db.IsOwn(records[1-i].ID) {
			t.Errorf("node %d: own %v, other's own %v", i, n.db.IsOwn(records[i].ID), n.db.IsOwn(records[1-i].ID))
		}
		if a := n.db.Authors()[idOfKey(t, organisation)]; a.Usable != 2 || a.Equivocations != 0 {
			t.Errorf("node %d: %d usable records, %d equivocations; want 2, 0", i, a.Usable, a.Equivocations)
		}
	}
	third, err := publish(0, 2)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the third fits", func() bool { return nodes[1].holds(third) })
	if _, err := publish(1, 3); err == nil {
		t.Error("a fourth record of the organisation is within a quota of three")
	}
}

// stopAndChange starts the node's exchange anew with other options.
func (n *node) stopAndChange(change func(*Options)) {
	n.t.Helper()
	n.stop()
	change(&n.opts)
	n.start()
}
