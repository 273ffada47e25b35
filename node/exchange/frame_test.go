package exchange

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// FuzzDecodeFrame: whatever comes, the decoder returns, within its bounds, and what
// it accepts can be written again.
func FuzzDecodeFrame(f *testing.F) {
	for _, m := range []*karasuv1.SyncFrame{
		{},
		{Frame: &karasuv1.SyncFrame_End{End: &karasuv1.SyncEnd{More: true}}},
		{Frame: &karasuv1.SyncFrame_Hello{Hello: &karasuv1.SyncHello{Patterns: []string{EveryTopic}, Topics: []*karasuv1.SyncTopic{{Topic: pagerank.String(), Count: 3, Fingerprint: make([]byte, 32)}}}}},
		{Frame: &karasuv1.SyncFrame_Ids{Ids: &karasuv1.SyncIds{Topic: pagerank.String(), Ids: make([]byte, 64), Low: make([]byte, 32), High: make([]byte, 32)}}},
		{Frame: &karasuv1.SyncFrame_Want{Want: &karasuv1.SyncWant{Ids: make([]byte, 32)}}},
		{Frame: &karasuv1.SyncFrame_Records{Records: &karasuv1.SyncRecords{Envelopes: [][]byte{{1, 2, 3}}}}},
		{Frame: &karasuv1.SyncFrame_Refusal{Refusal: &karasuv1.SyncRefusal{Reason: "busy"}}},
	} {
		var b bytes.Buffer
		if _, err := protodelim.MarshalTo(&b, m); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add(protowire.AppendVarint(nil, 1<<62))
	f.Add([]byte{0x80, 0x80, 0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bufio.NewReader(bytes.NewReader(b))
		for {
			frame, _, err := decodeFrame(in)
			if err != nil {
				return
			}
			if _, err := proto.Marshal(frame); err != nil {
				t.Fatalf("accepted what cannot be written: %v", err)
			}
		}
	})
}

// FuzzTurns feeds a stream of bytes to either role of the reconciler.
func FuzzTurns(f *testing.F) {
	var hello, ids bytes.Buffer
	for _, m := range []*karasuv1.SyncFrame{
		{Frame: &karasuv1.SyncFrame_Hello{Hello: &karasuv1.SyncHello{Patterns: []string{EveryTopic}, Topics: []*karasuv1.SyncTopic{{Topic: pagerank.String(), Count: 3, Fingerprint: make([]byte, 32)}}}}},
		{Frame: &karasuv1.SyncFrame_End{End: &karasuv1.SyncEnd{}}},
	} {
		if _, err := protodelim.MarshalTo(&hello, m); err != nil {
			f.Fatal(err)
		}
	}
	ids.Write(hello.Bytes())
	for _, m := range []*karasuv1.SyncFrame{
		{Frame: &karasuv1.SyncFrame_Ids{Ids: &karasuv1.SyncIds{Topic: pagerank.String(), Ids: bytes.Repeat([]byte{7}, 32)}}},
		{Frame: &karasuv1.SyncFrame_End{End: &karasuv1.SyncEnd{}}},
		{Frame: &karasuv1.SyncFrame_Records{Records: &karasuv1.SyncRecords{Envelopes: [][]byte{{1}}}}},
	} {
		if _, err := protodelim.MarshalTo(&ids, m); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(true, hello.Bytes())
	f.Add(false, hello.Bytes())
	f.Add(false, ids.Bytes())
	f.Fuzz(func(t *testing.T, initiate bool, b []byte) {
		r := newMemory(1)
		r.put(pagerank, commons.ID{1})
		s := &scripted{Reader: bytes.NewReader(b)}
		d := NewDigest(time.Second)
		role := d.Respond
		if initiate {
			role = d.Initiate
		}
		before := len(r.held)
		if _, err := role(t.Context(), s, r); err == nil && len(r.held) < before {
			t.Fatal("a record was lost")
		}
	})
}

// scripted is a stream whose other side says what is given and hears nothing.
type scripted struct{ io.Reader }

func (*scripted) Write(b []byte) (int, error)      { return len(b), nil }
func (*scripted) SetReadDeadline(time.Time) error  { return nil }
func (*scripted) SetWriteDeadline(time.Time) error { return nil }

func TestFrameBounds(t *testing.T) {
	big := make([]byte, maxControlFrame)
	for name, c := range map[string]struct {
		frame *karasuv1.SyncFrame
		ok    bool
	}{
		"largest record":    {&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Records{Records: &karasuv1.SyncRecords{Envelopes: [][]byte{make([]byte, commons.MaxEnvelope)}}}}, true},
		"two large records": {&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Records{Records: &karasuv1.SyncRecords{Envelopes: [][]byte{big, big}}}}, false},
		"too large":         {&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Records{Records: &karasuv1.SyncRecords{Envelopes: [][]byte{make([]byte, commons.MaxEnvelope+64)}}}}, false},
		"large ids":         {&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Want{Want: &karasuv1.SyncWant{Ids: big}}}, false},
		"large hello":       {&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Hello{Hello: &karasuv1.SyncHello{Patterns: []string{strings.Repeat("x", maxControlFrame)}}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if _, err := protodelim.MarshalTo(&b, c.frame); err != nil {
				t.Fatal(err)
			}
			_, _, err := decodeFrame(bufio.NewReader(&b))
			if c.ok && err != nil || !c.ok && !errors.Is(err, ErrProtocol) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestSlowPeerIsCut: a peer that feeds byte by byte, always within the timeout of
// a frame's beginning, does not hold a session longer than its grace.
func TestSlowPeerIsCut(t *testing.T) {
	a, b := net.Pipe()
	defer func() { _, _ = a.Close(), b.Close() }()
	go func() {
		// Small valid frames, one at a time, for ever.
		for {
			if _, err := protodelim.MarshalTo(b, &karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Want{Want: &karasuv1.SyncWant{Ids: make([]byte, 32)}}}); err != nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	f := newFramer(a, 50*time.Millisecond)
	_, err := f.turn(func(*karasuv1.SyncFrame) error { return nil })
	if !errors.Is(err, ErrTooSlow) {
		t.Errorf("error %v", err)
	}
}

// FuzzRangeTurns feeds a stream of bytes to either role of the range exchange.
func FuzzRangeTurns(f *testing.F) {
	add := func(initiate bool, frames ...*karasuv1.SyncFrame) {
		var b bytes.Buffer
		for _, m := range frames {
			if _, err := protodelim.MarshalTo(&b, m); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(initiate, b.Bytes())
	}
	parts := &karasuv1.SyncRange{Kind: karasuv1.SyncRange_KIND_PARTS, Depth: 1, Day: 101, Mask: 3, Tags: []uint64{1, 2}}
	days := &karasuv1.SyncRange{Kind: karasuv1.SyncRange_KIND_PARTS, Days: []uint32{100, 101}, Tags: []uint64{1, 2}}
	list := &karasuv1.SyncRange{Kind: karasuv1.SyncRange_KIND_LIST, Depth: 2, Day: 101, Prefix: 7 << 60, Tags: []uint64{3}}
	lack := &karasuv1.SyncRange{Kind: karasuv1.SyncRange_KIND_LACK, Depth: 1, Day: 101, Tags: []uint64{3}}
	want := &karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Want{Want: &karasuv1.SyncWant{Ids: bytes.Repeat([]byte{1}, 32)}}}
	offer := offerFrame(pagerank, commons.ID{9})
	for _, initiate := range []bool{true, false} {
		add(initiate, openFrame(), endFrame())
		add(initiate, openFrame(), topicsFrame(pagerank.String()), endFrame(), rangesFrame(days, parts, list, lack), offer, endFrame(), endFrame(), want, endFrame())
		add(initiate, openFrame(), endFrame(), topicsFrame(pagerank.String()), rangesFrame(parts), endFrame(), offer, endFrame(), endFrame(), want, recordsFrame(bytes.Repeat([]byte{9}, 32)), endFrame())
	}
	f.Fuzz(func(t *testing.T, initiate bool, b []byte) {
		r := newMemory(1)
		for n := range 3 * commons.Leaf {
			r.put(pagerank, id(n))
		}
		s := &scripted{Reader: bytes.NewReader(b)}
		g := NewRanges(time.Second)
		role := g.Respond
		if initiate {
			role = g.Initiate
		}
		before := len(r.held)
		res, err := role(t.Context(), s, r)
		if len(r.held) != before+res.Stored {
			t.Fatalf("held %d, stored %d, now %d", before, res.Stored, len(r.held))
		}
		if err == nil && res.Sent > maxSessionWants {
			t.Fatalf("sent %d records", res.Sent)
		}
	})
}
