package exchange

import (
	"errors"
	"testing"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

func retraction(revision uint64) func(*karasuv1.Record) {
	return func(r *karasuv1.Record) {
		r.Kind, r.Body, r.Revision = karasuv1.RecordKind_RECORD_KIND_RETRACTION, nil, revision
	}
}

// TestOwnRecordsPassForeignQuotas: a commons that others have filled takes this
// node's records and retractions.
func TestOwnRecordsPassForeignQuotas(t *testing.T) {
	for name, quotas := range map[string]Quotas{"authors": {Authors: 1}, "bytes": {TotalBytes: 1}} {
		t.Run(name, func(t *testing.T) {
			n := startNode(t, func(o *Options) { o.Quotas = quotas })
			if _, err := n.db.Put(t.Context(), seal(t, newKey(t), pagerank, 9, nil), false); err != nil {
				t.Fatal(err)
			}
			r := n.publish(pagerank, 1)
			gone := seal(t, n.key, pagerank, 1, retraction(2))
			if err := n.ex.Publish(t.Context(), gone); err != nil || !n.holds(gone) || n.holds(r) {
				t.Errorf("retraction: %v", err)
			}
			if refusal := n.ex.validator.judge(seal(t, newKey(t), pagerank, 2, nil), pagerank, Sync); refusal == nil {
				t.Error("a foreign record is taken")
			}
		})
	}
}

// TestOwnLimitHoldsWithinABatch: others would not take more.
func TestOwnLimitHoldsWithinABatch(t *testing.T) {
	n := startNode(t, func(o *Options) { o.Quotas.RecordsPerAuthor = 3 })
	var all []*commons.Record
	for i := range 5 {
		all = append(all, seal(t, n.key, pagerank, i, nil))
	}
	err := n.ex.PublishAll(t.Context(), all)
	var refusal *RefusalError
	if !errors.As(err, &refusal) || refusal.Reason != QuotaCount || !n.holds(all[:3]...) || n.holds(all[3]) || n.holds(all[4]) {
		t.Errorf("error %v, want three held and two refused for %s", err, QuotaCount)
	}
}

// TestRetractionPassesItsAuthorsQuota, but only where it takes something away.
func TestRetractionPassesItsAuthorsQuota(t *testing.T) {
	n := startNode(t, func(o *Options) { o.Quotas = Quotas{BytesPerAuthor: 1} })
	author := newKey(t)
	if _, err := n.db.Put(t.Context(), seal(t, author, pagerank, 1, nil), false); err != nil {
		t.Fatal(err)
	}
	judge := func(r *commons.Record, topic model.Topic) *RefusalError {
		return n.ex.validator.judge(r, topic, Gossip)
	}
	gone := seal(t, author, pagerank, 1, retraction(2))
	if refusal := judge(gone, pagerank); refusal != nil {
		t.Fatal(refusal)
	}
	if refusal := judge(seal(t, author, pagerank, 2, retraction(1)), pagerank); refusal == nil || refusal.Reason != QuotaBytes {
		t.Errorf("a retraction of nothing: %v", refusal)
	}
	if _, err := n.db.Put(t.Context(), gone, false); err != nil {
		t.Fatal(err)
	}
	if refusal := judge(seal(t, author, pagerank, 1, retraction(3)), pagerank); refusal == nil || refusal.Reason != QuotaBytes {
		t.Errorf("a second retraction: %v", refusal)
	}
}
