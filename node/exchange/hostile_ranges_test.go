package exchange

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// openFrame opens a session with a fingerprint that nobody has.
func openFrame() *karasuv1.SyncFrame {
	return &karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Open{Open: &karasuv1.SyncOpen{
		Root: bytes.Repeat([]byte{0xff}, 32), Nonce: make([]byte, nonceSize), Patterns: []string{EveryTopic},
	}}}
}

func topicsFrame(topics ...string) *karasuv1.SyncFrame {
	m := new(karasuv1.SyncTopicTags)
	for _, t := range topics {
		m.Topics = append(m.Topics, &karasuv1.SyncTopicTag{Topic: t, Tag: 1})
	}
	return &karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Topics{Topics: m}}
}

func rangesFrame(ranges ...*karasuv1.SyncRange) *karasuv1.SyncFrame {
	return &karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Ranges{Ranges: &karasuv1.SyncRanges{Ranges: ranges}}}
}

func offerFrame(t model.Topic, ids ...commons.ID) *karasuv1.SyncFrame {
	return &karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Offer{Offer: &karasuv1.SyncOffer{Topic: t.String(), Ids: packIDs(ids)}}}
}

// today is the day of the tests' records.
func today() uint32 { return uint32(commons.DayOf(time.Now())) }

// TestHostileRanges: each breach of the range exchange ends the stream and is counted.
func TestHostileRanges(t *testing.T) {
	author := newKey(t)
	bad := seal(t, author, pagerank, 1, func(r *karasuv1.Record) { r.Body = []byte("\xff") })
	fine := seal(t, author, pagerank, 2, nil)
	said := func(r *karasuv1.SyncRange) script {
		return script{[]*karasuv1.SyncFrame{openFrame(), endFrame(), topicsFrame(pagerank.String()), rangesFrame(r), endFrame()}, Protocol}
	}
	brought := func(t model.Topic, id commons.ID, envelope []byte, reason Reason) script {
		return script{[]*karasuv1.SyncFrame{openFrame(), endFrame(), offerFrame(t, id), endFrame(), endFrame(), recordsFrame(envelope), endFrame()}, reason}
	}
	parts, list, lack := karasuv1.SyncRange_KIND_PARTS, karasuv1.SyncRange_KIND_LIST, karasuv1.SyncRange_KIND_LACK
	many := make([]*karasuv1.SyncFrame, 0, 40)
	many = append(many, openFrame(), endFrame(), topicsFrame(pagerank.String()))
	for range maxSessionRanges/2048 + 1 {
		some := make([]*karasuv1.SyncRange, 2048)
		for i := range some {
			some[i] = &karasuv1.SyncRange{Kind: list, Depth: 1, Day: today()}
		}
		many = append(many, rangesFrame(some...))
	}
	breach(t, startNode(t, nil), map[string]script{
		"no frame type":        {[]*karasuv1.SyncFrame{{}}, Protocol},
		"no opening":           {[]*karasuv1.SyncFrame{endFrame()}, Protocol},
		"opening of a digest":  {[]*karasuv1.SyncFrame{helloFrame()}, Protocol},
		"two openings":         {[]*karasuv1.SyncFrame{openFrame(), openFrame()}, Protocol},
		"topics too early":     {[]*karasuv1.SyncFrame{openFrame(), topicsFrame(pagerank.String()), endFrame()}, Protocol},
		"short root":           {[]*karasuv1.SyncFrame{{Frame: &karasuv1.SyncFrame_Open{Open: &karasuv1.SyncOpen{Root: []byte{1}, Nonce: make([]byte, nonceSize)}}}}, Protocol},
		"no nonce":             {[]*karasuv1.SyncFrame{{Frame: &karasuv1.SyncFrame_Open{Open: &karasuv1.SyncOpen{}}}}, Protocol},
		"no such day":          {[]*karasuv1.SyncFrame{{Frame: &karasuv1.SyncFrame_Open{Open: &karasuv1.SyncOpen{Nonce: make([]byte, nonceSize), SinceDay: 1 << 31}}}}, Protocol},
		"bad pattern":          {[]*karasuv1.SyncFrame{{Frame: &karasuv1.SyncFrame_Open{Open: &karasuv1.SyncOpen{Nonce: make([]byte, nonceSize), Patterns: []string{"../*"}}}}}, Protocol},
		"topic that is none":   {[]*karasuv1.SyncFrame{openFrame(), endFrame(), topicsFrame("/etc/passwd")}, Protocol},
		"topic twice":          {[]*karasuv1.SyncFrame{openFrame(), endFrame(), topicsFrame(pagerank.String(), pagerank.String())}, Protocol},
		"no topics":            {[]*karasuv1.SyncFrame{openFrame(), endFrame(), topicsFrame()}, Protocol},
		"too many ranges":      {many, Protocol},
		"unnumbered topic":     said(&karasuv1.SyncRange{Kind: list, Topic: 1 << 31, Depth: 1}),
		"no kind":              said(&karasuv1.SyncRange{Depth: 1}),
		"too deep":             said(&karasuv1.SyncRange{Kind: list, Depth: 1 << 31}),
		"prefix of a day":      said(&karasuv1.SyncRange{Kind: list, Depth: 1, Prefix: 1}),
		"days twice":           said(&karasuv1.SyncRange{Kind: parts, Days: []uint32{7, 7}, Tags: []uint64{1, 2}}),
		"days without tags":    said(&karasuv1.SyncRange{Kind: parts, Days: []uint32{7}}),
		"mask without tags":    said(&karasuv1.SyncRange{Kind: parts, Depth: 1, Mask: 3, Tags: []uint64{1}}),
		"wide mask":            said(&karasuv1.SyncRange{Kind: parts, Depth: 1, Mask: 1 << 16, Tags: []uint64{1}}),
		"parts of the deepest": said(&karasuv1.SyncRange{Kind: parts, Depth: commons.MaxDepth, Mask: 1, Tags: []uint64{1}}),
		"list of a topic":      said(&karasuv1.SyncRange{Kind: list, Tags: []uint64{1}}),
		"long list":            said(&karasuv1.SyncRange{Kind: list, Depth: 1, Tags: make([]uint64, maxList+1)}),
		"lack of nothing":      said(&karasuv1.SyncRange{Kind: lack, Depth: 1}),
		"want out of turn":     {[]*karasuv1.SyncFrame{openFrame(), endFrame(), {Frame: &karasuv1.SyncFrame_Want{Want: &karasuv1.SyncWant{Ids: make([]byte, 32)}}}}, Protocol},
		"cut id":               {[]*karasuv1.SyncFrame{openFrame(), endFrame(), {Frame: &karasuv1.SyncFrame_Offer{Offer: &karasuv1.SyncOffer{Topic: pagerank.String(), Ids: make([]byte, 31)}}}}, Protocol},
		"unasked":              brought(pagerank, commons.ID{1}, fine.Envelope, Unasked),
		"bad body":             brought(pagerank, bad.ID, bad.Envelope, BadBody),
		"forged record":        brought(pagerank, fine.ID, forge(t, fine.Envelope), Forged),
		"other topic":          brought(kmeans, fine.ID, fine.Envelope, WrongTopic),
	})
}

// endOfTurn reads a turn of the node and says whether it came to its end.
func endOfTurn(s network.Stream) bool {
	for {
		frame := new(karasuv1.SyncFrame)
		if err := protodelim.UnmarshalFrom(byteReader{s}, frame); err != nil {
			return false
		}
		if frame.GetEnd() != nil {
			return true
		}
	}
}

// TestEndlessComparison: a peer whose fingerprints differ in every turn, at the same
// range for ever, is cut off after so many turns as an honest one can need.
func TestEndlessComparison(t *testing.T) {
	b := startNode(t, nil)
	for i := range 2 * commons.Leaf {
		b.publish(pagerank, i)
	}
	m := newHostile(t)
	m.connect(b)
	s := m.open(b)
	send(t, s, openFrame(), endFrame())
	turns, tag := 0, uint64(0)
	for endOfTurn(s) {
		turns++
		r := &karasuv1.SyncRange{Kind: karasuv1.SyncRange_KIND_PARTS, Depth: 1, Day: today(), Mask: 1<<commons.Fanout - 1}
		for range commons.Fanout {
			tag++
			r.Tags = append(r.Tags, tag)
		}
		for _, f := range []*karasuv1.SyncFrame{rangesFrame(r), endFrame()} {
			if _, err := protodelim.MarshalTo(s, f); err != nil {
				break
			}
		}
	}
	if turns > maxTurns {
		t.Errorf("%d turns, at most %d", turns, maxTurns)
	}
	eventually(t, "counted", func() bool { return b.ex.Stats().Rejected[Protocol] == 1 })
	if turns < 2 {
		t.Errorf("cut off after %d turns, before there was a reason to", turns)
	}
}

// TestLyingResponder: a peer that never agrees, offers ids of records that it never
// sends, and always has more, does not keep a node from others.
func TestLyingResponder(t *testing.T) {
	a, b := startNode(t, nil), startNode(t, nil)
	a.publish(kmeans, 7) // so that there is something to compare
	r := b.publish(pagerank, 1)
	m := newHostile(t)
	ids := []commons.ID{r.ID}
	for n := range 100 {
		ids = append(ids, id(n))
	}
	more := &karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_End{End: &karasuv1.SyncEnd{More: true}}}
	sessions := make(chan struct{}, 1000)
	m.host.SetStreamHandler(RangeProtocol, func(s network.Stream) {
		defer s.Close() //nolint:errcheck // the liar does not care
		sessions <- struct{}{}
		// Its opening; offers in place of an answer; nothing more to say; no records.
		for _, turn := range [][]*karasuv1.SyncFrame{{openFrame(), more}, {offerFrame(pagerank, ids...), more}, {more}, {more}} {
			if !endOfTurn(s) {
				return
			}
			for _, f := range turn {
				if _, err := protodelim.MarshalTo(s, f); err != nil {
					return
				}
			}
		}
		_, _ = io.Copy(io.Discard, s)
	})
	m.connect(a)
	syncNow(t, a) // Ends, although the liar always has more.
	if len(sessions) == 0 {
		t.Fatal("the liar was not asked")
	}
	b.connect(a)
	eventually(t, "the honest record", func() bool { return a.holds(r) })
}
