package node

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/exchange"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// Peers lists the peers that the daemon knows: those of the network, then authors
// whose records came by way of others.
func (a *App) Peers(context.Context) ([]*karasuv1.Peer, error) {
	authors := a.commons.Authors()
	peers := a.network.Peers()
	offenders := make(map[peer.ID]exchange.Offender)
	for _, o := range a.exchange.Offenders() {
		offenders[o.ID] = o
	}
	strangers := make(map[peer.ID]uint32)
	for _, t := range a.network.TurnedAway() {
		strangers[t.ID] = uint32(min(t.Times, math.MaxUint32))
	}
	out := make([]*karasuv1.Peer, 0, len(peers))
	present := make(map[peer.ID]bool)
	for _, p := range peers {
		organisation := a.circle.OrganisationOf(p.ID)
		present[organisation] = true
		author := authors[organisation]
		wire := &karasuv1.Peer{
			PeerId: p.ID.String(), Organisation: author.Organisation, Connected: p.Connected,
			LatencyMs: float64(p.Latency.Microseconds()) / 1e3, Records: uint32(author.Usable),
			Bootstrap: p.Bootstrap, LastError: p.LastError, Relayed: p.Relayed,
			OrganisationId: organisation.String(), Equivocations: uint32(author.Equivocations), TurnedAway: strangers[p.ID],
		}
		if p.Scored {
			wire.Score = proto.Float64(p.Score)
		}
		for _, addr := range p.Addrs {
			wire.Addresses = append(wire.Addresses, addr.String())
		}
		blame(wire, offenders[p.ID])
		delete(offenders, p.ID)
		delete(strangers, p.ID)
		out = append(out, wire)
	}
	present[a.signer.Writer().Organisation] = true
	for _, id := range slices.Sorted(maps.Keys(authors)) {
		if author := authors[id]; !present[id] && author.Usable+author.Equivocations > 0 {
			wire := &karasuv1.Peer{
				PeerId: id.String(), Organisation: author.Organisation, Records: uint32(author.Usable), ViaOthers: true,
				OrganisationId: id.String(), Equivocations: uint32(author.Equivocations), TurnedAway: strangers[id],
			}
			delete(strangers, id)
			blame(wire, offenders[id])
			delete(offenders, id)
			out = append(out, wire)
		}
	}
	// Who misbehaved and left is worth knowing, too.
	for _, id := range slices.Sorted(maps.Keys(offenders)) {
		wire := &karasuv1.Peer{PeerId: id.String(), OrganisationId: a.circle.OrganisationOf(id).String(), TurnedAway: strangers[id]}
		blame(wire, offenders[id])
		delete(strangers, id)
		out = append(out, wire)
	}
	// So is who is kept out.
	for _, id := range slices.Sorted(maps.Keys(strangers)) {
		out = append(out, &karasuv1.Peer{PeerId: id.String(), OrganisationId: a.circle.OrganisationOf(id).String(), TurnedAway: strangers[id]})
	}
	return out, nil
}

// blame says what was a peer's fault; the zero offender is nothing.
func blame(p *karasuv1.Peer, o exchange.Offender) {
	p.GreylistedSeconds, p.LastRefusal = o.Greylisted.Seconds(), o.Last
	for reason, n := range o.Refused {
		p.Refusals = append(p.Refusals, &karasuv1.Refusal{Reason: string(reason), Count: n})
	}
	slices.SortFunc(p.Refusals, func(x, y *karasuv1.Refusal) int {
		return cmp.Or(cmp.Compare(y.GetCount(), x.GetCount()), cmp.Compare(x.GetReason(), y.GetReason()))
	})
}

// ResetPeers forgets remembered peers, pauses and offences, and dials anew.
func (a *App) ResetPeers(context.Context) (forgotten, pardoned int, err error) {
	return a.network.Reset(), a.exchange.Pardon(), nil
}

// Topics lists topics with what is known under each: those of which records are held,
// and with all those that others announce, too.
func (a *App) Topics(_ context.Context, all bool) ([]*karasuv1.Topic, error) {
	known := make(map[model.Topic]exchange.KnownTopic)
	for _, k := range a.exchange.Known() {
		known[k.Topic] = k
	}
	joined := a.exchange.Topics()
	describe := func(t commons.TopicCount) *karasuv1.Topic {
		k := known[t.Topic]
		return &karasuv1.Topic{
			Name: t.Topic.String(), Peers: uint32(len(a.exchange.TopicPeers(t.Topic))),
			OwnRecords: uint32(t.Own), ReceivedRecords: uint32(t.Received), Organisations: uint32(t.Authors),
			Policy:     string(a.publisher.Policy.ModeFor(t.Topic)),
			Announcers: uint32(k.Nodes), AnnouncedRecords: uint32(k.Records), AnnouncedBy: k.Organisations,
			Joined: slices.Contains(joined, t.Topic),
		}
	}
	var out []*karasuv1.Topic
	for _, t := range a.commons.Topics() {
		out = append(out, describe(t))
		delete(known, t.Topic)
	}
	if all {
		for t := range known {
			out = append(out, describe(commons.TopicCount{Topic: t}))
		}
		slices.SortFunc(out, func(x, y *karasuv1.Topic) int { return cmp.Compare(x.GetName(), y.GetName()) })
	}
	return out, nil
}

// seal signs a record of this node's own that says something about the node.
func (a *App) seal(draft *karasuv1.Record) (*commons.Record, error) {
	topic, err := model.ParseTopic(draft.GetTopic())
	if err != nil {
		return nil, err
	}
	signer := a.publisher.Signer
	draft.Revision = a.commons.SigningRevision(a.commons.NextRevision(signer.Writer(), topic, draft.GetKey()))
	draft.Organisation = a.config.Organisation
	draft.NotAfter = signer.Until(time.Unix(draft.GetNotAfter(), 0)).Unix()
	return signer.Seal(draft)
}
