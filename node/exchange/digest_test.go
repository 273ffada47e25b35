package exchange

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/libp2p/go-libp2p/core/peer"
	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/commons"
)

// memory is a replica whose records are their own ids.
type memory struct {
	held     map[commons.ID]model.Topic
	index    *commons.Index
	patterns []Pattern
	since    commons.Day
	name     byte
	sent     int
}

func newMemory(name byte, patterns ...string) *memory {
	p, err := ParsePatterns(patterns)
	if err != nil {
		panic(err)
	}
	return &memory{held: make(map[commons.ID]model.Topic), index: commons.NewIndex(time.Now), patterns: p, name: name}
}

func (m *memory) put(t model.Topic, ids ...commons.ID) {
	for _, id := range ids {
		m.held[id] = t
		m.index.Insert(commons.Entry{ID: id, Topic: t, Created: created(id)})
	}
}

// created is one of three days, which follow from the id.
func created(id commons.ID) time.Time { return time.Unix(100*86400, 0).AddDate(0, 0, int(id[31])%3) }

func (m *memory) Peer() peer.ID         { return peer.ID([]byte{m.name}) }
func (m *memory) Patterns() []Pattern   { return m.patterns }
func (m *memory) Sent(n int)            { m.sent += n }
func (m *memory) Since() commons.Day    { return m.since }
func (m *memory) Index() *commons.Index { return m.index }

func (m *memory) Snapshot() (*Snapshot, error) {
	var entries []commons.Entry
	for id, t := range m.held {
		entries = append(entries, commons.Entry{ID: id, Topic: t})
	}
	return NewSnapshot(entries), nil
}

func (m *memory) Claim(ids []commons.ID) (fetch []commons.ID, busy int) {
	for _, id := range ids {
		if _, ok := m.held[id]; !ok {
			fetch = append(fetch, id)
		}
	}
	return fetch, 0
}

func (m *memory) Envelope(id commons.ID) ([]byte, error) {
	if _, ok := m.held[id]; !ok {
		return nil, commons.ErrNotFound
	}
	return id[:], nil
}

func (m *memory) Admit(_ context.Context, asked map[commons.ID]model.Topic, envelopes [][]byte) (stored, refused int, err error) {
	for _, env := range envelopes {
		if len(env) != len(commons.ID{}) {
			return stored, refused, ErrProtocol
		}
		id := commons.ID(env)
		topic, ok := asked[id]
		if !ok {
			return stored, refused, ErrProtocol
		}
		delete(asked, id)
		m.put(topic, id)
		stored++
	}
	return stored, refused, nil
}

// meet runs one session of the digest exchange and returns both results.
func meet(t testing.TB, a, b *memory) (ra, rb Result) {
	t.Helper()
	return meetBy(t, NewDigest(10*time.Second), a, b)
}

// meetBy runs one session.
func meetBy(t testing.TB, d Reconciler, a, b *memory) (ra, rb Result) {
	t.Helper()
	ca, cb := net.Pipe()
	defer func() { _, _ = ca.Close(), cb.Close() }()
	errs := make(chan error, 1)
	go func() {
		var err error
		rb, err = d.Respond(context.Background(), cb, b)
		errs <- err
	}()
	ra, err := d.Initiate(context.Background(), ca, a)
	if err != nil {
		_ = ca.Close()
	}
	if rerr := <-errs; err != nil || rerr != nil {
		t.Fatalf("initiator: %v, responder: %v", err, rerr)
	}
	return ra, rb
}

func id(n int) (out commons.ID) {
	// Spread over the id space, as hashes are.
	for i := range out {
		n = n*1103515245 + 12345
		out[i] = byte(n >> 16)
	}
	return out
}

// TestDigestMakesEqual: after one session both hold the union of what they held,
// of the topics that each wants, and a second session moves nothing.
func TestDigestMakesEqual(t *testing.T) {
	topics := []model.Topic{pagerank, kmeans, wordsort}
	patterns := []string{EveryTopic, "aws-ec2/*/*", "gcp/hadoop/sort", "none/none/none"}
	rapid.Check(t, func(rt *rapid.T) {
		a := newMemory('a', rapid.SampledFrom(patterns).Draw(rt, "a wants"))
		b := newMemory('b', rapid.SampledFrom(patterns).Draw(rt, "b wants"))
		for n := range rapid.IntRange(0, 60).Draw(rt, "records") {
			topic := rapid.SampledFrom(topics).Draw(rt, "topic")
			switch rapid.IntRange(0, 2).Draw(rt, "where") {
			case 0:
				a.put(topic, id(n))
			case 1:
				b.put(topic, id(n))
			default:
				a.put(topic, id(n))
				b.put(topic, id(n))
			}
		}
		wantA, wantB := union(a, b), union(b, a)
		ra, rb := meet(t, a, b)
		if diff := cmp.Diff(wantA, a.held); diff != "" {
			rt.Fatalf("initiator (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(wantB, b.held); diff != "" {
			rt.Fatalf("responder (-want +got):\n%s", diff)
		}
		if ra.Stored != rb.Sent || rb.Stored != ra.Sent || ra.More || rb.More {
			rt.Fatalf("results %+v and %+v", ra, rb)
		}
		if ra, rb = meet(t, a, b); ra.Stored+rb.Stored+ra.Sent+rb.Sent > 0 {
			rt.Fatalf("second session moved records: %+v, %+v", ra, rb)
		}
	})
}

// union is what m should hold after meeting o.
func union(m, o *memory) map[commons.ID]model.Topic {
	out := make(map[commons.ID]model.Topic)
	for id, t := range m.held {
		out[id] = t
	}
	for id, t := range o.held {
		if matchAny(m.patterns, t) {
			out[id] = t
		}
	}
	return out
}

// TestDigestOfManyRecords needs several sessions, as each is bounded, and gets
// there.
func TestDigestOfManyRecords(t *testing.T) {
	a, b := newMemory('a'), newMemory('b')
	const each = 3*maxSessionWants/2 + 1
	for n := range each {
		a.put(pagerank, id(2*n))
		b.put(pagerank, id(2*n+1))
	}
	rounds := 0
	for more := true; more && rounds < 10; rounds++ {
		ra, rb := meet(t, a, b)
		more = ra.More
		if ra.Stored > maxSessionWants || rb.Stored > maxSessionWants {
			t.Fatalf("one session moved %d and %d records", ra.Stored, rb.Stored)
		}
	}
	if len(a.held) != 2*each || len(b.held) != 2*each || rounds != 2 {
		t.Errorf("after %d rounds %d and %d of %d records", rounds, len(a.held), len(b.held), 2*each)
	}
}

// TestDigestBeyondTheIDLimit: two large sets that differ in few records meet
// although a session cannot list them whole.
func TestDigestBeyondTheIDLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of thousands of records")
	}
	a, b := newMemory('a'), newMemory('b')
	const n = maxSessionIDs * 5 / 4
	for i := range n {
		a.put(pagerank, id(i))
		b.put(pagerank, id(i))
	}
	a.put(pagerank, id(n), id(n+1))
	b.put(pagerank, id(n+2), id(n+3))
	want := len(union(a, b))
	for range 200 {
		ra, _ := meet(t, a, b)
		if len(a.held) == want && len(b.held) == want {
			return
		}
		if !ra.More {
			t.Fatal("a session that left something out did not say so")
		}
	}
	t.Errorf("%d and %d of %d records", len(a.held), len(b.held), want)
}

func TestManyTopicsFitTheHello(t *testing.T) {
	a, b := newMemory('a'), newMemory('b')
	for n := range 1000 {
		a.put(model.Topic{Infrastructure: "i", Framework: "f", Algorithm: fmt.Sprint("alg", n)}, id(n))
	}
	meet(t, a, b)
	if len(b.held) != 1000 {
		t.Errorf("%d of 1000 records", len(b.held))
	}
}

func TestWithin(t *testing.T) {
	var ids []commons.ID
	for n := range 100 {
		ids = append(ids, id(n))
	}
	slices.SortFunc(ids, compareIDs)
	rapid.Check(t, func(rt *rapid.T) {
		low, high := id(rapid.IntRange(0, 200).Draw(rt, "low")), id(rapid.IntRange(0, 200).Draw(rt, "high"))
		var want []commons.ID
		for _, id := range ids {
			if compareIDs(id, low) >= 0 && compareIDs(id, high) <= 0 {
				want = append(want, id)
			}
		}
		if got := within(ids, low, high); !slices.Equal(got, want) {
			rt.Fatalf("%d ids, want %d", len(got), len(want))
		}
	})
}

func TestUnpackIDs(t *testing.T) {
	ids := []commons.ID{id(1), id(2)}
	got, err := unpackIDs(packIDs(ids))
	if err != nil || !slices.Equal(got, ids) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := unpackIDs(make([]byte, 33)); !errors.Is(err, ErrProtocol) {
		t.Errorf("33 bytes: %v", err)
	}
}
