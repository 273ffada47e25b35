package api

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/node/membership"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Invalid is a complaint about what was asked.
func Invalid(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}

// Circle is what the service asks of the daemon about organisations and what it took
// back.
type Circle interface {
	Members(ctx context.Context) (*karasuv1.ListMembersResponse, error)
	ChangeMembers(ctx context.Context, c membership.Change) (*karasuv1.ChangeMembersResponse, error)
	AnnounceOrganisation(ctx context.Context, envelope []byte) (*karasuv1.AnnounceOrganisationResponse, error)
	Retract(ctx context.Context, req *karasuv1.RetractShareRequest) (*karasuv1.RetractShareResponse, error)
}

// ListMembers implements the service.
func (s *Service) ListMembers(ctx context.Context, _ *connect.Request[karasuv1.ListMembersRequest]) (*connect.Response[karasuv1.ListMembersResponse], error) {
	return reply(s.Node.Members(ctx))
}

// ChangeMembers implements the service.
func (s *Service) ChangeMembers(ctx context.Context, req *connect.Request[karasuv1.ChangeMembersRequest]) (*connect.Response[karasuv1.ChangeMembersResponse], error) {
	m := req.Msg
	id, err := peer.Decode(m.GetOrganisationId())
	if err != nil {
		return nil, Invalid("organisation_id is none (karasu org show prints one): %w", err)
	}
	if _, known := karasuv1.Role_name[int32(m.GetRole())]; !known {
		return nil, Invalid("role %d is none", m.GetRole())
	}
	return reply(s.Node.ChangeMembers(ctx, membership.Change{
		Organisation: id, Remove: m.GetRemove(), Drop: m.GetDrop(), Name: m.GetName(), Role: m.GetRole(),
	}))
}

// AnnounceOrganisation implements the service.
func (s *Service) AnnounceOrganisation(
	ctx context.Context, req *connect.Request[karasuv1.AnnounceOrganisationRequest],
) (*connect.Response[karasuv1.AnnounceOrganisationResponse], error) {
	return reply(s.Node.AnnounceOrganisation(ctx, req.Msg.GetRecord()))
}

// RetractShare implements the service.
func (s *Service) RetractShare(ctx context.Context, req *connect.Request[karasuv1.RetractShareRequest]) (*connect.Response[karasuv1.RetractShareResponse], error) {
	m := req.Msg
	if m.GetJob() != "" && m.GetTopic() != "" || m.GetUndo() && m.GetJob() == "" && m.GetTopic() == "" {
		return nil, Invalid("one of job and topic says what")
	}
	return reply(s.Node.Retract(ctx, m))
}
