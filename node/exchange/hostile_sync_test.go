package exchange

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

func (h *hostile) open(n *node) network.Stream {
	h.t.Helper()
	s, err := h.host.NewStream(h.t.Context(), n.net.ID(), n.ex.opts.Reconciler.Protocol())
	if err != nil {
		h.t.Fatal(err)
	}
	if err := s.SetDeadline(time.Now().Add(patience)); err != nil {
		h.t.Fatal(err)
	}
	return s
}

type byteReader struct{ io.Reader }

func (r byteReader) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(r, b[:])
	return b[0], err
}

func readFrame(t testing.TB, s network.Stream) *karasuv1.SyncFrame {
	t.Helper()
	frame := new(karasuv1.SyncFrame)
	if err := protodelim.UnmarshalFrom(byteReader{s}, frame); err != nil {
		t.Fatal(err)
	}
	return frame
}

func send(t testing.TB, s network.Stream, frames ...*karasuv1.SyncFrame) {
	t.Helper()
	for _, f := range frames {
		if _, err := protodelim.MarshalTo(s, f); err != nil {
			t.Fatal(err)
		}
	}
}

func endFrame() *karasuv1.SyncFrame {
	return &karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_End{End: &karasuv1.SyncEnd{}}}
}

func helloFrame(topics ...*karasuv1.SyncTopic) *karasuv1.SyncFrame {
	return &karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Hello{Hello: &karasuv1.SyncHello{Topics: topics, Patterns: []string{EveryTopic}}}}
}

func recordsFrame(envelopes ...[]byte) *karasuv1.SyncFrame {
	return &karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Records{Records: &karasuv1.SyncRecords{Envelopes: envelopes}}}
}

func idsFrame(t model.Topic, ids ...commons.ID) *karasuv1.SyncFrame {
	return &karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Ids{Ids: &karasuv1.SyncIds{Topic: t.String(), Ids: packIDs(ids)}}}
}

// ended waits until the node has reset or closed a stream.
func ended(t testing.TB, s network.Stream) {
	t.Helper()
	_, err := io.Copy(io.Discard, s)
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		t.Fatal("the stream was not ended")
	}
}

// TestHostileDigest: each breach of the digest exchange ends the stream and is counted.
func TestHostileDigest(t *testing.T) {
	lie := &karasuv1.SyncTopic{Topic: pagerank.String(), Count: 1, Fingerprint: make([]byte, 32)}
	author := newKey(t)
	bad := seal(t, author, pagerank, 1, func(r *karasuv1.Record) { r.Body = []byte("\xff") })
	fine := seal(t, author, pagerank, 2, nil)
	cases := map[string]script{
		"no frame type":      {[]*karasuv1.SyncFrame{{}}, Protocol},
		"out of turn":        {[]*karasuv1.SyncFrame{recordsFrame([]byte("x"))}, Protocol},
		"topic that is none": {[]*karasuv1.SyncFrame{helloFrame(&karasuv1.SyncTopic{Topic: "/etc/passwd", Fingerprint: make([]byte, 32)})}, Protocol},
		"short fingerprint":  {[]*karasuv1.SyncFrame{helloFrame(&karasuv1.SyncTopic{Topic: pagerank.String()})}, Protocol},
		"topic twice":        {[]*karasuv1.SyncFrame{helloFrame(lie, lie)}, Protocol},
		"unsorted ids":       {[]*karasuv1.SyncFrame{helloFrame(lie), endFrame(), idsFrame(pagerank, commons.ID{2}, commons.ID{1}), endFrame()}, Protocol},
		"cut id": {[]*karasuv1.SyncFrame{helloFrame(lie), endFrame(), {Frame: &karasuv1.SyncFrame_Ids{Ids: &karasuv1.SyncIds{
			Topic: pagerank.String(), Ids: make([]byte, 31),
		}}}}, Protocol},
		"record that was not asked for": {[]*karasuv1.SyncFrame{helloFrame(lie), endFrame(), idsFrame(pagerank, commons.ID{1}), endFrame(), recordsFrame(fine.Envelope)}, Unasked},
		"bad body":                      {[]*karasuv1.SyncFrame{helloFrame(lie), endFrame(), idsFrame(pagerank, bad.ID), endFrame(), recordsFrame(bad.Envelope)}, BadBody},
		"forged record":                 {[]*karasuv1.SyncFrame{helloFrame(lie), endFrame(), idsFrame(pagerank, fine.ID), endFrame(), recordsFrame(forge(t, fine.Envelope))}, Forged},
		"record of another topic":       {[]*karasuv1.SyncFrame{helloFrame(lie), endFrame(), idsFrame(kmeans, fine.ID), endFrame(), recordsFrame(fine.Envelope)}, WrongTopic},
	}
	b := startNode(t, func(o *Options) { o.Reconciler = NewDigest(DefaultFrameTimeout) })
	breach(t, b, cases)
}

// script is what a hostile peer says on a stream, whatever it hears, and what that is
// refused as.
type script struct {
	frames []*karasuv1.SyncFrame
	reason Reason
}

// breach plays scripts to a node that holds nothing. Each must end the stream, be
// counted, and leave nothing behind.
func breach(t *testing.T, b *node, cases map[string]script) {
	t.Helper()
	before, err := b.db.Entries(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := newHostile(t)
			m.connect(b)
			counted := b.ex.Stats().Rejected[c.reason]
			s := m.open(b)
			for _, f := range c.frames {
				if _, err := protodelim.MarshalTo(s, f); err != nil {
					break // Cut off already.
				}
			}
			if err := s.CloseWrite(); err == nil {
				ended(t, s)
			}
			eventually(t, "counted as "+string(c.reason), func() bool { return b.ex.Stats().Rejected[c.reason] > counted })
			entries, err := b.db.Entries(nil)
			if err != nil || len(entries) != len(before) {
				t.Errorf("%d records are stored, %v", len(entries)-len(before), err)
			}
		})
	}
}

// TestCensorshipByWrongTopic: a peer that offers a genuine record under another
// topic does not keep the node from getting it elsewhere.
func TestCensorshipByWrongTopic(t *testing.T) {
	a, b := startNode(t, nil), startNode(t, nil)
	r := a.publish(pagerank, 1)
	m := newHostile(t)
	m.connect(b)
	s := m.open(b)
	send(t, s, openFrame(), endFrame(), offerFrame(kmeans, r.ID), endFrame(), endFrame(), recordsFrame(r.Envelope), endFrame())
	eventually(t, "counted", func() bool { return b.ex.Stats().Rejected[WrongTopic] == 1 })
	a.connect(b)
	eventually(t, "the record from an honest peer", func() bool { return b.holds(r) })
}

// TestRawBytesOnTheSyncStream: what is no frame at all.
func TestRawBytesOnTheSyncStream(t *testing.T) {
	b := startNode(t, nil)
	m := newHostile(t)
	m.connect(b)
	for _, raw := range []string{"GET / HTTP/1.1\r\n\r\n", "\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "\x00\x00\x00\x00"} {
		s := m.open(b)
		if _, err := io.WriteString(s, raw); err != nil {
			t.Fatal(err)
		}
		if err := s.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		ended(t, s)
		// The next stream would be refused as busy while this one is being put away.
		eventually(t, "the session is over", func() bool {
			b.ex.mu.Lock()
			defer b.ex.mu.Unlock()
			return b.ex.inbound == 0
		})
	}
	eventually(t, "failed sessions", func() bool { return b.ex.Stats().SyncsFailed == 3 })
}

// TestSlowLoris: a peer that says nothing, or a byte now and then, is cut, and does
// not keep others out meanwhile.
func TestSlowLoris(t *testing.T) {
	a := startNode(t, nil)
	b := startNode(t, func(o *Options) { o.FrameTimeout = 300 * time.Millisecond })
	r := b.publish(pagerank, 1)
	m := newHostile(t)
	m.connect(b)
	s := m.open(b)
	if _, err := s.Write([]byte{0x20}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the session began", func() bool {
		b.ex.mu.Lock()
		defer b.ex.mu.Unlock()
		return b.ex.inbound == 1
	})
	// A second stream of the same peer is not served.
	s2 := m.open(b)
	if frame := readFrame(t, s2); frame.GetRefusal().GetReason() != string(Busy) {
		t.Errorf("second stream: %v", frame)
	}
	if err := s2.Reset(); err != nil {
		t.Error(err)
	}
	a.connect(b)
	eventually(t, "others are served", func() bool { return a.holds(r) })
	ended(t, s)
	eventually(t, "counted as slow", func() bool { return b.ex.Stats().Rejected[TooSlow] == 1 })
}

// TestRateOfSessions: a peer that opens sessions in a row is told to wait.
func TestRateOfSessions(t *testing.T) {
	b := startNode(t, nil)
	m := newHostile(t)
	m.connect(b)
	eventually(t, "too often", func() bool {
		s := m.open(b)
		send(t, s, openFrame(), endFrame())
		reason := readFrame(t, s).GetRefusal().GetReason()
		if err := s.Reset(); err != nil {
			t.Fatal(err)
		}
		return reason == string(TooOften)
	})
}
