package exchange

import (
	"context"
	"fmt"
	"maps"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/commons"
)

// counted is one end of a pipe that counts what is written to it.
type counted struct {
	net.Conn
	bytes *int
}

func (c counted) Write(b []byte) (int, error) {
	*c.bytes += len(b)
	return c.Conn.Write(b)
}

// measure runs one session of the range exchange and says how many bytes it took.
func measure(t testing.TB, a, b *memory) (ra, rb Result, bytes int) {
	t.Helper()
	ca, cb := net.Pipe()
	defer func() { _, _ = ca.Close(), cb.Close() }()
	g := NewRanges(10 * time.Second)
	var sent, answered int
	errs := make(chan error, 1)
	go func() {
		var err error
		rb, err = g.Respond(context.Background(), counted{cb, &answered}, b)
		if err != nil {
			_ = cb.Close()
		}
		errs <- err
	}()
	ra, err := g.Initiate(context.Background(), counted{ca, &sent}, a)
	if err != nil {
		_ = ca.Close()
	}
	if rerr := <-errs; err != nil || rerr != nil {
		t.Fatalf("initiator: %v, responder: %v", err, rerr)
	}
	return ra, rb, sent + answered
}

func (m *memory) clone() *memory {
	out := newMemory(m.name)
	out.patterns, out.since = m.patterns, m.since
	for id, t := range m.held {
		out.put(t, id)
	}
	return out
}

// crowded returns ids of which many begin with the same bits.
func crowded(n int) commons.ID {
	out := id(n)
	copy(out[:n%9], []byte{0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab})
	return out
}

// TestRangesAgreeWithTheOracle: whatever two nodes hold and want, the range exchange
// brings them to where the digest exchange does, and then moves nothing.
func TestRangesAgreeWithTheOracle(t *testing.T) {
	topics := []model.Topic{pagerank, kmeans, wordsort}
	patterns := []string{EveryTopic, "aws-ec2/*/*", "gcp/hadoop/sort", "none/none/none"}
	rapid.Check(t, func(rt *rapid.T) {
		a := newMemory('a', rapid.SampledFrom(patterns).Draw(rt, "a wants"))
		b := newMemory('b', rapid.SampledFrom(patterns).Draw(rt, "b wants"))
		// The same topic and place for stretches, so that there are large ranges.
		for n := 0; n < 600; {
			topic := rapid.SampledFrom(topics).Draw(rt, "topic")
			where := rapid.IntRange(0, 2).Draw(rt, "where")
			name := rapid.SampledFrom([]func(int) commons.ID{id, crowded}).Draw(rt, "ids")
			for range rapid.SampledFrom([]int{1, 2, 30, 300}).Draw(rt, "records") {
				if where != 1 {
					a.put(topic, name(n))
				}
				if where != 0 {
					b.put(topic, name(n))
				}
				n++
			}
		}
		oa, ob := a.clone(), b.clone()
		meet(t, oa, ob)
		ra, rb, _ := measure(t, a, b)
		if diff := cmp.Diff(oa.held, a.held); diff != "" {
			rt.Fatalf("initiator (-oracle +ranges):\n%s", diff)
		}
		if diff := cmp.Diff(ob.held, b.held); diff != "" {
			rt.Fatalf("responder (-oracle +ranges):\n%s", diff)
		}
		if ra.Stored != rb.Sent || rb.Stored != ra.Sent || ra.More || rb.More || !ra.Full || !rb.Full {
			rt.Fatalf("results %+v and %+v", ra, rb)
		}
		if ra, rb, _ = measure(t, b, a); ra.Stored+rb.Stored+ra.Sent+rb.Sent > 0 {
			rt.Fatalf("second session moved records: %+v, %+v", ra, rb)
		}
	})
}

// TestRangesWithinAScope: a session about recent days moves what was created since,
// and leaves the rest alone.
func TestRangesWithinAScope(t *testing.T) {
	a, b := newMemory('a'), newMemory('b')
	for n := range 300 {
		a.put(pagerank, id(3*n), id(3*n+1))
		b.put(pagerank, id(3*n), id(3*n+2))
	}
	a.since = 102
	wantA, wantB := maps.Clone(a.held), maps.Clone(b.held)
	for _, side := range []struct{ from, to map[commons.ID]model.Topic }{{a.held, wantB}, {b.held, wantA}} {
		for id, t := range side.from {
			if commons.DayOf(created(id)) >= a.since {
				side.to[id] = t
			}
		}
	}
	ra, rb, _ := measure(t, a, b)
	if diff := cmp.Diff(wantA, a.held); diff != "" {
		t.Errorf("initiator (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantB, b.held); diff != "" {
		t.Errorf("responder (-want +got):\n%s", diff)
	}
	if ra.Full || rb.Full {
		t.Error("a session about two days says that it was about everything")
	}
}

// TestRangesCost: two nodes in sync pay a small message each, and others by what
// differs, not by what they hold.
func TestRangesCost(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of thousands of records")
	}
	const held = 200_000
	topics := make([]model.Topic, 20)
	for i := range topics {
		topics[i] = model.Topic{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: fmt.Sprint("job", i)}
	}
	a, b := newMemory('a'), newMemory('b')
	for n := range held {
		a.put(topics[n%len(topics)], id(n))
		b.put(topics[n%len(topics)], id(n))
	}
	if _, _, bytes := measure(t, a, b); bytes > 200 {
		t.Errorf("%d bytes between nodes in sync", bytes)
	}
	for _, differ := range []int{1, 10, 100, 1000} {
		for n := range differ {
			from := a
			if n%2 == 1 {
				from = b
			}
			from.put(topics[n%len(topics)], id(held+10*differ+n))
		}
		_, _, bytes := measure(t, a, b)
		if len(a.held) != len(b.held) {
			t.Fatalf("%d and %d records", len(a.held), len(b.held))
		}
		// The records of this test are their ids: 32 bytes, beside as many for an offer
		// and a want each.
		if most := 3000 + differ*1000; bytes > most {
			t.Errorf("%d differ: %d bytes, at most %d", differ, bytes, most)
		}
	}
}

// TestRangesOfANewcomer: sessions are bounded, and so many as it takes bring
// everything, in either direction.
func TestRangesOfANewcomer(t *testing.T) {
	if testing.Short() {
		t.Skip("tens of thousands of records")
	}
	const held = 2*maxSessionWants + maxSessionWants/2
	for name, full := range map[string]byte{"initiator": 'a', "responder": 'b'} {
		t.Run(name, func(t *testing.T) {
			a, b := newMemory('a'), newMemory('b')
			for n := range held {
				if full == a.name {
					a.put(pagerank, id(n))
				} else {
					b.put(pagerank, id(n))
				}
			}
			rounds := 0
			for more := true; more && rounds < 10; rounds++ {
				ra, rb, _ := measure(t, a, b)
				more = ra.More
				if ra.More != rb.More {
					t.Fatalf("one side knows of more: %+v, %+v", ra, rb)
				}
				if ra.Stored > maxSessionWants || rb.Stored > maxSessionWants {
					t.Fatalf("one session moved %d and %d records", ra.Stored, rb.Stored)
				}
			}
			if len(a.held) != held || len(b.held) != held || rounds > 5 {
				t.Errorf("after %d rounds %d and %d of %d records", rounds, len(a.held), len(b.held), held)
			}
		})
	}
}

// TestRangesOfManyTopics: more topics than a frame holds, some held by one side only.
func TestRangesOfManyTopics(t *testing.T) {
	a, b := newMemory('a'), newMemory('b')
	for n := range 3000 {
		topic := model.Topic{Infrastructure: "i", Framework: "f", Algorithm: fmt.Sprint("alg", n)}
		switch n % 3 {
		case 0:
			a.put(topic, id(n))
		case 1:
			b.put(topic, id(n))
		default:
			a.put(topic, id(n), id(n+10000))
			b.put(topic, id(n), id(n+20000))
		}
	}
	measure(t, a, b)
	if len(a.held) != 5000 || len(b.held) != 5000 {
		t.Errorf("%d and %d of 5000 records", len(a.held), len(b.held))
	}
}

// BenchmarkRanges measures a session between nodes that hold a million records each,
// all of one topic and of three days, and differ in a hundred.
func BenchmarkRanges(b *testing.B) {
	x, y := newMemory('x'), newMemory('y')
	for n := range 1_000_000 {
		x.put(pagerank, id(n))
		y.put(pagerank, id(n))
	}
	next := 1_000_000
	for b.Loop() {
		for range 50 {
			x.put(pagerank, id(next))
			y.put(pagerank, id(next+1))
			next += 2
		}
		_, _, bytes := measure(b, x, y)
		b.ReportMetric(float64(bytes), "bytes/op")
	}
}
