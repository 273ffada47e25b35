package exchange

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// sendIDs lists the ids of topics that differ and that one side wants.
func sendIDs(f *framer, held *Snapshot, theirs hello, patterns []Pattern) (listed map[model.Topic]bool, more bool, err error) {
	var differ []model.Topic
	for topic, theirSum := range theirs.topics {
		set := held.topics[topic]
		switch {
		case set == nil && matchAny(patterns, topic),
			set != nil && set.fingerprint != theirSum && (matchAny(patterns, topic) || matchAny(theirs.patterns, topic)):
			differ = append(differ, topic)
		}
	}
	for topic := range held.topics {
		if _, both := theirs.topics[topic]; !both && matchAny(theirs.patterns, topic) {
			differ = append(differ, topic)
		}
	}
	rand.Shuffle(len(differ), func(i, j int) { differ[i], differ[j] = differ[j], differ[i] })
	if len(differ) > maxHelloTopics {
		differ, more = differ[:maxHelloTopics], true
	}
	listed = make(map[model.Topic]bool, len(differ))
	budget := maxSessionIDs
	for _, topic := range differ {
		ids := held.ids(topic)
		if budget == 0 && len(ids) > 0 {
			more = true
			continue
		}
		var low, high []byte
		if len(ids) > budget {
			// A random window, whose neighbours bound what the list says.
			from := rand.IntN(len(ids) - budget + 1)
			ids, more = ids[from:from+budget], true
			low, high = ids[0][:], ids[len(ids)-1][:]
		}
		budget -= len(ids)
		listed[topic] = true
		for {
			part := ids[:min(len(ids), idsPerFrame)]
			ids = ids[len(part):]
			err := f.write(&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Ids{Ids: &karasuv1.SyncIds{
				Topic: topic.String(), Ids: packIDs(part), Low: low, High: high,
			}}})
			if err != nil {
				return nil, false, err
			}
			if len(ids) == 0 {
				break
			}
		}
	}
	return listed, more, f.end(more)
}

// idList is what the initiator holds of a topic from low to high.
type idList struct {
	ids       []commons.ID
	low, high commons.ID
}

func readIDs(f *framer) (map[model.Topic]*idList, error) {
	lists := make(map[model.Topic]*idList)
	count := 0
	_, err := f.turn(func(frame *karasuv1.SyncFrame) error {
		m := frame.GetIds()
		if m == nil {
			return unexpected(frame)
		}
		topic, ids, err := readList(m.GetTopic(), m.GetIds(), true)
		if err != nil {
			return err
		}
		low, high, err := readRange(m.GetLow(), m.GetHigh())
		if err != nil {
			return err
		}
		l := lists[topic]
		switch {
		case l == nil && len(lists) == maxHelloTopics:
			return fmt.Errorf("%w: ids of too many topics", ErrProtocol)
		case l == nil:
			l = &idList{low: low, high: high}
			lists[topic] = l
		case len(ids) == 0 || l.low != low || l.high != high:
			return fmt.Errorf("%w: list of %s is not continued as it began", ErrProtocol, topic)
		}
		if count += len(ids); count > maxSessionIDs {
			return fmt.Errorf("%w: more than %d ids", ErrProtocol, maxSessionIDs)
		}
		l.ids = append(l.ids, ids...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for topic, l := range lists {
		if !slices.IsSortedFunc(l.ids, compareIDs) {
			return nil, fmt.Errorf("%w: ids of %s are not sorted", ErrProtocol, topic)
		}
	}
	return lists, nil
}

func readList(name string, packed []byte, emptyToo bool) (model.Topic, []commons.ID, error) {
	topic, err := model.ParseTopic(name)
	if err != nil {
		return topic, nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	ids, err := unpackIDs(packed)
	if err == nil && len(ids) == 0 && !emptyToo {
		err = fmt.Errorf("%w: empty list", ErrProtocol)
	}
	return topic, ids, err
}

func readRange(low, high []byte) (l, h commons.ID, err error) {
	for i := range h {
		h[i] = 0xff
	}
	for _, b := range []struct {
		raw []byte
		to  *commons.ID
	}{{low, &l}, {high, &h}} {
		switch len(b.raw) {
		case 0:
		case len(commons.ID{}):
			*b.to = commons.ID(b.raw)
		default:
			return l, h, fmt.Errorf("%w: range bound of %d bytes", ErrProtocol, len(b.raw))
		}
	}
	if bytes.Compare(l[:], h[:]) > 0 {
		return l, h, fmt.Errorf("%w: empty range", ErrProtocol)
	}
	return l, h, nil
}
