package exchange

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// startAnnouncer starts a node that announces its topics at once.
func startAnnouncer(t *testing.T, organisation string, patterns ...string) *node {
	t.Helper()
	n := &node{t: t, key: newKey(t), dir: t.TempDir()}
	n.opts = Options{SyncInterval: time.Hour, AnnounceInterval: 50 * time.Millisecond, Patterns: patterns}
	n.opts.Seal = func(r *karasuv1.Record) (*commons.Record, error) {
		topic, err := model.ParseTopic(r.GetTopic())
		if err != nil {
			return nil, err
		}
		r.Revision = n.db.NextRevision(commons.Writer{Organisation: n.net.ID()}, topic, r.GetKey())
		r.Organisation = organisation
		return commons.Seal(n.key, r)
	}
	n.start()
	t.Cleanup(n.stop)
	return n
}

// TestAnnouncements: a topic becomes known to a node that is not connected to anybody
// who serves it, which takes part in it from then on.
func TestAnnouncements(t *testing.T) {
	serves := startAnnouncer(t, "serves")
	between := startAnnouncer(t, "between", "gcp/*/*")
	wants := startAnnouncer(t, "wants", "aws-ec2/spark/*")
	serves.connect(between)
	between.connect(wants)
	first := serves.publish(pagerank, 1)
	serves.publish(pagerank, 2)
	serves.publish(wordsort, 3)

	want := []KnownTopic{
		{Topic: pagerank, Nodes: 1, Records: 2, Organisations: []string{"serves"}, Joined: true},
		// The node in between holds what matches its pattern, too.
		{Topic: wordsort, Nodes: 2, Records: 1, Organisations: []string{"between", "serves"}},
	}
	eventually(t, "the topics are known, and the wanted one is joined", func() bool { return cmp.Equal(want, wants.ex.Known()) })
	if got := wants.ex.Topics(); !slices.Equal(got, []model.Topic{pagerank}) {
		t.Errorf("takes part in %v", got)
	}
	if wants.holds(first) || between.holds(first) {
		t.Error("the record came although nobody in between wants it")
	}
	wants.connect(serves)
	eventually(t, "the record comes from who serves it", func() bool { return wants.holds(first) })
	eventually(t, "the node announces what it serves now", func() bool {
		k := serves.ex.Known()
		return len(k) == 2 && k[0].Nodes == 2 && slices.Equal(k[0].Organisations, []string{"serves", "wants"})
	})
	// Announcements survive a restart, and are no reason for new ones.
	before := wants.db.NextRevision(commons.Writer{Organisation: wants.net.ID()}, commons.ControlTopic(), commons.AnnouncementKey)
	wants.stop()
	wants.start()
	t.Cleanup(wants.stop)
	eventually(t, "the topics are known after a restart", func() bool { return len(wants.ex.Known()) == 2 })
	time.Sleep(5 * wants.opts.AnnounceInterval)
	if after := wants.db.NextRevision(commons.Writer{Organisation: wants.net.ID()}, commons.ControlTopic(), commons.AnnouncementKey); after != before {
		t.Errorf("announced anew with nothing new: revision %d, then %d", before, after)
	}
}

// said signs an announcement of so many topics.
func said(t testing.TB, key crypto.PrivKey, revision uint64, topics ...string) *commons.Record {
	t.Helper()
	var m karasuv1.Announcement
	slices.Sort(topics)
	for _, s := range topics {
		m.Topics = append(m.Topics, &karasuv1.ServedTopic{Name: "/karasu/1/" + s, Records: 2_000_000_000, Organisations: 1_000_000})
	}
	body, err := proto.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	r, err := commons.Seal(key, &karasuv1.Record{
		Topic: commons.ControlTopic().String(), Kind: karasuv1.RecordKind_RECORD_KIND_ANNOUNCEMENT, Key: commons.AnnouncementKey,
		Revision: revision, Created: now.Unix(), NotAfter: now.Add(time.Hour).Unix(), Organisation: strings.Repeat("x", 64), Body: body,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestHostileAnnouncements: who announces what nobody has gets a node to take part in a
// few topics, and none of those that its user asked for is kept out; once it is silent
// they are left.
func TestHostileAnnouncements(t *testing.T) {
	b := startNode(t, func(o *Options) { o.MaxTopics, o.AnnounceInterval = 128, 50*time.Millisecond })
	m := newHostile(t)
	m.connect(b)
	tp := m.join(commons.ControlTopic().String())
	invented := make([]string, commons.MaxServed)
	for i := range invented {
		invented[i] = fmt.Sprintf("x/y/z%d", i)
	}
	liars := []crypto.PrivKey{newKey(t), newKey(t), newKey(t), newKey(t)}
	for i, key := range liars {
		own := make([]string, len(invented))
		for j, s := range invented {
			own[j] = fmt.Sprintf("%s-%d", s, i)
		}
		m.publish(tp, said(t, key, 1, own...).Envelope)
	}
	eventually(t, "all are heard", func() bool { return len(b.ex.Known()) == len(liars)*commons.MaxServed })
	eventually(t, "the limit is reached and counted", func() bool {
		return len(b.ex.Topics()) == 2*maxFollowed && b.ex.Stats().Rejected[TopicLimit] > 0
	})
	for i := range b.opts.MaxTopics {
		if err := b.ex.Join(model.Topic{Infrastructure: "own", Framework: "own", Algorithm: fmt.Sprint(i)}); err != nil {
			t.Fatalf("the user's topic %d has no room: %v", i, err)
		}
	}
	a := startNode(t, nil)
	a.connect(b)
	r := a.publish(pagerank, 1)
	eventually(t, "an honest topic is joined", func() bool { return b.holds(r) && slices.Contains(b.ex.Topics(), pagerank) })

	for i, key := range liars {
		m.publish(tp, said(t, key, uint64(2+i)).Envelope)
	}
	eventually(t, "invented topics are left", func() bool { return len(b.ex.Topics()) == b.opts.MaxTopics+1 })
	// What is malformed is refused and counted against the sender.
	bad := seal(t, liars[0], pagerank, 1, func(r *karasuv1.Record) {
		r.Topic, r.Kind, r.Key, r.Body = commons.ControlTopic().String(), karasuv1.RecordKind_RECORD_KIND_ANNOUNCEMENT, commons.AnnouncementKey, []byte{0xff}
		r.Revision = 99
	})
	m.publish(tp, bad.Envelope)
	eventually(t, "a malformed one is refused", func() bool { return b.ex.Stats().Rejected[BadBody] == 1 })
}

// TestHeardIsBounded: what is remembered of the announcements of one organisation, and of
// all together, is bounded; their envelopes are not kept.
func TestHeardIsBounded(t *testing.T) {
	author := func(i int) peer.ID { return peer.ID(fmt.Sprint("author ", i)) }
	full := func(i int) *heard {
		return &heard{&commons.Record{Author: author(i)}, make([]commons.Served, commons.MaxServed)}
	}
	size := heardSize{of: make(map[peer.ID]int)}
	for i := 0; size.fits(full(i)); i++ {
		for n := 0; size.fits(full(i)); n++ {
			if n == 4 {
				t.Fatal("five full announcements of one organisation fit")
			}
			size.add(full(i))
		}
	}
	if size.all > maxHeard || size.all < maxHeard/2 {
		t.Errorf("%d are remembered, want at most %d", size.all, maxHeard)
	}
	n := startNode(t, nil)
	for i := range 6 {
		key, topics := newKey(t), make([]string, commons.MaxServed)
		for j := range topics {
			topics[j] = fmt.Sprintf("x/y/z%d-%d", i, j)
		}
		if _, err := n.db.Put(t.Context(), said(t, key, 1, topics...), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.ex.hear(); err != nil {
		t.Fatal(err)
	}
	for _, h := range n.ex.announcements() {
		if h.record.Envelope != nil || h.record.Body != nil || len(h.served) != commons.MaxServed {
			t.Errorf("%d bytes of a record are held in memory, with %d topics", len(h.record.Envelope)+len(h.record.Body), len(h.served))
		}
	}
	if got := len(n.ex.announcements()); got != 6 {
		t.Errorf("%d announcements are heard, want 6", got)
	}
}

func TestAlike(t *testing.T) {
	x := commons.Served{Topic: pagerank, Records: 100, Organisations: 4}
	for _, c := range []struct {
		name string
		now  []commons.Served
		want bool
	}{
		{"the same", []commons.Served{x}, true},
		{"a few records more", []commons.Served{{Topic: pagerank, Records: 125, Organisations: 4}}, true},
		{"many records more", []commons.Served{{Topic: pagerank, Records: 126, Organisations: 4}}, false},
		{"fewer organisations", []commons.Served{{Topic: pagerank, Records: 100, Organisations: 2}}, false},
		{"another topic", []commons.Served{{Topic: kmeans, Records: 100, Organisations: 4}}, false},
		{"one more topic", []commons.Served{{Topic: kmeans, Records: 1, Organisations: 1}, x}, false},
		{"none", nil, false},
	} {
		if got := alike([]commons.Served{x}, c.now); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
