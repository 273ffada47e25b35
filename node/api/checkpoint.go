package api

import (
	"context"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Checkpoints is what the service asks about stage outputs to persist.
type Checkpoints interface {
	Advise(ctx context.Context, req *karasuv1.AdviseCheckpointRequest) (*karasuv1.AdviseCheckpointResponse, error)
	Compare(ctx context.Context, req *karasuv1.CompareCheckpointsRequest) (*karasuv1.CompareCheckpointsResponse, error)
	Simulate(ctx context.Context, req *karasuv1.SimulateCheckpointsRequest) (*karasuv1.SimulateCheckpointsResponse, error)
	Follow(ctx context.Context, req *karasuv1.FollowCheckpointRequest) (*karasuv1.FollowCheckpointResponse, error)
}

// AdviseCheckpoint implements the service.
func (s *Service) AdviseCheckpoint(ctx context.Context, req *connect.Request[karasuv1.AdviseCheckpointRequest]) (*connect.Response[karasuv1.AdviseCheckpointResponse], error) {
	return reply(s.Checkpoints.Advise(ctx, req.Msg))
}

// CompareCheckpoints implements the service.
func (s *Service) CompareCheckpoints(ctx context.Context, req *connect.Request[karasuv1.CompareCheckpointsRequest]) (*connect.Response[karasuv1.CompareCheckpointsResponse], error) {
	return reply(s.Checkpoints.Compare(ctx, req.Msg))
}

// SimulateCheckpoints implements the service.
func (s *Service) SimulateCheckpoints(ctx context.Context, req *connect.Request[karasuv1.SimulateCheckpointsRequest]) (*connect.Response[karasuv1.SimulateCheckpointsResponse], error) {
	return reply(s.Checkpoints.Simulate(ctx, req.Msg))
}

// FollowCheckpoint implements the service.
func (s *Service) FollowCheckpoint(ctx context.Context, req *connect.Request[karasuv1.FollowCheckpointRequest]) (*connect.Response[karasuv1.FollowCheckpointResponse], error) {
	return reply(s.Checkpoints.Follow(ctx, req.Msg))
}
