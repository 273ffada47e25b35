package api

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/ingest/naming"
	"github.com/karasu-project/karasu/store/wire"
)

// Executions is what the service asks of the daemon about executions and workloads.
type Executions interface {
	ImportExecutions(ctx context.Context, executions []model.Execution, h naming.Hints) ([]*karasuv1.ImportedExecution, error)
	// Execution takes an origin or the ID of a run.
	Execution(ctx context.Context, origin, runID string) (*karasuv1.GetExecutionResponse, error)
	Run(ctx context.Context, id string) (model.Run, error)
	Workloads(ctx context.Context) ([]*karasuv1.WorkloadRuns, error)
	// Unmatched groups the executions that are no runs and counts them.
	Unmatched(ctx context.Context) ([]*karasuv1.UnmatchedGroup, int, error)
	ApplyRules(ctx context.Context) (*karasuv1.ApplyRulesResponse, error)
	AttachMetrics(ctx context.Context, runs []*karasuv1.RunMetrics) (updated, unchanged int, err error)
}

// ImportExecutions implements the service.
func (s *Service) ImportExecutions(ctx context.Context, req *connect.Request[karasuv1.ImportExecutionsRequest]) (*connect.Response[karasuv1.ImportExecutionsResponse], error) {
	executions := make([]model.Execution, 0, len(req.Msg.GetExecutions()))
	for i, m := range req.Msg.GetExecutions() {
		e, err := wire.ToExecution(m)
		if err != nil {
			return nil, fmt.Errorf("execution %d of %d: %w", i+1, len(req.Msg.GetExecutions()), err)
		}
		executions = append(executions, e)
	}
	h := req.Msg.GetHints()
	done, err := s.Node.ImportExecutions(ctx, executions, naming.Hints{Infrastructure: h.GetInfrastructure(), MachineType: h.GetMachineType()})
	return reply(&karasuv1.ImportExecutionsResponse{Executions: done}, err)
}

// GetExecution implements the service.
func (s *Service) GetExecution(ctx context.Context, req *connect.Request[karasuv1.GetExecutionRequest]) (*connect.Response[karasuv1.GetExecutionResponse], error) {
	return reply(s.Node.Execution(ctx, req.Msg.GetOrigin(), req.Msg.GetRunId()))
}

// ListWorkloads implements the service.
func (s *Service) ListWorkloads(ctx context.Context, req *connect.Request[karasuv1.ListWorkloadsRequest]) (*connect.Response[karasuv1.ListWorkloadsResponse], error) {
	if req.Msg.GetUnmatched() {
		groups, n, err := s.Node.Unmatched(ctx)
		return reply(&karasuv1.ListWorkloadsResponse{Unmatched: groups, UnmatchedExecutions: uint32(n)}, err)
	}
	workloads, err := s.Node.Workloads(ctx)
	return reply(&karasuv1.ListWorkloadsResponse{Workloads: workloads}, err)
}

// ApplyRules implements the service.
func (s *Service) ApplyRules(ctx context.Context, _ *connect.Request[karasuv1.ApplyRulesRequest]) (*connect.Response[karasuv1.ApplyRulesResponse], error) {
	done, err := s.Node.ApplyRules(ctx)
	if err != nil && ctx.Err() == nil { // mostly a mistake in config.toml
		err = connect.NewError(connect.CodeFailedPrecondition, err)
	}
	return reply(done, err)
}

// AttachMetrics implements the service.
func (s *Service) AttachMetrics(ctx context.Context, req *connect.Request[karasuv1.AttachMetricsRequest]) (*connect.Response[karasuv1.AttachMetricsResponse], error) {
	updated, unchanged, err := s.Node.AttachMetrics(ctx, req.Msg.GetRuns())
	return reply(&karasuv1.AttachMetricsResponse{Updated: uint32(updated), Unchanged: uint32(unchanged)}, err)
}
