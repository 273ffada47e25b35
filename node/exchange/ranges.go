package exchange

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// RangeProtocol is the stream protocol of [NewRanges].
const RangeProtocol protocol.ID = "/karasu/sync/2"

// Bounds of one session of the range exchange. What they leave out comes in the next.
const (
	// maxTurns bounds the turns in which ranges are compared: each goes down by a level
	// at least, and a list, what lacks of it, an offer and an empty turn end it.
	maxTurns = commons.MaxDepth + 8
	// maxTurnRanges and maxSessionRanges bound the ranges that are spoken of. Each takes
	// at most 200 bytes, so that a turn has 3 MiB and a session 13 MiB.
	maxTurnRanges    = 1 << 14
	maxSessionRanges = 1 << 16
	// maxList bounds the ids of a list. A list has those of a leaf; only as deep as can
	// be may there be more, where 2^64 trials are needed for each.
	maxList = 8 * commons.Leaf
	// maxDays bounds the days of a topic, 11 bytes each, so that they fit a frame.
	// Records live for 400 days.
	maxDays = 4096
)

// ranges compares fingerprints of ranges of records, from the whole down to lists of
// a few ids, so that nodes that agree pay one small message and the others by what
// differs. docs/reconciliation.md explains it, and the proto file how the turns go.
type ranges struct{ timeout time.Duration }

var _ Reconciler = ranges{}

// NewRanges returns the reconciler that nodes use. Timeout is how long the other side
// may take for a frame.
func NewRanges(timeout time.Duration) Reconciler { return ranges{timeout} }

// Protocol returns [RangeProtocol].
func (ranges) Protocol() protocol.ID { return RangeProtocol }

// Initiate leads a session.
func (g ranges) Initiate(ctx context.Context, s Stream, r Replica) (Result, error) {
	var res Result
	w := newWalk(newFramer(s, g.timeout), r, &res)
	w.since = r.Since()
	res.Full = w.since == 0
	mine := newOpening(w, r.Patterns())
	if err := mine.send(w.f, w.since); err != nil {
		return res, err
	}
	if err := w.f.end(false); err != nil {
		return res, err
	}
	theirs, tags, err := w.readOpening()
	if err != nil {
		return res, err
	}
	res.Wants = theirs.patterns
	if theirs.root == mine.root {
		return res, nil
	}
	w.begin(mine, theirs, mine.nonce, theirs.nonce)
	w.compareTopics(tags)
	last, err := w.converse(true)
	if err != nil {
		return res, err
	}
	return res, w.transfer(ctx, last)
}

// Respond answers a session.
func (g ranges) Respond(ctx context.Context, s Stream, r Replica) (Result, error) {
	var res Result
	w := newWalk(newFramer(s, g.timeout), r, &res)
	theirs, tags, err := w.readOpening()
	if err != nil {
		return res, err
	}
	if len(tags) > 0 {
		return res, fmt.Errorf("%w: topics before an answer", ErrProtocol)
	}
	res.Wants = theirs.patterns
	w.since = theirs.since
	res.Full = w.since == 0
	mine := newOpening(w, r.Patterns())
	w.begin(mine, theirs, theirs.nonce, mine.nonce)
	if err := mine.send(w.f, w.since); err != nil {
		return res, err
	}
	equal := theirs.root == mine.root
	if !equal {
		if err := w.sendTopics(w.numberHeld()); err != nil {
			return res, err
		}
	}
	if err := w.f.end(res.More); err != nil || equal {
		return res, err
	}
	last, err := w.converse(false)
	if err != nil {
		return res, err
	}
	return res, w.transfer(ctx, last)
}

// begin makes the key and notes what both sides want.
func (w *walk) begin(mine, theirs opening, initiator, responder [nonceSize]byte) {
	w.key = newTagKey(initiator, responder)
	w.mine, w.theirs = mine.patterns, theirs.patterns
}

// numberHeld gives a number to every topic that is held and that anybody wants, and
// returns their tags.
func (w *walk) numberHeld() []*karasuv1.SyncTopicTag {
	var out []*karasuv1.SyncTopicTag
	held := w.index.Topics(w.since)
	if len(held) > maxHelloTopics {
		// Random ones, so that each gets its turn.
		rand.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
	}
	for _, p := range held {
		if !w.relevant(p.Range.Topic) {
			continue
		}
		if len(out) == maxHelloTopics {
			w.res.More = true
			break
		}
		w.number(p.Range.Topic)
		out = append(out, &karasuv1.SyncTopicTag{Topic: p.Range.Topic.String(), Tag: w.key.of(p.Fingerprint)})
	}
	return out
}

// compareTopics prepares the initiator's first turn: what differs from the responder's
// topics, and those that it does not hold.
func (w *walk) compareTopics(theirs []topicTag) {
	listed := make(map[model.Topic]uint64, len(theirs))
	for _, t := range theirs {
		listed[t.topic] = t.tag
	}
	var differ []commons.Range
	held := w.index.Topics(w.since)
	for _, p := range held {
		tag, ok := listed[p.Range.Topic]
		delete(listed, p.Range.Topic)
		switch {
		case ok && tag != w.key.of(p.Fingerprint):
			differ = append(differ, p.Range)
		case !ok && matchAny(w.theirs, p.Range.Topic):
			if len(w.out.topics) == maxHelloTopics {
				w.res.More = true
				continue
			}
			w.number(p.Range.Topic)
			w.out.topics = append(w.out.topics, &karasuv1.SyncTopicTag{Topic: p.Range.Topic.String()})
			differ = append(differ, p.Range)
		}
	}
	for topic := range listed {
		differ = append(differ, commons.Range{Topic: topic})
	}
	rand.Shuffle(len(differ), func(i, j int) { differ[i], differ[j] = differ[j], differ[i] })
	for _, r := range differ {
		if w.relevant(r.Topic) {
			w.sayDays(r)
		}
	}
}

// converse takes turns until one is empty, and says whether that was this side's.
func (w *walk) converse(speak bool) (last bool, err error) {
	for range maxTurns {
		var empty bool
		if speak {
			empty, err = w.speak()
		} else {
			empty, err = w.listen()
		}
		if err != nil || empty {
			return speak, err
		}
		speak = !speak
	}
	return false, fmt.Errorf("%w: ranges are compared without an end", ErrProtocol)
}

// transfer moves records, once both sides know what they lack. The side that did not
// have the last word begins.
func (w *walk) transfer(ctx context.Context, last bool) error {
	if w.offersSent == 0 && w.offersRead == 0 {
		return nil
	}
	var wanted []commons.ID
	if last {
		more, err := w.f.turn(func(frame *karasuv1.SyncFrame) error {
			if m := frame.GetWant(); m != nil {
				return appendWants(&wanted, m)
			}
			return unexpected(frame)
		})
		if err != nil {
			return err
		}
		w.res.More = w.res.More || more
		if err := sendRecords(w.f, w.r, wanted, w.res); err != nil {
			return err
		}
	}
	fetch := claim(w.r, w.offered, w.res)
	if err := sendWants(w.f, fetch.ids); err != nil {
		return err
	}
	if err := w.f.end(w.res.More); err != nil {
		return err
	}
	if last {
		return readRecords(ctx, w.f, w.r, fetch, nil, w.res)
	}
	if err := readRecords(ctx, w.f, w.r, fetch, &wanted, w.res); err != nil {
		return err
	}
	if err := sendRecords(w.f, w.r, wanted, w.res); err != nil {
		return err
	}
	return w.f.end(w.res.More)
}
