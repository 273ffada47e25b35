package exchange

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// DigestProtocol is the stream protocol of [NewDigest].
const DigestProtocol protocol.ID = "/karasu/sync/1"

// Bounds of one session of the digest exchange. What they leave out comes in the
// next one.
const (
	// maxHelloTopics and maxHelloPatterns bound what a peer may say about itself: a
	// node joins 256 topics and has 64 patterns and one for each topic joined by name.
	maxHelloTopics   = 4096
	maxHelloPatterns = 512
	// maxSessionIDs bounds the ids that one turn lists: 4 MiB.
	maxSessionIDs = 1 << 17
	// maxSessionWants and maxSessionBytes bound the records that one turn carries.
	maxSessionWants = 1 << 15
	maxSessionBytes = 32 << 20
	// admitBytes is how much is collected before it is validated and stored.
	admitBytes = 512 << 10
	// idsPerFrame keeps a frame of ids, topic and range below maxControlFrame.
	idsPerFrame = 1900
	// topicsPerFrame and patternsPerFrame likewise: an entry has at most 220 bytes.
	topicsPerFrame   = 256
	patternsPerFrame = 256
)

// digest compares record ids topic by topic: fingerprints first, the ids of topics
// that differ second. It costs 32 bytes for each id of such a topic. The proto
// file says how the turns go.
type digest struct{ timeout time.Duration }

var _ Reconciler = digest{}

// NewDigest returns the reconciler that is simple enough to be right: others are
// tested and measured against it. Timeout is how long the other side may take for a
// frame.
func NewDigest(timeout time.Duration) Reconciler { return digest{timeout} }

// Protocol returns [DigestProtocol].
func (digest) Protocol() protocol.ID { return DigestProtocol }

// hello is what the other side said about itself.
type hello struct {
	topics   map[model.Topic][sha256.Size]byte
	patterns []Pattern
}

// sendHello is the first turn of either side.
func sendHello(f *framer, held *Snapshot, patterns []Pattern) error {
	topics := make([]*karasuv1.SyncTopic, 0, len(held.topics))
	for t, set := range held.topics {
		topics = append(topics, &karasuv1.SyncTopic{
			Topic: t.String(), Count: uint64(len(set.ids)), Fingerprint: set.fingerprint[:],
		})
	}
	// Random where there are too many, so that each gets its turn.
	rand.Shuffle(len(topics), func(i, j int) { topics[i], topics[j] = topics[j], topics[i] })
	topics = topics[:min(len(topics), maxHelloTopics)]
	slices.SortFunc(topics, func(a, b *karasuv1.SyncTopic) int { return cmp.Compare(a.Topic, b.Topic) })
	names := make([]string, 0, len(patterns))
	for _, p := range patterns[:min(len(patterns), maxHelloPatterns)] {
		names = append(names, p.String())
	}
	for part := range slices.Chunk(topics, topicsPerFrame) {
		if err := f.write(&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Hello{Hello: &karasuv1.SyncHello{Topics: part}}}); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(names, patternsPerFrame) {
		if err := f.write(&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Hello{Hello: &karasuv1.SyncHello{Patterns: part}}}); err != nil {
			return err
		}
	}
	return f.end(false)
}

func readHello(f *framer) (hello, error) {
	h := hello{topics: make(map[model.Topic][sha256.Size]byte)}
	_, err := f.turn(func(frame *karasuv1.SyncFrame) error {
		m := frame.GetHello()
		if m == nil {
			return unexpected(frame)
		}
		if len(m.GetTopics())+len(m.GetPatterns()) == 0 {
			return fmt.Errorf("%w: empty hello", ErrProtocol)
		}
		if len(h.topics)+len(m.GetTopics()) > maxHelloTopics || len(h.patterns)+len(m.GetPatterns()) > maxHelloPatterns {
			return fmt.Errorf("%w: too many topics or patterns", ErrProtocol)
		}
		for _, t := range m.GetTopics() {
			topic, err := model.ParseTopic(t.GetTopic())
			if err != nil || len(t.GetFingerprint()) != sha256.Size {
				return fmt.Errorf("%w: topic %q", ErrProtocol, model.Clip(t.GetTopic()))
			}
			if _, twice := h.topics[topic]; twice {
				return fmt.Errorf("%w: topic %q twice", ErrProtocol, topic)
			}
			h.topics[topic] = [sha256.Size]byte(t.GetFingerprint())
		}
		for _, s := range m.GetPatterns() {
			p, err := ParsePattern(s)
			if err != nil {
				return fmt.Errorf("%w: %w", ErrProtocol, err)
			}
			h.patterns = append(h.patterns, p)
		}
		return nil
	})
	return h, err
}

// Initiate leads a session.
func (d digest) Initiate(ctx context.Context, s Stream, r Replica) (Result, error) {
	res := Result{Full: true}
	f := newFramer(s, d.timeout)
	held, err := r.Snapshot()
	if err != nil {
		return res, err
	}
	patterns := r.Patterns()
	if err := sendHello(f, held, patterns); err != nil {
		return res, err
	}
	theirs, err := readHello(f)
	if err != nil {
		return res, err
	}
	res.Wants = theirs.patterns
	listed, more, err := sendIDs(f, held, theirs, patterns)
	if err != nil {
		return res, err
	}
	res.More = more

	var wanted []commons.ID
	offered := make(map[model.Topic][]commons.ID)
	count := 0
	more, err = f.turn(func(frame *karasuv1.SyncFrame) error {
		switch m := frame.GetFrame().(type) {
		case *karasuv1.SyncFrame_Want:
			return appendWants(&wanted, m.Want)
		case *karasuv1.SyncFrame_Offer:
			topic, ids, err := readList(m.Offer.GetTopic(), m.Offer.GetIds(), false)
			if err != nil {
				return err
			}
			if count += len(ids); count > maxSessionIDs || !listed[topic] || !matchAny(patterns, topic) {
				return fmt.Errorf("%w: too much or unwanted is offered", ErrProtocol)
			}
			offered[topic] = append(offered[topic], ids...)
			return nil
		}
		return unexpected(frame)
	})
	if err != nil {
		return res, err
	}
	res.More = res.More || more
	if err := sendRecords(f, r, wanted, &res); err != nil {
		return res, err
	}
	fetch := claim(r, offered, &res)
	if err := sendWants(f, fetch.ids); err != nil {
		return res, err
	}
	if err := f.end(res.More); err != nil {
		return res, err
	}
	return res, readRecords(ctx, f, r, fetch, nil, &res)
}

// Respond answers a session.
func (d digest) Respond(ctx context.Context, s Stream, r Replica) (Result, error) {
	res := Result{Full: true}
	f := newFramer(s, d.timeout)
	theirs, err := readHello(f)
	if err != nil {
		return res, err
	}
	res.Wants = theirs.patterns
	held, err := r.Snapshot()
	if err != nil {
		return res, err
	}
	patterns := r.Patterns()
	if err := sendHello(f, held, patterns); err != nil {
		return res, err
	}
	lists, err := readIDs(f)
	if err != nil {
		return res, err
	}

	// Their want of what we have, and ours of what they have.
	lacking := make(map[model.Topic][]commons.ID)
	budget := maxSessionIDs
	offers := make(map[model.Topic][]commons.ID)
	for topic, l := range lists {
		mine := held.ids(topic)
		if matchAny(patterns, topic) {
			lacking[topic] = without(l.ids, mine)
		}
		if matchAny(theirs.patterns, topic) {
			offer := without(within(mine, l.low, l.high), l.ids)
			if len(offer) > budget {
				offer, res.More = offer[:budget], true
			}
			budget -= len(offer)
			offers[topic] = offer
		}
	}
	fetch := claim(r, lacking, &res)
	if err := sendWants(f, fetch.ids); err != nil {
		return res, err
	}
	for topic, ids := range offers {
		if err := sendOffer(f, topic, ids); err != nil {
			return res, err
		}
	}
	if err := f.end(res.More); err != nil {
		return res, err
	}

	var wanted []commons.ID
	if err := readRecords(ctx, f, r, fetch, &wanted, &res); err != nil {
		return res, err
	}
	if err := sendRecords(f, r, wanted, &res); err != nil {
		return res, err
	}
	return res, f.end(res.More)
}
