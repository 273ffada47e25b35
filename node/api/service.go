package api

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/advisor"
	"github.com/karasu-project/karasu/node/checkpoint"
	"github.com/karasu-project/karasu/node/elastic"
	"github.com/karasu-project/karasu/node/membership"
	"github.com/karasu-project/karasu/node/share"
	"github.com/karasu-project/karasu/optimizer/catalog"
	optimizer "github.com/karasu-project/karasu/optimizer/elastic"
	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/private"
	"github.com/karasu-project/karasu/store/wire"
)

// MaxRequestBytes bounds one request: 2,000 runs with long names fit.
const MaxRequestBytes = 8 << 20

// handlerOptions tell an observer of all requests; nil tells nobody.
func handlerOptions(tell Observer) []connect.HandlerOption {
	interceptors := []connect.Interceptor{connect.UnaryInterceptorFunc(mapErrors)}
	if tell != nil {
		interceptors = append([]connect.Interceptor{observe(tell)}, interceptors...)
	}
	return []connect.HandlerOption{
		connect.WithReadMaxBytes(MaxRequestBytes),
		connect.WithCodec(strictJSON{jsonName}), connect.WithCodec(strictJSON{jsonCharsetName}),
		connect.WithInterceptors(interceptors...),
	}
}

// Node is what the service asks of the daemon besides advice.
type Node interface {
	Status(ctx context.Context) (*karasuv1.StatusResponse, error)
	ImportRuns(ctx context.Context, runs []model.Run) (added, unchanged int, err error)
	// Runs lists the latest runs, oldest first: limit of them where it is above 0.
	Runs(ctx context.Context, job string, limit int) (*karasuv1.ListRunsResponse, error)
	// DeleteRuns deletes runs by ID, or all of a job.
	DeleteRuns(ctx context.Context, ids []string, job string) (runs, searches int, err error)
	Executions
	Operations
	Connectivity
	Circle
	// PreviewShareAs takes the zero trial for the policy as it is.
	PreviewShareAs(ctx context.Context, trial share.Trial) (*karasuv1.PreviewShareResponse, error)
}

// Service implements the KarasuService of the schema.
type Service struct {
	Node        Node
	Advisor     *advisor.Advisor
	Checkpoints Checkpoints
	Elastic     *elastic.Service
}

// mapErrors gives every error the code that its kind deserves, so that clients can
// tell wrong use from failure.
func mapErrors(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		res, err := next(ctx, req)
		if err == nil {
			return res, nil
		}
		var known *connect.Error
		if errors.As(err, &known) {
			return nil, err
		}
		return nil, connect.NewError(codeOf(err), err)
	}
}

func codeOf(err error) connect.Code {
	for _, c := range []struct {
		target error
		code   connect.Code
	}{
		{advisor.ErrNotFound, connect.CodeNotFound},
		{advisor.ErrExists, connect.CodeAlreadyExists},
		{advisor.ErrRepeated, connect.CodeAlreadyExists},
		{advisor.ErrNothingToUndo, connect.CodeFailedPrecondition},
		{advisor.ErrMachinesGone, connect.CodeFailedPrecondition},
		{advisor.ErrNoModel, connect.CodeFailedPrecondition},
		{checkpoint.ErrNoStages, connect.CodeFailedPrecondition},
		{checkpoint.ErrNoPredictor, connect.CodeFailedPrecondition},
		{optimizer.ErrUnknownJob, connect.CodeNotFound},
		{optimizer.ErrJobExists, connect.CodeAlreadyExists},
		{optimizer.ErrFull, connect.CodeFailedPrecondition},
		{optimizer.ErrInvalid, connect.CodeInvalidArgument},
		{private.ErrNoRun, connect.CodeNotFound},
		{ErrNoRecord, connect.CodeNotFound},
		{membership.ErrChange, connect.CodeInvalidArgument},
		{membership.ErrNoCircle, connect.CodeFailedPrecondition},
		{membership.ErrNotAdmin, connect.CodeFailedPrecondition},
		{membership.ErrFile, connect.CodeInvalidArgument},
		{commons.ErrMalformed, connect.CodeInvalidArgument},
		{commons.ErrSignature, connect.CodeInvalidArgument},
		{commons.ErrDelegation, connect.CodeInvalidArgument},
		{private.ErrNoExecution, connect.CodeNotFound},
		{share.ErrPolicy, connect.CodeInvalidArgument},
		{model.ErrInvalid, connect.CodeInvalidArgument},
		{catalog.ErrUnknownMachineType, connect.CodeInvalidArgument},
		{catalog.ErrUnknownInfrastructure, connect.CodeInvalidArgument},
		{search.ErrNoCandidates, connect.CodeInvalidArgument},
		{search.ErrUnknownPrice, connect.CodeFailedPrecondition},
		{search.ErrUnknownPower, connect.CodeFailedPrecondition},
		{search.ErrUnknownGrid, connect.CodeFailedPrecondition},
		{search.ErrUnsupported, connect.CodeInvalidArgument},
		{context.Canceled, connect.CodeCanceled},
		{context.DeadlineExceeded, connect.CodeDeadlineExceeded},
	} {
		if errors.Is(err, c.target) {
			return c.code
		}
	}
	return connect.CodeInternal
}

// reply wraps a message, or passes the error on.
func reply[T any](msg *T, err error) (*connect.Response[T], error) {
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(msg), nil
}

// Status implements the service.
func (s *Service) Status(ctx context.Context, _ *connect.Request[karasuv1.StatusRequest]) (*connect.Response[karasuv1.StatusResponse], error) {
	return reply(s.Node.Status(ctx))
}

// ImportRuns implements the service.
func (s *Service) ImportRuns(ctx context.Context, req *connect.Request[karasuv1.ImportRunsRequest]) (*connect.Response[karasuv1.ImportRunsResponse], error) {
	runs := make([]model.Run, 0, len(req.Msg.GetRuns()))
	for _, r := range req.Msg.GetRuns() {
		run, err := wire.ToRun(r)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	added, unchanged, err := s.Node.ImportRuns(ctx, runs)
	return reply(&karasuv1.ImportRunsResponse{Imported: uint32(added), Unchanged: uint32(unchanged)}, err)
}

// ListRuns implements the service.
func (s *Service) ListRuns(ctx context.Context, req *connect.Request[karasuv1.ListRunsRequest]) (*connect.Response[karasuv1.ListRunsResponse], error) {
	if req.Msg.GetId() != "" {
		run, err := s.Node.Run(ctx, req.Msg.GetId())
		return reply(&karasuv1.ListRunsResponse{Runs: []*karasuv1.Run{wire.FromRun(run)}, Total: 1}, err)
	}
	return reply(s.Node.Runs(ctx, req.Msg.GetJob(), int(req.Msg.GetLimit())))
}

// DeleteRuns implements the service.
func (s *Service) DeleteRuns(ctx context.Context, req *connect.Request[karasuv1.DeleteRunsRequest]) (*connect.Response[karasuv1.DeleteRunsResponse], error) {
	runs, searches, err := s.Node.DeleteRuns(ctx, req.Msg.GetIds(), req.Msg.GetJob())
	return reply(&karasuv1.DeleteRunsResponse{Deleted: uint32(runs), Searches: uint32(searches)}, err)
}

// StartSearch implements the service.
func (s *Service) StartSearch(ctx context.Context, req *connect.Request[karasuv1.StartSearchRequest]) (*connect.Response[karasuv1.StartSearchResponse], error) {
	state, err := s.Advisor.Start(ctx, req.Msg.GetSettings())
	return reply(&karasuv1.StartSearchResponse{State: state}, err)
}

// NextConfiguration implements the service.
func (s *Service) NextConfiguration(ctx context.Context, req *connect.Request[karasuv1.NextConfigurationRequest]) (*connect.Response[karasuv1.NextConfigurationResponse], error) {
	next, err := s.Advisor.Next(ctx, req.Msg.GetJob(), req.Msg.GetClaim())
	return reply(&karasuv1.NextConfigurationResponse{Suggestion: next}, err)
}

// ReportRun implements the service.
func (s *Service) ReportRun(ctx context.Context, req *connect.Request[karasuv1.ReportRunRequest]) (*connect.Response[karasuv1.ReportRunResponse], error) {
	// What cannot be expected cannot be reported either, which Report says best.
	expected, _ := s.Advisor.Expect(ctx, req.Msg.GetJob(), req.Msg.GetConfiguration())
	state, err := s.Advisor.Report(ctx, req.Msg)
	return reply(&karasuv1.ReportRunResponse{State: state, Expected: expected}, err)
}

// UndoReport implements the service.
func (s *Service) UndoReport(ctx context.Context, req *connect.Request[karasuv1.UndoReportRequest]) (*connect.Response[karasuv1.UndoReportResponse], error) {
	state, run, err := s.Advisor.Undo(ctx, req.Msg.GetJob())
	return reply(&karasuv1.UndoReportResponse{State: state, Run: wire.FromRun(run)}, err)
}

// GetSearch implements the service.
func (s *Service) GetSearch(ctx context.Context, req *connect.Request[karasuv1.GetSearchRequest]) (*connect.Response[karasuv1.GetSearchResponse], error) {
	state, err := s.Advisor.Get(ctx, req.Msg.GetJob())
	return reply(&karasuv1.GetSearchResponse{State: state}, err)
}

// ListSearches implements the service.
func (s *Service) ListSearches(ctx context.Context, _ *connect.Request[karasuv1.ListSearchesRequest]) (*connect.Response[karasuv1.ListSearchesResponse], error) {
	searches, err := s.Advisor.List(ctx)
	return reply(&karasuv1.ListSearchesResponse{Searches: searches}, err)
}

// DeleteSearch implements the service.
func (s *Service) DeleteSearch(ctx context.Context, req *connect.Request[karasuv1.DeleteSearchRequest]) (*connect.Response[karasuv1.DeleteSearchResponse], error) {
	return reply(&karasuv1.DeleteSearchResponse{}, s.Advisor.Delete(ctx, req.Msg.GetJob()))
}

// Recommend implements the service.
func (s *Service) Recommend(ctx context.Context, req *connect.Request[karasuv1.RecommendRequest]) (*connect.Response[karasuv1.RecommendResponse], error) {
	return reply(s.Advisor.Recommend(ctx, req.Msg.GetSettings(), req.Msg.GetCurrent()))
}

// PreviewShare implements the service.
func (s *Service) PreviewShare(ctx context.Context, req *connect.Request[karasuv1.PreviewShareRequest]) (*connect.Response[karasuv1.PreviewShareResponse], error) {
	return reply(s.Node.PreviewShareAs(ctx, share.Trial{
		Mode: share.Mode(req.Msg.GetPolicy()), Runtimes: req.Msg.GetRuntimeModels(), Stages: req.Msg.GetStageModels(),
		Epsilon: req.Msg.GetEpsilon(),
	}))
}
