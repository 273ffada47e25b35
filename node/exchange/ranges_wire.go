package exchange

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// nonceSize is the length of what each side adds to the key, in bytes.
const nonceSize = 16

// tagKey makes the tags of one session.
type tagKey [nonceSize]byte

func newTagKey(initiator, responder [nonceSize]byte) tagKey {
	sum := sha256.Sum256(slices.Concat([]byte("karasu tags"), initiator[:], responder[:]))
	return tagKey(sum[:nonceSize])
}

// of returns the tag of a fingerprint. Key and fingerprint together are one block of
// SHA-256.
func (k tagKey) of(f commons.Fingerprint) uint64 {
	var b [nonceSize + sha256.Size]byte
	copy(b[:], k[:])
	copy(b[nonceSize:], f[:])
	sum := sha256.Sum256(b[:])
	return binary.BigEndian.Uint64(sum[:8])
}

func (k tagKey) ofID(id commons.ID) uint64 { return k.of(commons.Fingerprint(id)) }

// opening is what a side says about itself.
type opening struct {
	root     commons.Fingerprint
	nonce    [nonceSize]byte
	patterns []Pattern
	since    commons.Day
}

// newOpening describes this side within the scope of the session.
func newOpening(w *walk, patterns []Pattern) opening {
	o := opening{root: w.index.Root(w.since), patterns: patterns[:min(len(patterns), maxHelloPatterns)]}
	_, _ = rand.Read(o.nonce[:]) // never fails
	return o
}

// send says it; since is the scope.
func (o opening) send(f *framer, since commons.Day) error {
	m := &karasuv1.SyncOpen{Nonce: o.nonce[:], SinceDay: uint32(since)}
	if o.root != (commons.Fingerprint{}) {
		m.Root = o.root[:]
	}
	for _, p := range o.patterns {
		m.Patterns = append(m.Patterns, p.String())
	}
	return f.write(&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Open{Open: m}})
}

// topicTag is a topic that the other side holds.
type topicTag struct {
	topic model.Topic
	tag   uint64
}

// readOpening reads the first turn of the other side, and numbers its topics.
func (w *walk) readOpening() (o opening, tags []topicTag, err error) {
	opened := false
	more, err := w.f.turn(func(frame *karasuv1.SyncFrame) error {
		switch m := frame.GetFrame().(type) {
		case *karasuv1.SyncFrame_Open:
			if opened {
				return unexpected(frame)
			}
			opened = true
			var err error
			o, err = parseOpening(m.Open)
			return err
		case *karasuv1.SyncFrame_Topics:
			part, err := readTopics(m.Topics)
			if err != nil {
				return err
			}
			tags = append(tags, part...)
			return w.numberHeard(part)
		}
		return unexpected(frame)
	})
	if err == nil && !opened {
		err = fmt.Errorf("%w: no opening", ErrProtocol)
	}
	w.res.More = more
	return o, tags, err
}

func parseOpening(m *karasuv1.SyncOpen) (opening, error) {
	o := opening{since: commons.Day(m.GetSinceDay())}
	root, nonce := m.GetRoot(), m.GetNonce()
	if len(root) != 0 && len(root) != len(o.root) || len(nonce) != nonceSize || o.since > commons.MaxDay {
		return o, fmt.Errorf("%w: opening with a root of %d bytes, a nonce of %d and day %d", ErrProtocol, len(root), len(nonce), o.since)
	}
	copy(o.root[:], root)
	copy(o.nonce[:], nonce)
	if len(m.GetPatterns()) > maxHelloPatterns {
		return o, fmt.Errorf("%w: %d patterns, at most %d", ErrProtocol, len(m.GetPatterns()), maxHelloPatterns)
	}
	for _, s := range m.GetPatterns() {
		p, err := ParsePattern(s)
		if err != nil {
			return o, fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		o.patterns = append(o.patterns, p)
	}
	return o, nil
}

func readTopics(m *karasuv1.SyncTopicTags) ([]topicTag, error) {
	if len(m.GetTopics()) == 0 {
		return nil, fmt.Errorf("%w: no topics", ErrProtocol)
	}
	out := make([]topicTag, 0, len(m.GetTopics()))
	for _, t := range m.GetTopics() {
		topic, err := model.ParseTopic(t.GetTopic())
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		out = append(out, topicTag{topic, t.GetTag()})
	}
	return out, nil
}

// numberHeard numbers topics of the other side.
func (w *walk) numberHeard(tags []topicTag) error {
	for _, t := range tags {
		if _, twice := w.numbers[t.topic]; twice {
			return fmt.Errorf("%w: topic %s twice", ErrProtocol, t.topic)
		}
		if len(w.topics) >= 2*maxHelloTopics {
			return fmt.Errorf("%w: more than %d topics", ErrProtocol, 2*maxHelloTopics)
		}
		w.number(t.topic)
	}
	return nil
}

func (w *walk) sendTopics(tags []*karasuv1.SyncTopicTag) error {
	for part := range slices.Chunk(tags, topicsPerFrame) {
		err := w.f.write(&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Topics{Topics: &karasuv1.SyncTopicTags{Topics: part}}})
		if err != nil {
			return err
		}
	}
	return nil
}

// wire returns the message about a range, without its tags.
func (w *walk) wire(kind karasuv1.SyncRange_Kind, r commons.Range) *karasuv1.SyncRange {
	return &karasuv1.SyncRange{
		Kind: kind, Topic: w.numbers[r.Topic], Depth: uint32(r.Depth), Day: uint32(r.Day), Prefix: r.Prefix,
	}
}

// sendRanges fills frames up to their bound.
func (w *walk) sendRanges(ranges []*karasuv1.SyncRange) error {
	var part []*karasuv1.SyncRange
	size := 0
	flush := func() error {
		if len(part) == 0 {
			return nil
		}
		err := w.f.write(&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Ranges{Ranges: &karasuv1.SyncRanges{Ranges: part}}})
		part, size = nil, 0
		return err
	}
	for _, r := range ranges {
		// A tag and a length are at most 4 bytes; 16 leave room for the frame's own.
		n := proto.Size(r) + 4
		if size+n > maxControlFrame-16 {
			if err := flush(); err != nil {
				return err
			}
		}
		part = append(part, r)
		size += n
	}
	return flush()
}

// sendOffer offers records of a topic.
func sendOffer(f *framer, topic model.Topic, ids []commons.ID) error {
	for part := range slices.Chunk(ids, idsPerFrame) {
		err := f.write(&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Offer{Offer: &karasuv1.SyncOffer{Topic: topic.String(), Ids: packIDs(part)}}})
		if err != nil {
			return err
		}
	}
	return nil
}

// heardRange is what the other side said about a range.
type heardRange struct {
	kind karasuv1.SyncRange_Kind
	at   commons.Range
	days []commons.Day // of the parts of a topic, rising
	mask uint32        // of the parts of another range
	tags []uint64
}

// readRange checks what came about a range. The error wraps [ErrProtocol].
func (w *walk) readRange(m *karasuv1.SyncRange) (heardRange, error) {
	if int64(m.GetTopic()) >= int64(len(w.topics)) {
		return heardRange{}, fmt.Errorf("%w: topic number %d of %d", ErrProtocol, m.GetTopic(), len(w.topics))
	}
	h := heardRange{
		kind: m.GetKind(), mask: m.GetMask(), tags: m.GetTags(),
		at: commons.Range{
			Topic: w.topics[m.GetTopic()], Depth: int(min(m.GetDepth(), commons.MaxDepth+1)),
			Day: commons.Day(m.GetDay()), Prefix: m.GetPrefix(),
		},
	}
	if err := h.at.Validate(); err != nil {
		return h, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	for _, d := range m.GetDays() {
		h.days = append(h.days, commons.Day(d))
	}
	return h, h.validate()
}

func (h heardRange) validate() error {
	days, tags, topic := len(h.days), len(h.tags), h.at.Depth == commons.TopicDepth
	ok := false
	switch h.kind {
	case karasuv1.SyncRange_KIND_PARTS:
		if topic {
			ok = h.mask == 0 && tags == days && days <= maxDays && rising(h.days)
		} else {
			ok = h.at.Depth < commons.MaxDepth && days == 0 && tags > 0 &&
				h.mask < 1<<commons.Fanout && bits.OnesCount32(h.mask) == tags
		}
	case karasuv1.SyncRange_KIND_LIST:
		ok = !topic && h.mask == 0 && days == 0 && tags <= maxList
	case karasuv1.SyncRange_KIND_LACK:
		ok = !topic && h.mask == 0 && days == 0 && tags > 0 && tags <= maxList
	}
	if !ok {
		return fmt.Errorf("%w: %s of depth %d with %d days, %d tags and mask %x", ErrProtocol, h.kind, h.at.Depth, days, tags, h.mask)
	}
	return nil
}

// rising says whether days are in order, none twice, and none too late.
func rising(days []commons.Day) bool {
	for i, d := range days {
		if d > commons.MaxDay || i > 0 && d <= days[i-1] {
			return false
		}
	}
	return true
}
