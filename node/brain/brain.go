package brain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/elastic"
	optimizer "github.com/karasu-project/karasu/optimizer/elastic"
	brainv1 "github.com/karasu-project/karasu/proto/brain"
)

// Options of a [Brain]. All are needed but Logger.
type Options struct {
	// Jobs keeps the jobs and decides for them.
	Jobs *elastic.Service
	// Alias returns a keyed hash of a job's name, in lower-case hex digits: it stands for
	// a training model that nobody named, as names of jobs do not leave.
	Alias func(name string) string
	Now   func() time.Time
	// Logger is nil for silence.
	Logger *slog.Logger
}

// Brain answers requests of masters. It is safe for concurrent use.
type Brain struct {
	Options
	described descriptions
}

// New returns a Brain that has heard of no job yet but of those that the service keeps.
func New(o Options) *Brain {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Brain{Options: o}
}

// PersistMetrics implements the service: it takes one kind of metrics of one job. Metrics
// that were taken before, or that are older than others that were, change nothing.
func (b *Brain) PersistMetrics(ctx context.Context, req *connect.Request[brainv1.JobMetrics]) (*connect.Response[emptypb.Empty], error) {
	if err := b.persist(ctx, req.Msg); err != nil {
		return nil, b.status(ctx, "persist_metrics", err)
	}
	return connect.NewResponse(&emptypb.Empty{}), nil
}

// Optimize implements the service: it plans jobs. All are planned or, where one is invalid,
// none is answered.
func (b *Brain) Optimize(ctx context.Context, req *connect.Request[brainv1.OptimizeRequest]) (*connect.Response[brainv1.OptimizeResponse], error) {
	plans, err := b.optimize(ctx, req.Msg)
	if err != nil {
		return nil, b.status(ctx, "optimize", err)
	}
	return connect.NewResponse(&brainv1.OptimizeResponse{Response: &brainv1.Response{Success: true}, JobOptimizePlans: plans}), nil
}

// GetJobMetrics implements the service: it tells what is known of a job.
func (b *Brain) GetJobMetrics(ctx context.Context, req *connect.Request[brainv1.JobMetricsRequest]) (*connect.Response[brainv1.JobMetricsResponse], error) {
	raw, err := b.metrics(req.Msg.GetJobUuid())
	if errors.Is(err, optimizer.ErrUnknownJob) {
		return connect.NewResponse(&brainv1.JobMetricsResponse{Response: &brainv1.Response{Reason: err.Error()}}), nil
	}
	if err != nil {
		return nil, b.status(ctx, "get_job_metrics", err)
	}
	return connect.NewResponse(&brainv1.JobMetricsResponse{Response: &brainv1.Response{Success: true}, JobMetrics: string(raw)}), nil
}

// status gives an error its code. What is the caller's fault is not logged: callers are
// many, and told.
func (b *Brain) status(ctx context.Context, method string, err error) error {
	code := connect.CodeInternal
	switch {
	case ctx.Err() != nil:
		return ctx.Err() // connect knows these
	case errors.Is(err, optimizer.ErrInvalid):
		code = connect.CodeInvalidArgument
	case errors.Is(err, optimizer.ErrUnknownJob), errors.Is(err, errEnded):
		code = connect.CodeFailedPrecondition
	case errors.Is(err, optimizer.ErrFull):
		code = connect.CodeResourceExhausted
	default:
		b.Logger.ErrorContext(ctx, "request failed", "method", method, "error", err)
	}
	return connect.NewError(code, err)
}

// errEnded: the job has ended, and nothing newer than its end came.
var errEnded = errors.New("the job has ended")

// jobID checks the name of a job.
func jobID(uuid string) (string, error) {
	id := model.NormalizeName(uuid)
	if id == "" {
		return "", fmt.Errorf("uuid of the job is missing: %w", optimizer.ErrInvalid)
	}
	return id, text("uuid of the job", id)
}

// text refuses names that are too long or that terminals would trip over.
func text(field, s string) error {
	switch {
	case len(s) > model.MaxName:
		return fmt.Errorf("%s is longer than %d bytes: %q: %w", field, model.MaxName, model.Clip(s), optimizer.ErrInvalid)
	case strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("%s must be text without control characters: %q: %w", field, model.Clip(s), optimizer.ErrInvalid)
	}
	return nil
}

// clock turns seconds since 1970 into a time; 0 is now.
func (b *Brain) clock(field string, seconds int64) (time.Time, error) {
	const most = 7258118400 // 2200, where jobs' times end
	switch {
	case seconds < 0 || seconds >= most:
		return time.Time{}, fmt.Errorf("%s must be seconds since 1970: %d: %w", field, seconds, optimizer.ErrInvalid)
	case seconds == 0:
		return b.Now().UTC(), nil
	}
	return time.Unix(seconds, 0).UTC(), nil
}
