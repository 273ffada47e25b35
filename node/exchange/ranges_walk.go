package exchange

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// walk is one side of a comparison. Ranges are looked up anew in every turn: what
// changes meanwhile is found now or in the next session.
type walk struct {
	f     *framer
	r     Replica
	index *commons.Index
	res   *Result
	since commons.Day
	key   tagKey

	mine, theirs []Pattern
	topics       []model.Topic // by number
	numbers      map[model.Topic]uint32

	// out is what the next turn says.
	out utterance
	// offered is what the other side has and this one lacks.
	offered map[model.Topic][]commons.ID
	// What was said so far.
	rangesSent, rangesRead, offersSent, offersRead int
}

// utterance is what one turn says.
type utterance struct {
	topics []*karasuv1.SyncTopicTag
	ranges []*karasuv1.SyncRange
	offers map[model.Topic][]commons.ID
}

func newWalk(f *framer, r Replica, res *Result) *walk {
	return &walk{
		f: f, r: r, index: r.Index(), res: res, numbers: make(map[model.Topic]uint32),
		out:     utterance{offers: make(map[model.Topic][]commons.ID)},
		offered: make(map[model.Topic][]commons.ID),
	}
}

// relevant says whether anybody wants a topic.
func (w *walk) relevant(t model.Topic) bool { return matchAny(w.mine, t) || matchAny(w.theirs, t) }

// number gives the next number to a topic.
func (w *walk) number(t model.Topic) {
	w.numbers[t] = uint32(len(w.topics))
	w.topics = append(w.topics, t)
}

// answer prepares what to say about ranges of the other side.
func (w *walk) answer(heard []heardRange) {
	// In random order, so that what a full turn or session leaves out is not always
	// the same.
	rand.Shuffle(len(heard), func(i, j int) { heard[i], heard[j] = heard[j], heard[i] })
	for _, h := range heard {
		if w.full() {
			w.res.More = true
			return
		}
		switch {
		case h.kind == karasuv1.SyncRange_KIND_LIST:
			w.answerList(h)
		case h.kind == karasuv1.SyncRange_KIND_LACK:
			w.answerLack(h)
		case h.at.Depth == commons.TopicDepth:
			w.answerDays(h)
		default:
			w.answerParts(h)
		}
	}
}

// full says whether a turn or the session has as many ranges as it may.
func (w *walk) full() bool {
	return len(w.out.ranges) >= maxTurnRanges || w.rangesSent+len(w.out.ranges) >= maxSessionRanges
}

// answerDays compares the days of a topic.
func (w *walk) answerDays(h heardRange) {
	theirs := make(map[commons.Day]uint64, len(h.days))
	for i, d := range h.days {
		theirs[d] = h.tags[i]
	}
	for _, p := range w.index.Days(h.at.Topic, w.since) {
		tag, ok := theirs[p.Range.Day]
		delete(theirs, p.Range.Day)
		if !ok || tag != w.key.of(p.Fingerprint) {
			w.descend(p.Range, ok)
		}
	}
	for _, d := range h.days {
		if _, only := theirs[d]; only && d >= w.since {
			w.descend(h.at.OfDay(d), true)
		}
	}
}

// answerParts compares the parts of a day or a smaller range.
func (w *walk) answerParts(h heardRange) {
	_, parts := w.index.Parts(h.at)
	if parts == nil {
		w.sayList(h.at)
		return
	}
	next := 0
	for i, p := range parts {
		held := p != commons.Fingerprint{}
		theirs := h.mask&(1<<i) != 0
		var tag uint64
		if theirs {
			tag = h.tags[next]
			next++
		}
		if held != theirs || held && tag != w.key.of(p) {
			w.descend(h.at.Part(i), theirs)
		}
	}
}

// descend goes on with a range below a topic that differs. What the other side has
// nothing of is offered at once.
func (w *walk) descend(r commons.Range, theirs bool) {
	count, parts := w.index.Parts(r)
	switch {
	case !theirs:
		w.offerSome(r, count, nil)
	case parts == nil:
		w.sayList(r)
	default:
		m := w.wire(karasuv1.SyncRange_KIND_PARTS, r)
		for i, p := range parts {
			if p != (commons.Fingerprint{}) {
				m.Mask |= 1 << i
				m.Tags = append(m.Tags, w.key.of(p))
			}
		}
		w.say(m)
	}
}

// answerList offers what a list lacks and asks for what is in it and not held.
func (w *walk) answerList(h heardRange) {
	theirs := make(map[uint64]struct{}, len(h.tags))
	for _, tag := range h.tags {
		theirs[tag] = struct{}{}
	}
	count, _ := w.index.Parts(h.at)
	w.offerSome(h.at, count, theirs)
	if !matchAny(w.mine, h.at.Topic) {
		return
	}
	// Of a range that is too large to look at all of it, some of these may be held. They
	// are few, and what is held is not fetched.
	m := w.wire(karasuv1.SyncRange_KIND_LACK, h.at)
	for _, tag := range h.tags {
		if _, lacking := theirs[tag]; lacking {
			m.Tags = append(m.Tags, tag)
		}
	}
	if len(m.Tags) > 0 {
		w.say(m)
	}
}

// offerSome offers the records of a range whose tags are not among the other side's,
// up to the session's limit, and deletes from these what is held too.
func (w *walk) offerSome(r commons.Range, count int, theirs map[uint64]struct{}) {
	room := 0
	wanted := matchAny(w.theirs, r.Topic)
	if wanted {
		room = maxSessionWants - w.offersSent
	}
	limit, skip := room+len(theirs)+commons.Leaf, 0
	if count > limit {
		skip = rand.IntN(count - limit + 1)
		w.res.More = w.res.More || wanted
	}
	for _, id := range w.index.IDs(r, skip, limit) {
		tag := w.key.ofID(id)
		if _, both := theirs[tag]; both {
			delete(theirs, tag)
			continue
		}
		if !wanted {
			continue
		}
		if room == 0 {
			w.res.More = true
			continue
		}
		room--
		w.offer(r.Topic, id)
	}
}

// answerLack offers what the other side lacks of a list.
func (w *walk) answerLack(h heardRange) {
	for _, id := range w.index.IDs(h.at, 0, maxList) {
		if slices.Contains(h.tags, w.key.ofID(id)) {
			if w.offersSent == maxSessionWants {
				w.res.More = true
				return
			}
			w.offer(h.at.Topic, id)
		}
	}
}

func (w *walk) offer(t model.Topic, id commons.ID) {
	w.offersSent++
	w.out.offers[t] = append(w.out.offers[t], id)
}

// sayDays speaks of the days of a topic.
func (w *walk) sayDays(r commons.Range) {
	days := w.index.Days(r.Topic, w.since)
	if len(days) > maxDays {
		days = days[len(days)-maxDays:] // The others have expired long ago.
	}
	m := w.wire(karasuv1.SyncRange_KIND_PARTS, r)
	for _, p := range days {
		m.Days = append(m.Days, uint32(p.Range.Day))
		m.Tags = append(m.Tags, w.key.of(p.Fingerprint))
	}
	w.say(m)
}

// sayList lists the ids of a range with few of them.
func (w *walk) sayList(r commons.Range) {
	m := w.wire(karasuv1.SyncRange_KIND_LIST, r)
	for _, id := range w.index.IDs(r, 0, maxList) {
		m.Tags = append(m.Tags, w.key.ofID(id))
	}
	w.say(m)
}

// say adds a range to the next turn if there is room.
func (w *walk) say(m *karasuv1.SyncRange) {
	if w.full() {
		w.res.More = true
		return
	}
	w.out.ranges = append(w.out.ranges, m)
}

// speak takes a turn and says whether it was empty.
func (w *walk) speak() (empty bool, err error) {
	out := w.out
	w.out = utterance{offers: make(map[model.Topic][]commons.ID)}
	w.rangesSent += len(out.ranges)
	if err := w.sendTopics(out.topics); err != nil {
		return false, err
	}
	if err := w.sendRanges(out.ranges); err != nil {
		return false, err
	}
	for topic, ids := range out.offers {
		if err := sendOffer(w.f, topic, ids); err != nil {
			return false, err
		}
	}
	return len(out.ranges)+len(out.offers) == 0, w.f.end(w.res.More)
}

// listen reads a turn of the other side, prepares the answer, and says whether it was
// empty.
func (w *walk) listen() (empty bool, err error) {
	var heard []heardRange
	offers := 0
	more, err := w.f.turn(func(frame *karasuv1.SyncFrame) error {
		switch m := frame.GetFrame().(type) {
		case *karasuv1.SyncFrame_Topics:
			tags, err := readTopics(m.Topics)
			if err != nil {
				return err
			}
			return w.numberHeard(tags)
		case *karasuv1.SyncFrame_Ranges:
			if w.rangesRead += len(m.Ranges.GetRanges()); w.rangesRead > maxSessionRanges {
				return fmt.Errorf("%w: more than %d ranges", ErrProtocol, maxSessionRanges)
			}
			for _, r := range m.Ranges.GetRanges() {
				h, err := w.readRange(r)
				if err != nil {
					return err
				}
				heard = append(heard, h)
			}
			return nil
		case *karasuv1.SyncFrame_Offer:
			topic, ids, err := readList(m.Offer.GetTopic(), m.Offer.GetIds(), false)
			if err != nil {
				return err
			}
			if w.offersRead += len(ids); w.offersRead > maxSessionWants || !matchAny(w.mine, topic) {
				return fmt.Errorf("%w: too much or unwanted is offered", ErrProtocol)
			}
			offers += len(ids)
			w.offered[topic] = append(w.offered[topic], ids...)
			return nil
		}
		return unexpected(frame)
	})
	if err != nil {
		return false, err
	}
	w.res.More = w.res.More || more
	w.answer(heard)
	return len(heard)+offers == 0, nil
}
