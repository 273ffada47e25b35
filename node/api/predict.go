package api

import (
	"context"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Predict implements the service.
func (s *Service) Predict(ctx context.Context, req *connect.Request[karasuv1.PredictRequest]) (*connect.Response[karasuv1.PredictResponse], error) {
	return reply(s.Advisor.Predict(ctx, req.Msg))
}

// Sweep implements the service.
func (s *Service) Sweep(ctx context.Context, req *connect.Request[karasuv1.SweepRequest]) (*connect.Response[karasuv1.SweepResponse], error) {
	return reply(s.Advisor.Sweep(ctx, req.Msg))
}
