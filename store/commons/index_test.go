package commons

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
)

var (
	indexTopics = []model.Topic{
		{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "pagerank"},
		{Infrastructure: "gcp", Framework: "hadoop", Algorithm: "sort"},
	}
	indexClock = func() time.Time { return time.Unix(1_000_000_000, 0) }
)

// indexed makes a meta whose id begins with the given bits.
func indexed(topic model.Topic, day Day, first uint64, last byte) *meta {
	m := &meta{slot: slot{topic: topic}, created: int64(day) * secondsPerDay, notAfter: 2_000_000_000}
	binary.BigEndian.PutUint64(m.id[:], first)
	m.id[31] = last
	return m
}

// drawMeta draws ids that often share their first bits, as hashes do not.
func drawMeta(t *rapid.T) *meta {
	first := rapid.SampledFrom([]uint64{0, 0x1234_5678_9abc_0000, 0xffff_ffff_ffff_0000, 0x1200_0000_0000_0000}).Draw(t, "first")
	return indexed(rapid.SampledFrom(indexTopics).Draw(t, "topic"), Day(rapid.IntRange(9, 11).Draw(t, "day")),
		first+uint64(rapid.IntRange(0, 3).Draw(t, "low")), rapid.Byte().Draw(t, "last"))
}

// TestIndexFollowsItsRecords: after any insertions and removals, an index is what one
// that was made of the same records alone is: fingerprints, parts, ids.
func TestIndexFollowsItsRecords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := NewIndex(indexClock)
		var held []*meta
		for range rapid.IntRange(1, 300).Draw(rt, "steps") {
			if len(held) > 0 && rapid.IntRange(0, 2).Draw(rt, "what") == 0 {
				i := rapid.IntRange(0, len(held)-1).Draw(rt, "which")
				x.remove(held[i])
				held = slices.Delete(held, i, i+1)
				continue
			}
			m := drawMeta(rt)
			x.insert(m)
			if !slices.ContainsFunc(held, func(o *meta) bool { return o.topic == m.topic && o.day() == m.day() && o.id == m.id }) {
				held = append(held, m)
			}
			if rapid.Bool().Draw(rt, "ask") {
				x.Root(0) // so that there is something to be forgotten
			}
		}
		fresh := NewIndex(indexClock)
		for _, m := range rapid.Permutation(held).Draw(rt, "order") {
			fresh.insert(m)
		}
		for since := range Day(13) {
			if x.Root(since) != fresh.Root(since) {
				rt.Fatalf("root since day %d differs", since)
			}
			if diff := cmp.Diff(fresh.Topics(since), x.Topics(since)); diff != "" {
				rt.Fatalf("topics since day %d (-want +got):\n%s", since, diff)
			}
		}
		for _, topic := range indexTopics {
			if diff := cmp.Diff(fresh.Days(topic, 10), x.Days(topic, 10)); diff != "" {
				rt.Fatalf("days (-want +got):\n%s", diff)
			}
			for _, day := range x.Days(topic, 0) {
				compareRange(rt, fresh, x, held, day.Range)
			}
		}
	})
}

// compareRange checks a range and all parts of it against the records themselves.
func compareRange(t *rapid.T, want, got *Index, held []*meta, r Range) {
	if err := r.Validate(); err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	var ids []ID
	for _, m := range held {
		if m.topic == r.Topic && m.day() == r.Day && (r.Depth == DayDepth || compareBits(m.id, r.Prefix, nibble*(r.Depth-DayDepth)) == 0) {
			ids = append(ids, m.id)
		}
	}
	slices.SortFunc(ids, func(a, b ID) int { return slices.Compare(a[:], b[:]) })
	if diff := cmp.Diff(ids, got.IDs(r, 0, len(held))); diff != "" {
		t.Fatalf("ids of %+v (-want +got):\n%s", r, diff)
	}
	if len(ids) > 2 {
		if diff := cmp.Diff(ids[1:len(ids)-1], got.IDs(r, 1, len(ids)-2)); diff != "" {
			t.Fatalf("some ids of %+v (-want +got):\n%s", r, diff)
		}
	}
	count, parts := got.Parts(r)
	_, wantParts := want.Parts(r)
	if count != len(ids) || !slices.Equal(parts, wantParts) {
		t.Fatalf("%+v: %d records and parts %v, want %d and %v", r, count, parts, len(ids), wantParts)
	}
	if (parts != nil) != (len(ids) > Leaf && r.Depth < MaxDepth) {
		t.Fatalf("%+v with %d records is divided: %v", r, len(ids), parts != nil)
	}
	for i, p := range parts {
		if p != (Fingerprint{}) {
			compareRange(t, want, got, held, r.Part(i))
		}
	}
}

// TestIndexLeavesOutWhatExpired, as others would be offered what is not sent.
func TestIndexLeavesOutWhatExpired(t *testing.T) {
	x := NewIndex(indexClock)
	old, fine := indexed(indexTopics[0], 10, 1, 1), indexed(indexTopics[0], 10, 2, 1)
	old.notAfter = indexClock().Unix() - 1
	x.insert(old)
	x.insert(fine)
	r := Range{Topic: indexTopics[0]}.OfDay(10)
	if got := x.IDs(r, 0, 10); !slices.Equal(got, []ID{fine.id}) {
		t.Errorf("ids %v, want %v", got, fine.id)
	}
}

func TestRangeValidate(t *testing.T) {
	topic := indexTopics[0]
	for name, c := range map[string]struct {
		r  Range
		ok bool
	}{
		"topic":          {Range{Topic: topic}, true},
		"day":            {Range{Topic: topic, Depth: DayDepth, Day: MaxDay}, true},
		"deepest":        {Range{Topic: topic, Depth: MaxDepth, Prefix: 1}, true},
		"two nibbles":    {Range{Topic: topic, Depth: 3, Prefix: 0xff << 56}, true},
		"negative":       {Range{Topic: topic, Depth: -1}, false},
		"too deep":       {Range{Topic: topic, Depth: MaxDepth + 1}, false},
		"topic of a day": {Range{Topic: topic, Day: 1}, false},
		"no such day":    {Range{Topic: topic, Depth: DayDepth, Day: MaxDay + 1}, false},
		"day of bits":    {Range{Topic: topic, Depth: DayDepth, Prefix: 1 << 63}, false},
		"more bits":      {Range{Topic: topic, Depth: 3, Prefix: 0xff8 << 52}, false},
	} {
		if err := c.r.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BenchmarkIndex measures what the index adds to a put: an insertion into a million,
// and the fingerprint of all after a change.
func BenchmarkIndex(b *testing.B) {
	x := NewIndex(indexClock)
	next := uint64(0)
	add := func() {
		next++
		x.insert(indexed(indexTopics[0], 10, next*0x9e37_79b9_7f4a_7c15, 0))
	}
	for range 1_000_000 {
		add()
	}
	b.Run("insert", func(b *testing.B) {
		for b.Loop() {
			add()
		}
	})
	b.Run("insert and root", func(b *testing.B) {
		for b.Loop() {
			add()
			x.Root(0)
		}
	})
}
