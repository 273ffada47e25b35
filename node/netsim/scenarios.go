package netsim

import (
	"context"
	"errors"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	// scenarioShare is the part of its records that a node publishes once more in a
	// scenario.
	scenarioShare = 10
	// churnShare is the share of nodes that restart, and churnRounds in how many batches
	// the nodes publish meanwhile, with churnPause between.
	churnShare  = .3
	churnRounds = 5
	churnPause  = 300 * time.Millisecond
	// remembering is how long nodes are left in peace before they are cut off: once a
	// redial interval, which is a second or somewhat more on loopback, they note whom
	// they are connected to, and whom to dial again later.
	remembering = 3 * time.Second
)

// begin starts the nodes, lets all of them publish at once, and measures until each
// holds everything.
func (g *group) begin(ctx context.Context) (Result, error) {
	mem := startGauge()
	for range g.opts.Nodes {
		if _, err := g.add(ctx); err != nil {
			return Result{}, err
		}
	}
	for _, n := range g.nodes {
		if err := g.link(ctx, n, g.nodes); err != nil {
			return Result{}, err
		}
	}
	moved, begin := g.moved(), time.Now()
	if err := all(g.nodes, func(n *node) error { return g.publish(ctx, n, g.opts.Records) }); err != nil {
		return Result{}, err
	}
	_, bytes := holding(g.acked)
	lacking := bytes - bytes/int64(len(g.nodes))
	return g.measure(ctx, g.nodes, lacking, begin, moved, mem)
}

// lateJoiner adds a node to a network at rest.
func (g *group) lateJoiner(ctx context.Context) (Result, error) {
	mem := startGauge()
	others := g.nodes
	n, err := g.add(ctx)
	if err != nil {
		return Result{}, err
	}
	_, lacking := holding(g.acked)
	moved, begin := g.moved(), time.Now()
	if err := g.link(ctx, n, others); err != nil {
		return Result{}, err
	}
	return g.measure(ctx, []*node{n}, lacking, begin, moved, mem)
}

// partition cuts the network into halves that both go on, and measures from the time
// when they may talk again. It does not wait for the half an hour that a real one may
// last: what is held in each half by then is the same.
func (g *group) partition(ctx context.Context) (Result, error) {
	select {
	case <-ctx.Done():
		return Result{}, ctx.Err()
	case <-time.After(remembering):
	}
	mem := startGauge()
	half := len(g.nodes) / 2
	parts := [][]*node{g.nodes[:half], g.nodes[half:]}
	before := g.acked
	var lacking int64
	for _, part := range parts {
		ids := make([]peer.ID, len(part))
		for i, n := range part {
			ids[i] = n.net.ID()
		}
		// Within a half nobody may be cut off from the rest of it.
		err := errors.Join(all(part, func(n *node) error { return n.net.Allow(ids) }), g.chain(ctx, part))
		if err != nil {
			return Result{}, err
		}
	}
	acked := before
	for i, part := range parts {
		g.acked = before[:len(before):len(before)]
		if err := all(part, func(n *node) error { return g.publish(ctx, n, g.share()) }); err != nil {
			return Result{}, err
		}
		want, _ := holding(g.acked)
		if _, converged, err := await(ctx, g.opts, part, want, time.Now(), pollEvery); err != nil || !converged {
			return Result{}, err
		}
		_, bytes := holding(g.acked[len(before):])
		lacking += bytes * int64(len(parts[1-i]))
		acked = append(acked, g.acked[len(before):]...)
	}
	g.acked = acked
	moved, begin := g.moved(), time.Now()
	if err := all(g.nodes, func(n *node) error { return n.net.Allow(nil) }); err != nil {
		return Result{}, err
	}
	return g.measure(ctx, g.nodes, lacking/int64(len(g.nodes)), begin, moved, mem)
}

// chain connects each node with the next.
func (g *group) chain(ctx context.Context, nodes []*node) error {
	for i, n := range nodes[:len(nodes)-1] {
		if err := n.persist(ctx, nodes[i+1], g.opts.Patience); err != nil {
			return err
		}
	}
	return nil
}

// share is how many records a node publishes in a scenario.
func (g *group) share() int { return max(g.opts.Records/scenarioShare, 1) }

// churn restarts nodes at random while all publish, and measures from the last
// acknowledgement.
func (g *group) churn(ctx context.Context) (Result, error) {
	mem := startGauge()
	restarting := g.rng.Perm(len(g.nodes))[:max(int(churnShare*float64(len(g.nodes))), 1)]
	moved, held := g.moved(), len(g.acked)
	for round := range churnRounds {
		work := make(chan error, 1)
		go func() {
			work <- all(g.nodes, func(n *node) error { return g.publish(ctx, n, max(g.share()/churnRounds, 1)) })
		}()
		var errs []error
		for i, at := range restarting {
			if i%churnRounds != round {
				continue
			}
			n := g.nodes[at]
			if err := n.restart(ctx); err != nil {
				errs = append(errs, err)
				continue
			}
			errs = append(errs, g.link(ctx, n, g.nodes))
		}
		if err := errors.Join(append(errs, <-work)...); err != nil {
			return Result{}, err
		}
		select {
		case <-ctx.Done():
			return Result{}, ctx.Err()
		case <-time.After(churnPause):
		}
	}
	_, bytes := holding(g.acked[held:])
	lacking := bytes - bytes/int64(len(g.nodes))
	return g.measure(ctx, g.nodes, lacking, time.Now(), moved, mem)
}
