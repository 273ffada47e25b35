package node_test

import (
	"slices"
	"testing"

	"github.com/karasu-project/karasu/node"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// TestWhatLeftIsOnRecord: every own record that a peer holds is in the audit log with
// that peer, and what a node only passes on is not.
func TestWhatLeftIsOnRecord(t *testing.T) {
	author, reader := startNode(t, "acme", nil, node.Options{}), startNode(t, "globex", nil, node.Options{})
	if err := author.Network().Connect(t.Context(), reader.Network().Addrs()[0].String()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := author.ImportRuns(t.Context(), pagerankRuns()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reader has summary and model", func() bool { return received(reader) == 2 })
	log, err := author.Audit(t.Context(), &karasuv1.ListAuditRequest{})
	if err != nil {
		t.Fatal(err)
	}
	to := reader.Network().ID().String()
	for _, h := range reader.Commons().Held(nil) {
		if h.Author != author.Network().ID() {
			continue
		}
		shown, err := author.Record(t.Context(), h.ID.String())
		if err != nil || shown.GetSignatureProblem() != "" || shown.GetBodyProblem() != "" {
			t.Fatalf("%v, %v", shown, err)
		}
		if !slices.ContainsFunc(log.GetEntries(), func(e *karasuv1.AuditEntry) bool {
			return e.GetId() == shown.GetHeld().GetId() && slices.Contains(e.GetPeers(), to) && int(e.GetBytes()) == h.Bytes
		}) {
			t.Errorf("%s %s left, and the log does not say so: %v", h.Kind, h.Key, log.GetEntries())
		}
	}
	if limited, err := author.Audit(t.Context(), &karasuv1.ListAuditRequest{Limit: 1}); err != nil || len(limited.GetEntries()) != 1 || limited.GetTotal() < 2 {
		t.Errorf("%v, %v", limited, err)
	}
	log, err = reader.Audit(t.Context(), &karasuv1.ListAuditRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range log.GetEntries() {
		if e.GetTopic() == "/karasu/1/aws-ec2/spark/pagerank" {
			t.Errorf("the reader's log has a record of another: %v", e)
		}
	}
}
