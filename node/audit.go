package node

import (
	"context"
	"time"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Audit lists what has left, record by record.
func (a *App) Audit(_ context.Context, req *karasuv1.ListAuditRequest) (*karasuv1.ListAuditResponse, error) {
	entries, begins, unreadable, err := a.audit.Entries(time.UnixMilli(req.GetSinceUnixMillis()))
	if err != nil {
		return nil, err
	}
	out := &karasuv1.ListAuditResponse{Total: uint32(len(entries)), Unreadable: uint32(unreadable)}
	if !begins.IsZero() {
		out.BeginsUnixMillis = begins.UnixMilli()
	}
	if limit := int(req.GetLimit()); limit > 0 && len(entries) > limit {
		entries = entries[len(entries)-limit:]
	}
	for _, e := range entries {
		out.Entries = append(out.Entries, e.Wire())
	}
	return out, nil
}
