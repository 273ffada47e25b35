package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/elastic"
	optimizer "github.com/karasu-project/karasu/optimizer/elastic"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// PlanElasticJob implements the service.
func (s *Service) PlanElasticJob(ctx context.Context, req *connect.Request[karasuv1.PlanElasticJobRequest]) (*connect.Response[karasuv1.PlanElasticJobResponse], error) {
	job, err := elastic.ToJob(req.Msg.GetJob())
	if err != nil {
		return nil, err
	}
	job.Submitted = s.Elastic.Now().UTC()
	job, notes := elastic.WithDefaults(job)
	plan := s.Elastic.Preview
	if req.Msg.GetStart() {
		plan = s.Elastic.Start
	}
	d, err := plan(ctx, job)
	if err != nil {
		return nil, err
	}
	if elastic.Uninformed(d) {
		notes = append([]string{"nothing is known of jobs like this one, own or peers': safe defaults, which change as it reports"}, notes...)
	}
	out := &karasuv1.PlanElasticJobResponse{Decision: elastic.FromDecision(d), Notes: notes}
	for _, f := range s.Elastic.Finished() {
		if f.Summary.Reports > 0 {
			out.OwnJobs++
		}
	}
	return connect.NewResponse(out), nil
}

// GetElasticJob implements the service.
func (s *Service) GetElasticJob(_ context.Context, req *connect.Request[karasuv1.GetElasticJobRequest]) (*connect.Response[karasuv1.GetElasticJobResponse], error) {
	id := model.NormalizeName(req.Msg.GetJob())
	state, err := s.Elastic.Job(id)
	var finished time.Time
	if errors.Is(err, optimizer.ErrUnknownJob) {
		var f elastic.Finished
		f, err = s.Elastic.Last(id)
		state, finished = f.State, f.At
	}
	if err != nil {
		return nil, withHint(err)
	}
	return connect.NewResponse(&karasuv1.GetElasticJobResponse{Status: elastic.FromState(state, finished, true)}), nil
}

// ListElasticJobs implements the service.
func (s *Service) ListElasticJobs(_ context.Context, req *connect.Request[karasuv1.ListElasticJobsRequest]) (*connect.Response[karasuv1.ListElasticJobsResponse], error) {
	out := &karasuv1.ListElasticJobsResponse{}
	for _, state := range s.Elastic.Jobs() {
		out.Jobs = append(out.Jobs, elastic.FromState(state, time.Time{}, false))
	}
	if req.Msg.GetFinished() {
		for _, f := range slices.Backward(s.Elastic.Finished()) {
			out.Jobs = append(out.Jobs, elastic.FromState(f.State, f.At, false))
		}
	}
	return connect.NewResponse(out), nil
}

// ReportElastic implements the service.
func (s *Service) ReportElastic(ctx context.Context, req *connect.Request[karasuv1.ReportElasticRequest]) (*connect.Response[karasuv1.ReportElasticResponse], error) {
	now := s.Elastic.Now()
	jobs := map[string]bool{}
	var news elastic.News
	for i, m := range req.Msg.GetReports() {
		r, err := elastic.ToReport(m, now)
		if err != nil {
			return nil, fmt.Errorf("report %d of %d: %w", i+1, len(req.Msg.GetReports()), err)
		}
		news.Reports = append(news.Reports, r)
		jobs[r.Job] = true
	}
	for i, m := range req.Msg.GetEvents() {
		e, err := elastic.ToEvent(m, now)
		if err != nil {
			return nil, fmt.Errorf("event %d of %d: %w", i+1, len(req.Msg.GetEvents()), err)
		}
		news.Events = append(news.Events, e)
		jobs[e.Job] = true
	}
	taken, err := s.Elastic.Take(ctx, news)
	if err != nil {
		return nil, withHint(err)
	}
	out := &karasuv1.ReportElasticResponse{Taken: uint32(taken.Taken), Repeated: uint32(taken.Repeated), Late: uint32(taken.Late)}
	for _, id := range slices.Sorted(maps.Keys(jobs)) {
		d, err := s.Elastic.Plan(ctx, id)
		if errors.Is(err, optimizer.ErrUnknownJob) {
			continue // it was finished meanwhile
		}
		if err != nil {
			return nil, err
		}
		out.Decisions = append(out.Decisions, elastic.FromDecision(d))
	}
	return connect.NewResponse(out), nil
}

// FinishElasticJob implements the service.
func (s *Service) FinishElasticJob(ctx context.Context, req *connect.Request[karasuv1.FinishElasticJobRequest]) (*connect.Response[karasuv1.FinishElasticJobResponse], error) {
	summary, err := s.Elastic.Finish(ctx, model.NormalizeName(req.Msg.GetJob()))
	return reply(&karasuv1.FinishElasticJobResponse{Reports: uint32(summary.Reports)}, withHint(err))
}

// withHint says what to do about a job that is not known.
func withHint(err error) error {
	if errors.Is(err, optimizer.ErrUnknownJob) {
		return fmt.Errorf("%w; see `karasu elastic status`, or begin it with `karasu elastic plan --start`", err)
	}
	return err
}
