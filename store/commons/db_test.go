package commons_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// clock is a time that a test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func openDB(t testing.TB, dir string, c *clock) *commons.DB {
	t.Helper()
	db, err := commons.OpenDB(dir, commons.Options{Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func put(t testing.TB, db *commons.DB, r *commons.Record, own bool, want commons.Outcome) {
	t.Helper()
	if got, err := db.Put(t.Context(), r, own); err != nil || got != want {
		t.Fatalf("put %s: %v, %v, want %v", r.ID, got, err, want)
	}
}

func all(t testing.TB, db *commons.DB) []*commons.Record {
	t.Helper()
	rs, err := db.All(nil)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

func ids(rs ...*commons.Record) []commons.ID {
	out := []commons.ID{}
	for _, r := range rs {
		out = append(out, r.ID)
	}
	return out
}

func entries(t testing.TB, db *commons.DB) []commons.ID {
	t.Helper()
	es, err := db.Entries(nil)
	if err != nil {
		t.Fatal(err)
	}
	out := []commons.ID{}
	for _, e := range es {
		out = append(out, e.ID)
	}
	sameIDs(t, "the index, beside the entries", out, indexed(db))
	return out
}

// indexed lists what the index offers.
func indexed(db *commons.DB) []commons.ID {
	out := []commons.ID{}
	for _, topic := range db.Index().Topics(0) {
		for _, day := range db.Index().Days(topic.Range.Topic, 0) {
			count, _ := db.Index().Parts(day.Range)
			out = append(out, db.Index().IDs(day.Range, 0, count)...)
		}
	}
	return out
}

func sameIDs(t testing.TB, what string, want, got []commons.ID) {
	t.Helper()
	less := func(a, b commons.ID) bool { return slices.Compare(a[:], b[:]) < 0 }
	if d := cmp.Diff(want, got, cmpopts.SortSlices(less)); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}

func revision(n uint64, body string) func(*karasuv1.Record) {
	return func(w *karasuv1.Record) {
		w.Revision, w.Kind, w.Body = n, 90, []byte(body)
		if body == "" {
			w.Kind = karasuv1.RecordKind_RECORD_KIND_RETRACTION
		}
	}
}

func TestPutKeepsTheNewest(t *testing.T) {
	dir, c, priv := t.TempDir(), &clock{noon}, newKey(t)
	db := openDB(t, dir, c)
	first, second, withdrawn := seal(t, priv, revision(1, "a")), seal(t, priv, revision(2, "b")), seal(t, priv, revision(3, ""))
	put(t, db, first, false, commons.Stored)
	put(t, db, first, false, commons.Duplicate)
	put(t, db, second, false, commons.Stored)
	put(t, db, first, false, commons.Stale)
	put(t, db, second, false, commons.Duplicate)
	if d := cmp.Diff([]*commons.Record{second}, all(t, db)); d != "" {
		t.Error(d)
	}
	if db.Has(first.ID) || !db.Has(second.ID) {
		t.Error("what was replaced is still there, or the other way round")
	}
	if _, err := db.Get(first.ID); !errors.Is(err, commons.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	put(t, db, withdrawn, false, commons.Stored)
	put(t, db, second, false, commons.Stale)
	sameIDs(t, "usable after a retraction", ids(), ids(all(t, db)...))
	sameIDs(t, "offered after a retraction", ids(withdrawn), entries(t, db))
	got, err := db.Get(withdrawn.ID)
	if d := cmp.Diff(withdrawn, got); err != nil || d != "" {
		t.Error(err, d)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openDB(t, dir, c)
	sameIDs(t, "offered after a restart", ids(withdrawn), entries(t, db))
	put(t, db, second, false, commons.Stale)
	shared := seal(t, priv, revision(4, "again"))
	put(t, db, shared, false, commons.Stored)
	sameIDs(t, "shared again", ids(shared), ids(all(t, db)...))
}

func TestEquivocationUsesNeither(t *testing.T) {
	dir, c, priv := t.TempDir(), &clock{noon}, newKey(t)
	db := openDB(t, dir, c)
	a, b := seal(t, priv, revision(2, "a")), seal(t, priv, revision(2, "b"))
	other := seal(t, newKey(t), revision(2, "b"))
	put(t, db, a, false, commons.Stored)
	put(t, db, other, false, commons.Stored)
	put(t, db, b, false, commons.Equivocation)
	put(t, db, a, false, commons.Duplicate)
	put(t, db, b, false, commons.Duplicate)
	for range 2 {
		sameIDs(t, "usable", ids(other), ids(all(t, db)...))
		sameIDs(t, "offered", ids(a, b, other), entries(t, db))
		if got := db.Authors()[a.Author]; got.Equivocations != 1 || got.Records != 2 || got.Usable != 0 {
			t.Errorf("%+v", got)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = openDB(t, dir, c)
	}
	for i := range 5 { // a third body and more take no more room
		if got, err := db.Put(t.Context(), seal(t, priv, revision(2, string(rune('c'+i)))), false); err != nil || got != commons.Equivocation {
			t.Error(got, err)
		}
	}
	if n := len(entries(t, db)); n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
	healed := seal(t, priv, revision(3, "c"))
	put(t, db, healed, false, commons.Stored)
	sameIDs(t, "after a newer revision", ids(healed, other), entries(t, db))
}

func TestSignedAgainIsNoEquivocation(t *testing.T) {
	c, priv := &clock{noon}, newKey(t)
	db := openDB(t, t.TempDir(), c)
	again := func(minutes int) *commons.Record {
		return seal(t, priv, func(w *karasuv1.Record) { w.Created += int64(minutes) * 60 })
	}
	put(t, db, again(1), false, commons.Stored)
	put(t, db, again(0), false, commons.Stale)
	put(t, db, again(2), false, commons.Stored)
	sameIDs(t, "usable", ids(again(2)), ids(all(t, db)...))
}

func TestTime(t *testing.T) {
	dir, c, priv := t.TempDir(), &clock{noon}, newKey(t)
	db := openDB(t, dir, c)
	until := func(d time.Duration, rev uint64, body string) *commons.Record {
		return seal(t, priv, func(w *karasuv1.Record) { revision(rev, body)(w); w.NotAfter = noon.Add(d).Unix() })
	}
	c.now = noon.Add(-time.Hour)
	if _, err := db.Put(t.Context(), until(time.Hour, 1, "a"), false); !errors.Is(err, commons.ErrFuture) {
		t.Errorf("got %v", err)
	}
	c.now = noon
	a, b := until(time.Hour, 5, "a"), until(2*time.Hour, 5, "b")
	put(t, db, a, true, commons.Stored)
	put(t, db, b, true, commons.Equivocation)
	c.now = noon.Add(2 * time.Hour) // the last second counts
	sameIDs(t, "offered at the end", ids(b), entries(t, db))
	c.now = noon.Add(90 * time.Minute)
	// The proof stays whole until both are gone: one side must not become usable.
	sameIDs(t, "usable", ids(), ids(all(t, db)...))
	sameIDs(t, "offered", ids(b), entries(t, db))
	if n, err := db.Sweep(c.now); n != 0 || err != nil {
		t.Error(n, err)
	}
	c.now = noon.Add(3 * time.Hour)
	sameIDs(t, "offered once expired", ids(), entries(t, db))
	if _, err := db.Put(t.Context(), b, false); !errors.Is(err, commons.ErrExpired) {
		t.Errorf("got %v", err)
	}
	if len(db.Topics()) != 0 || len(db.Authors()) != 0 {
		t.Error("counts what has expired", db.Topics(), db.Authors())
	}
	// What has expired does not stand in the way of a lower revision.
	fresh := seal(t, priv, func(w *karasuv1.Record) {
		revision(1, "c")(w)
		w.Created, w.NotAfter = c.now.Unix(), c.now.Add(time.Hour).Unix()
	})
	put(t, db, fresh, false, commons.Stored)
	if db.Has(a.ID) || db.Has(b.ID) {
		t.Error("expired records stay beside a new one")
	}
	c.now = c.now.Add(2 * time.Hour)
	changes, cancel := db.Subscribe()
	defer cancel()
	if n, err := db.Sweep(c.now); n != 1 || err != nil || len(changes) != 1 {
		t.Error(n, err, len(changes))
	}
	if db.Has(fresh.ID) {
		t.Error("swept record is still there")
	}
	if got := db.NextRevision(a.By(), a.Topic, a.Key); got != 6 {
		t.Errorf("next revision %d, want 6: 5 was shared once", got)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := openDB(t, dir, c).NextRevision(a.By(), a.Topic, a.Key); got != 6 {
		t.Errorf("next revision %d after a restart, want 6", got)
	}
}

func TestNextRevision(t *testing.T) {
	db, priv := openDB(t, t.TempDir(), &clock{noon}), newKey(t)
	r := seal(t, priv, revision(7, "a"))
	if got := db.NextRevision(r.By(), r.Topic, r.Key); got != 1 {
		t.Errorf("got %d, want 1", got)
	}
	put(t, db, r, false, commons.Stored)
	if got := db.NextRevision(r.By(), r.Topic, r.Key); got != 8 {
		t.Errorf("got %d, want 8", got)
	}
	if got := db.NextRevision(r.By(), r.Topic, r.Key+"2"); got != 1 {
		t.Errorf("another key: got %d, want 1", got)
	}
	last := seal(t, priv, revision(1<<64-1, "a"))
	put(t, db, last, true, commons.Stored)
	if got := db.NextRevision(r.By(), r.Topic, r.Key); got != 1<<64-1 {
		t.Errorf("got %d, want no overflow", got)
	}
}

func TestQueries(t *testing.T) {
	db := openDB(t, t.TempDir(), &clock{noon})
	alice, bob := newKey(t), newKey(t)
	on := func(priv crypto.PrivKey, topic, key, organisation string, created int64) *commons.Record {
		return seal(t, priv, func(w *karasuv1.Record) {
			w.Topic, w.Key, w.Organisation, w.Kind, w.Created = topic, key, organisation, 90, w.Created+created
		})
	}
	const sort, rank = "/karasu/1/aws/spark/sort", "/karasu/1/aws/spark/pagerank"
	records := []*commons.Record{
		on(alice, sort, "b", "acme", 0), on(alice, sort, "a", "acme", 0), on(bob, sort, "a", "old name", 0),
		on(bob, rank, "a", "bobs", 60),
	}
	outcomes, err := db.PutAll(t.Context(), records[:2], true)
	if d := cmp.Diff([]commons.Outcome{commons.Stored, commons.Stored}, outcomes); d != "" || err != nil {
		t.Fatal(d, err)
	}
	if _, err := db.PutAll(t.Context(), records, false); err != nil {
		t.Fatal(err)
	}
	if !db.IsOwn(records[0].ID) || db.IsOwn(records[2].ID) {
		t.Error("own and received are mixed up")
	}
	topic := func(s string) model.Topic {
		tp, err := model.ParseTopic(s)
		if err != nil {
			t.Fatal(err)
		}
		return tp
	}
	got, err := db.ByTopic(topic(sort))
	if err != nil {
		t.Fatal(err)
	}
	want := []*commons.Record{records[1], records[0], records[2]}
	if records[2].Author < records[0].Author {
		want = []*commons.Record{records[2], records[1], records[0]}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("not by author and key: %s", d)
	}
	if got, err := db.ByTopic(topic("/karasu/1/aws/spark/grep")); len(got) != 0 || err != nil {
		t.Error(got, err)
	}
	es, err := db.Entries(func(tp model.Topic) bool { return tp.Algorithm == "pagerank" })
	if d := cmp.Diff([]commons.Entry{{ID: records[3].ID, Topic: topic(rank), Created: noon.Add(time.Minute)}}, es); d != "" || err != nil {
		t.Error(d, err)
	}
	if d := cmp.Diff([]commons.TopicCount{
		{Topic: topic(rank), Received: 1, Authors: 1},
		{Topic: topic(sort), Own: 2, Received: 1, Authors: 2},
	}, db.Topics()); d != "" {
		t.Error(d)
	}
	size := func(rs ...*commons.Record) (n int) {
		for _, r := range rs {
			n += len(r.Envelope)
		}
		return n
	}
	if d := cmp.Diff(map[peer.ID]commons.AuthorInfo{
		records[0].Author: {Organisation: "acme", Usable: 2, Records: 2, Bytes: size(records[:2]...)},
		records[2].Author: {Organisation: "bobs", Usable: 2, Records: 2, Bytes: size(records[2:]...)},
	}, db.Authors()); d != "" {
		t.Error(d)
	}
}

func TestPutAllStoresAPrefix(t *testing.T) {
	db, priv := openDB(t, t.TempDir(), &clock{noon}), newKey(t)
	large := func(key string) *commons.Record {
		return seal(t, priv, func(w *karasuv1.Record) { w.Key, w.Kind, w.Body = key, 90, make([]byte, 200<<10) })
	}
	var records []*commons.Record
	for i := range 20 { // 4 MB, more than a transaction holds
		records = append(records, large(string(rune('a'+i))))
	}
	future := seal(t, priv, func(w *karasuv1.Record) { w.Key, w.Created = "z", w.Created+3600 })
	outcomes, err := db.PutAll(t.Context(), append(slices.Clone(records), future, large("y")), false)
	if !errors.Is(err, commons.ErrFuture) || len(outcomes) != 20 {
		t.Fatal(len(outcomes), err)
	}
	sameIDs(t, "stored", ids(records...), entries(t, db))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.Put(ctx, large("y"), false); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Whatever the order, and however they are batched, the same records are usable
// and the same are offered.
func TestOrderDoesNotMatter(t *testing.T) {
	authors := []crypto.PrivKey{newKey(t), newKey(t)}
	c := &clock{noon.Add(time.Hour)}
	// Each try has a topic of its own, as opening databases is what takes long.
	one, other := openDB(t, t.TempDir(), c), openDB(t, t.TempDir(), c)
	try := 0
	rapid.Check(t, func(rt *rapid.T) {
		try++
		topic := model.Topic{Infrastructure: "aws", Framework: "spark", Algorithm: fmt.Sprint("try", try)}
		match := func(tp model.Topic) bool { return tp == topic }
		usableIn := func(db *commons.DB) []*commons.Record {
			rs, err := db.ByTopic(topic)
			if err != nil {
				rt.Fatal(err)
			}
			return rs
		}
		offeredBy := func(db *commons.DB) []commons.Entry {
			es, err := db.Entries(match)
			if err != nil {
				rt.Fatal(err)
			}
			return es
		}
		n := rapid.IntRange(1, 12).Draw(rt, "records")
		var records []*commons.Record
		for range n {
			w := wireRecord()
			w.Topic = topic.String()
			w.Key = rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "key")
			revision(uint64(rapid.IntRange(1, 3).Draw(rt, "revision")), rapid.SampledFrom([]string{"", "x", "y", "z"}).Draw(rt, "body"))(w)
			w.Created += int64(rapid.IntRange(0, 1).Draw(rt, "created"))
			w.Organisation = rapid.SampledFrom([]string{"acme", "Acme"}).Draw(rt, "organisation")
			r, err := commons.Seal(rapid.SampledFrom(authors).Draw(rt, "author"), w)
			if err != nil {
				rt.Fatal(err)
			}
			records = append(records, r)
		}
		order := rapid.Permutation(records).Draw(rt, "order")
		cut := rapid.IntRange(0, n).Draw(rt, "cut")

		for _, r := range records {
			if _, err := one.Put(t.Context(), r, false); err != nil {
				rt.Fatal(err)
			}
		}
		for _, part := range [][]*commons.Record{order[:cut], order[cut:]} {
			if _, err := other.PutAll(t.Context(), part, false); err != nil {
				rt.Fatal(err)
			}
		}
		if d := cmp.Diff(ids(usableIn(one)...), ids(usableIn(other)...)); d != "" {
			rt.Fatal("usable: ", d)
		}
		if d := cmp.Diff(offeredBy(one), offeredBy(other)); d != "" {
			rt.Fatal("offered: ", d)
		}
		// What the rules say, said another way.
		type slot struct {
			author peer.ID
			key    string
		}
		top := make(map[slot]uint64)
		bodies := make(map[slot]map[string]bool)
		for _, r := range records {
			s := slot{r.Author, r.Key}
			if r.Revision > top[s] {
				top[s], bodies[s] = r.Revision, make(map[string]bool)
			}
			if r.Revision == top[s] {
				bodies[s][string(r.Body)] = true
			}
		}
		usable := 0
		for _, b := range bodies {
			if len(b) == 1 && !b[""] {
				usable++
			}
		}
		got := usableIn(one)
		if len(got) != usable {
			rt.Fatalf("%d usable, want %d", len(got), usable)
		}
		for _, r := range got {
			if r.Revision != top[slot{r.Author, r.Key}] {
				rt.Fatalf("revision %d is usable, the highest is %d", r.Revision, top[slot{r.Author, r.Key}])
			}
		}
	})
}

func TestOwnRecordThatCameBack(t *testing.T) {
	// A node that lost its database gets its own records from peers first.
	dir, c := t.TempDir(), &clock{noon}
	db := openDB(t, dir, c)
	r := seal(t, newKey(t), nil)
	put(t, db, r, false, commons.Stored)
	changes, cancel := db.Subscribe()
	defer cancel()
	put(t, db, r, false, commons.Duplicate)
	if len(changes) != 0 {
		t.Error("a duplicate is told as a change")
	}
	put(t, db, r, true, commons.Duplicate)
	put(t, db, r, false, commons.Duplicate)
	for range 2 {
		if !db.IsOwn(r.ID) || db.Topics()[0].Own != 1 {
			t.Error("not marked as own")
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = openDB(t, dir, c)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if rep, err := commons.Fsck(t.Context(), dir); err != nil || !rep.OK() {
		t.Error(rep, err)
	}
}

// What a search asks of the commons: 50 support models of one topic.
func BenchmarkByTopic(b *testing.B) {
	db := openDB(b, b.TempDir(), &clock{noon})
	priv := newKey(b)
	w := weights()
	for range 68 {
		w.Inputs, w.Targets = append(w.Inputs, 0.5, 0.5), append(w.Targets, 0)
	}
	body, err := proto.Marshal(commons.EncodeModel(pseudonym, 30, 0, w))
	if err != nil {
		b.Fatal(err)
	}
	var topic model.Topic
	for i := range 50 {
		r := seal(b, priv, func(m *karasuv1.Record) { m.Kind, m.Key, m.Body = kindModel, fmt.Sprint(i), body })
		put(b, db, r, false, commons.Stored)
		topic = r.Topic
	}
	b.ResetTimer()
	for b.Loop() {
		rs, err := db.ByTopic(topic)
		if err != nil || len(rs) != 50 {
			b.Fatal(len(rs), err)
		}
		for _, r := range rs {
			if _, err := commons.DecodeModel(r); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// A reader sees one revision of a key at every moment, never none and never two.
func TestReadersDuringPuts(t *testing.T) {
	db, priv := openDB(t, t.TempDir(), &clock{noon}), newKey(t)
	put(t, db, seal(t, priv, revision(1, "a")), false, commons.Stored)
	topic := summary().Topic
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		wg.Go(func() {
			last := uint64(0)
			for {
				select {
				case <-stop:
					return
				default:
				}
				rs, err := db.ByTopic(topic)
				if err != nil || len(rs) != 1 || rs[0].Revision < last {
					t.Errorf("%d records after revision %d, %v", len(rs), last, err)
					return
				}
				last = rs[0].Revision
				if len(db.Topics()) != 1 || len(db.Authors()) != 1 {
					t.Error("counts miss the record")
					return
				}
			}
		})
	}
	for n := uint64(2); n < 60; n++ {
		put(t, db, seal(t, priv, revision(n, "a")), false, commons.Stored)
	}
	close(stop)
	wg.Wait()
}
