package commons

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/karasu-project/karasu/model"
)

// secondsPerDay divides seconds since 1970 into days, in UTC.
const secondsPerDay = 24 * 60 * 60

// Day counts days since 1970-01-01, UTC.
type Day uint32

// MaxDay is the last day that a record may be created on, in the year 9999.
const MaxDay Day = maxUnix / secondsPerDay

// DayOf returns the day of a time after 1970.
func DayOf(t time.Time) Day { return Day(max(t.Unix(), 0) / secondsPerDay) }

// Depths of a [Range]. Below a day, each is four bits of the ids.
const (
	TopicDepth = 0
	DayDepth   = 1
	// MaxDepth is 64 bits of the ids: to put more than a leaf's records into one such
	// range takes an author 2^64 trials for each.
	MaxDepth = DayDepth + 64/nibble
)

const (
	// nibble is the number of bits of one step down.
	nibble = 4
	// Fanout is into how many parts a range below a topic is divided.
	Fanout = 1 << nibble
	// Leaf is how many records a range has at most that is not divided further, unless
	// it is as deep as can be. It is part of the wire format, as fingerprints follow the
	// division.
	Leaf = 32
)

// Range is a part of what is held: a topic, or the records of it that were created on
// one day, or those of these whose ids begin with the same bits.
type Range struct {
	Topic model.Topic
	// Depth is [TopicDepth], [DayDepth], or more by one for every four bits.
	Depth int
	// Day is 0 for a topic.
	Day Day
	// Prefix holds the bits of the ids, from the highest on; the others are 0.
	Prefix uint64
}

// Validate says what is wrong with a range from outside.
func (r Range) Validate() error {
	bits := nibble * (r.Depth - DayDepth)
	switch {
	case r.Depth < TopicDepth || r.Depth > MaxDepth:
		return fmt.Errorf("range is %d levels deep, at most %d", r.Depth, MaxDepth)
	case r.Day > MaxDay || r.Depth == TopicDepth && r.Day != 0:
		return fmt.Errorf("day %d does not belong to a range %d levels deep", r.Day, r.Depth)
	case bits <= 0 && r.Prefix != 0, bits > 0 && bits < 64 && r.Prefix<<bits != 0:
		return fmt.Errorf("prefix %016x has more than %d bits", r.Prefix, max(bits, 0))
	}
	return nil
}

// OfDay returns the part of a topic that was created on a day.
func (r Range) OfDay(d Day) Range { return Range{Topic: r.Topic, Depth: DayDepth, Day: d} }

// Part returns one of the [Fanout] parts of a range that is a day or below, and not as
// deep as can be.
func (r Range) Part(i int) Range {
	r.Prefix |= uint64(i) << (64 - nibble*r.Depth)
	r.Depth++
	return r
}

// nibbleAt returns the bits of an id that say to which part of a range of a depth it
// belongs.
func nibbleAt(id ID, depth int) int {
	b := id[(depth-DayDepth)/2]
	if (depth-DayDepth)%2 == 0 {
		return int(b >> nibble)
	}
	return int(b & (Fanout - 1))
}

// Fingerprint tells sets of records apart. That of no records is zero.
//
// It is a tree of SHA-256 and not a hash of a sum of ids, which would allow any range
// to be summed: of sums of 256 bits, an author with 8,192 records finds two sets that
// are equal in about 2^18 steps (Wagner, A Generalized Birthday Problem, CRYPTO 2002),
// and could keep others' records of that range from being noticed.
type Fingerprint [sha256.Size]byte

// String returns the first 16 hex digits.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:8]) }

// Part is a part of a range with its fingerprint, which is not zero.
type Part struct {
	Range       Range
	Fingerprint Fingerprint
}

// What each kind of fingerprint begins with, so that none can stand for another.
const (
	leafTag  = 'l'
	innerTag = 'i'
	topicTag = 't'
	rootTag  = 'r'
)

// fingerprintOfDays combines days in order.
func fingerprintOfDays(parts []Part) Fingerprint {
	if len(parts) == 0 {
		return Fingerprint{}
	}
	b := make([]byte, 0, 1+len(parts)*(4+sha256.Size))
	b = append(b, topicTag)
	for _, p := range parts {
		b = binary.BigEndian.AppendUint32(b, uint32(p.Range.Day))
		b = append(b, p.Fingerprint[:]...)
	}
	return sha256.Sum256(b)
}

// fingerprintOfTopics combines topics in order.
func fingerprintOfTopics(parts []Part) Fingerprint {
	if len(parts) == 0 {
		return Fingerprint{}
	}
	b := []byte{rootTag}
	for _, p := range parts {
		name := p.Range.Topic.String()
		b = binary.BigEndian.AppendUint32(b, uint32(len(name)))
		b = append(b, name...)
		b = append(b, p.Fingerprint[:]...)
	}
	return sha256.Sum256(b)
}
