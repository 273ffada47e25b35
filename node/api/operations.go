package api

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/proto/karasu/v1/karasuv1connect"
)

// ErrNoRecord says that the commons hold no such record.
var ErrNoRecord = errors.New("no such record")

// Operations is what the service asks of the daemon about running it.
type Operations interface {
	Records(ctx context.Context, req *karasuv1.ListRecordsRequest) (*karasuv1.ListRecordsResponse, error)
	// Record takes an id or its first digits.
	Record(ctx context.Context, id string) (*karasuv1.GetRecordResponse, error)
	Audit(ctx context.Context, req *karasuv1.ListAuditRequest) (*karasuv1.ListAuditResponse, error)
	// Backup calls send with the parts of a file, in order, and last with its checksum.
	Backup(ctx context.Context, send func(*karasuv1.BackupResponse) error) error
}

// ListRecords implements the service.
func (s *Service) ListRecords(ctx context.Context, req *connect.Request[karasuv1.ListRecordsRequest]) (*connect.Response[karasuv1.ListRecordsResponse], error) {
	return reply(s.Node.Records(ctx, req.Msg))
}

// GetRecord implements the service.
func (s *Service) GetRecord(ctx context.Context, req *connect.Request[karasuv1.GetRecordRequest]) (*connect.Response[karasuv1.GetRecordResponse], error) {
	return reply(s.Node.Record(ctx, req.Msg.GetId()))
}

// ListAudit implements the service.
func (s *Service) ListAudit(ctx context.Context, req *connect.Request[karasuv1.ListAuditRequest]) (*connect.Response[karasuv1.ListAuditResponse], error) {
	return reply(s.Node.Audit(ctx, req.Msg))
}

// Backup implements the service.
func (s *Service) Backup(ctx context.Context, _ *connect.Request[karasuv1.BackupRequest], stream *connect.ServerStream[karasuv1.BackupResponse]) error {
	if err := s.Node.Backup(ctx, stream.Send); err != nil {
		return connect.NewError(codeOf(err), err)
	}
	return nil
}

// errOnlyLocal is about requests that TCP does not take.
var errOnlyLocal = errors.New("a backup holds the organisation's keys and raw runs, so it leaves by the unix socket only: run karasu backup on the daemon's machine, without --api")

// refuseBackups keeps the one request whose answer holds keys off TCP, where it would
// travel in the clear.
func refuseBackups(next http.Handler) http.Handler {
	refusal := connect.NewErrorWriter(handlerOptions(nil)...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == karasuv1connect.KarasuServiceBackupProcedure {
			// What cannot be written is the client's loss.
			_ = refusal.Write(w, r, connect.NewError(connect.CodePermissionDenied, errOnlyLocal))
			return
		}
		next.ServeHTTP(w, r)
	})
}
