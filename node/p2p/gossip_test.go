package p2p

import (
	"bytes"
	"fmt"
	"testing"

	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/peer"
)

func TestMessageID(t *testing.T) {
	msg := func(topic, data, seq string) *pb.Message {
		return &pb.Message{Topic: &topic, Data: []byte(data), Seqno: []byte(seq)}
	}
	if messageID(msg("a", "b", "1")) != messageID(msg("a", "b", "2")) {
		t.Error("one record by two ways is two messages")
	}
	if messageID(msg("a", "b", "1")) == messageID(msg("ab", "", "1")) || messageID(msg("a", "b", "1")) == messageID(msg("a", "c", "1")) {
		t.Error("two records are one message")
	}
}

func TestSubscriptionFilter(t *testing.T) {
	f := newSubscriptionFilter()
	sub := func(on bool, topics ...string) (out []*pb.RPC_SubOpts) {
		for _, s := range topics {
			out = append(out, &pb.RPC_SubOpts{Topicid: &s, Subscribe: &on})
		}
		return out
	}
	from := peer.ID("p")
	var many []string
	for i := range 2 * MaxPeerTopics {
		many = append(many, fmt.Sprintf("/karasu/1/a/b/%d", i))
	}
	kept, err := f.FilterIncomingSubscriptions(from, sub(true, append(many, "/other/topic", "/karasu/"+string(bytes.Repeat([]byte("x"), 300)))...))
	if err != nil || len(kept) != MaxPeerTopics {
		t.Fatalf("kept %d, %v", len(kept), err)
	}
	if kept, _ = f.FilterIncomingSubscriptions(from, sub(true, many[MaxPeerTopics])); len(kept) != 0 {
		t.Error("one more is kept")
	}
	if kept, _ = f.FilterIncomingSubscriptions(from, sub(false, many[0])); len(kept) != 1 {
		t.Error("leaving is not passed on")
	}
	if kept, _ = f.FilterIncomingSubscriptions(from, sub(true, many[MaxPeerTopics])); len(kept) != 1 {
		t.Error("a free place is not used")
	}
	if kept, _ = f.FilterIncomingSubscriptions("q", sub(true, many[0])); len(kept) != 1 {
		t.Error("one peer's topics count against another")
	}
	f.forget(from)
	if kept, _ = f.FilterIncomingSubscriptions(from, sub(true, many[0])); len(kept) != 1 {
		t.Error("a peer that came back has no place")
	}
}
