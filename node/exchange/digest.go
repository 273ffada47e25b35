package exchange

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// SyncProtocol is the stream protocol of the digest exchange.
const SyncProtocol protocol.ID = "/karasu/sync/1"

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
	maxSessionWants = 8192
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

func newDigest(timeout time.Duration) digest { return digest{timeout} }

// Protocol returns [SyncProtocol].
func (digest) Protocol() protocol.ID { return SyncProtocol }

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
				return fmt.Errorf("%w: topic %q", ErrProtocol, clip(t.GetTopic()))
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
	var res Result
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
	var res Result
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
		for part := range slices.Chunk(ids, idsPerFrame) {
			err := f.write(&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Offer{Offer: &karasuv1.SyncOffer{Topic: topic.String(), Ids: packIDs(part)}}})
			if err != nil {
				return res, err
			}
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

// fetchList is what a side has asked for.
type fetchList struct {
	ids   []commons.ID
	topic map[commons.ID]model.Topic
}

// claim picks from what the other side has, up to the session's limit.
func claim(r Replica, has map[model.Topic][]commons.ID, res *Result) fetchList {
	fetch := fetchList{topic: make(map[commons.ID]model.Topic)}
	for topic, ids := range has {
		for part := range slices.Chunk(ids, idsPerFrame) {
			room := maxSessionWants - len(fetch.ids)
			if room == 0 {
				res.More = true
				return fetch
			}
			if len(part) > room {
				part, res.More = part[:room], true
			}
			got, busy := r.Claim(part)
			res.Busy += busy
			for _, id := range got {
				fetch.topic[id] = topic
			}
			fetch.ids = append(fetch.ids, got...)
		}
	}
	return fetch
}

func sendWants(f *framer, ids []commons.ID) error {
	for part := range slices.Chunk(ids, idsPerFrame) {
		if err := f.write(&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Want{Want: &karasuv1.SyncWant{Ids: packIDs(part)}}}); err != nil {
			return err
		}
	}
	return nil
}

func appendWants(wanted *[]commons.ID, m *karasuv1.SyncWant) error {
	ids, err := unpackIDs(m.GetIds())
	if err != nil {
		return err
	}
	if len(ids) == 0 || len(*wanted)+len(ids) > maxSessionWants {
		return fmt.Errorf("%w: no or too many records are wanted", ErrProtocol)
	}
	*wanted = append(*wanted, ids...)
	return nil
}

// sendRecords hands over what the other side wants, within the session's limit.
// The order is the other side's; ids that are gone are left out.
func sendRecords(f *framer, r Replica, wanted []commons.ID, res *Result) error {
	var batch [][]byte
	size, total := 0, 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := f.write(&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Records{Records: &karasuv1.SyncRecords{Envelopes: batch}}})
		if err == nil {
			res.Sent += len(batch)
			r.Sent(len(batch))
		}
		batch, size = nil, 0
		return err
	}
	sent := make(map[commons.ID]struct{}, len(wanted))
	for _, id := range wanted {
		if _, twice := sent[id]; twice {
			return fmt.Errorf("%w: record %s is wanted twice", ErrProtocol, id)
		}
		sent[id] = struct{}{}
		env, err := r.Envelope(id)
		if errors.Is(err, commons.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if total += len(env); total > maxSessionBytes {
			res.More = true
			break
		}
		// A length and a tag are at most 5 bytes; 16 leave room for the frame's own.
		if size+len(env)+5 > maxControlFrame-16 {
			if err := flush(); err != nil {
				return err
			}
		}
		batch = append(batch, env)
		size += len(env) + 5
	}
	return flush()
}

// readRecords takes what was asked for, in batches, so that the disk is waited for
// once for each. If wanted is not nil, the turn may also say what the other side
// wants.
func readRecords(ctx context.Context, f *framer, r Replica, fetch fetchList, wanted *[]commons.ID, res *Result) error {
	var batch [][]byte
	left, total, size := len(fetch.ids), 0, 0
	admit := func() error {
		if len(batch) == 0 {
			return nil
		}
		stored, refused, err := r.Admit(ctx, fetch.topic, batch)
		res.Stored, res.Refused = res.Stored+stored, res.Refused+refused
		batch, size = nil, 0
		return err
	}
	more, err := f.turn(func(frame *karasuv1.SyncFrame) error {
		switch m := frame.GetFrame().(type) {
		case *karasuv1.SyncFrame_Want:
			if wanted != nil {
				return appendWants(wanted, m.Want)
			}
		case *karasuv1.SyncFrame_Records:
			envelopes := m.Records.GetEnvelopes()
			for _, e := range envelopes {
				size, total = size+len(e), total+len(e)
			}
			if left -= len(envelopes); left < 0 || len(envelopes) == 0 || total > maxSessionBytes {
				return fmt.Errorf("%w: records that were not asked for", ErrProtocol)
			}
			if batch = append(batch, envelopes...); size < admitBytes {
				return nil
			}
			return admit()
		}
		return unexpected(frame)
	})
	// What has come is good even if the stream broke.
	if aerr := admit(); aerr != nil {
		return errors.Join(err, aerr)
	}
	res.More = res.More || more
	return err
}
