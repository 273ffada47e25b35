package api

import (
	"context"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Connectivity is what the service asks of the daemon about its place in the network.
type Connectivity interface {
	Peers(ctx context.Context) ([]*karasuv1.Peer, error)
	// ResetPeers says how many peers were forgotten and taken off the greylist.
	ResetPeers(ctx context.Context) (forgotten, pardoned int, err error)
	// Topics lists those of which records are held; all lists those that others
	// announce, too.
	Topics(ctx context.Context, all bool) ([]*karasuv1.Topic, error)
	Diagnose(ctx context.Context) ([]*karasuv1.Check, error)
}

// ListPeers implements the service.
func (s *Service) ListPeers(ctx context.Context, _ *connect.Request[karasuv1.ListPeersRequest]) (*connect.Response[karasuv1.ListPeersResponse], error) {
	peers, err := s.Node.Peers(ctx)
	return reply(&karasuv1.ListPeersResponse{Peers: peers}, err)
}

// ResetPeers implements the service.
func (s *Service) ResetPeers(ctx context.Context, _ *connect.Request[karasuv1.ResetPeersRequest]) (*connect.Response[karasuv1.ResetPeersResponse], error) {
	forgotten, pardoned, err := s.Node.ResetPeers(ctx)
	return reply(&karasuv1.ResetPeersResponse{Forgotten: uint32(forgotten), Pardoned: uint32(pardoned)}, err)
}

// ListTopics implements the service.
func (s *Service) ListTopics(ctx context.Context, req *connect.Request[karasuv1.ListTopicsRequest]) (*connect.Response[karasuv1.ListTopicsResponse], error) {
	topics, err := s.Node.Topics(ctx, req.Msg.GetAll())
	return reply(&karasuv1.ListTopicsResponse{Topics: topics}, err)
}

// Diagnose implements the service.
func (s *Service) Diagnose(ctx context.Context, _ *connect.Request[karasuv1.DiagnoseRequest]) (*connect.Response[karasuv1.DiagnoseResponse], error) {
	checks, err := s.Node.Diagnose(ctx)
	return reply(&karasuv1.DiagnoseResponse{Checks: checks}, err)
}
