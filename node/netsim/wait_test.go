package netsim

import (
	"context"
	"testing"
	"time"

	"github.com/karasu-project/karasu/node/exchange"
	"github.com/karasu-project/karasu/store/commons"
)

// lagging is a database on a machine that is busy just when records have been stored.
type lagging struct{ exchange.Store }

func (l lagging) PutAll(ctx context.Context, records []*commons.Record, own bool) ([]commons.Outcome, error) {
	outcomes, err := l.Store.PutAll(ctx, records, own)
	time.Sleep(300 * time.Millisecond)
	return outcomes, err
}

// TestReconcileLagging: nodes that hold everything have converged, although they have
// not counted yet what came, and their session is counted. The second measurement goes
// on with what both hold since the first.
func TestReconcileLagging(t *testing.T) {
	o, err := Options{Nodes: 2, Records: 1, Held: 200, wrap: func(s exchange.Store) exchange.Store { return lagging{s} }}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{opts: o}
	defer func() {
		if err := p.reset(); err != nil {
			t.Error(err)
		}
	}()
	dir := t.TempDir()
	for i, want := range []int{250, 280} {
		r, err := p.reconcile(t.Context(), dir, []int{50, 30}[i])
		if err != nil {
			t.Fatal(err)
		}
		if !r.Converged || r.Records != want || r.Sessions < 1 || p.nodes[0].held() != want || p.nodes[1].held() != want {
			t.Errorf("%+v, the nodes hold %d and %d, want %d", r, p.nodes[0].held(), p.nodes[1].held(), want)
		}
	}
}

// TestNotConverged: who lacks something is not said to have converged, and what would go
// on with that is not measured.
func TestNotConverged(t *testing.T) {
	r, err := Run(t.Context(), Options{
		Nodes: 2, Records: 1, Held: 1, Scenarios: Scenarios()[:4], Dir: t.TempDir(), Patience: 50 * time.Millisecond,
		wrap: func(s exchange.Store) exchange.Store { return deaf{s} },
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.AllConverged() || r.Converged || r.SecondsP50 != 0 || r.Nodes != 2 {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{LateJoiner, Partition, Churn} {
		if s, ok := r.Scenarios[name]; !ok || s != (Result{}) {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := r.Scenarios[Reconcile100]; s.Converged || s.Records != 101 {
		t.Errorf("%s: %+v", Reconcile100, s)
	}
}

// deaf stores nothing that comes from others.
type deaf struct{ exchange.Store }

func (d deaf) PutAll(ctx context.Context, records []*commons.Record, own bool) ([]commons.Outcome, error) {
	if own {
		return d.Store.PutAll(ctx, records, own)
	}
	return make([]commons.Outcome, len(records)), nil
}

func TestPatience(t *testing.T) {
	now := time.Now()
	p := newPatience(Options{Patience: time.Minute, deadline: now.Add(time.Hour)})
	p.last = now
	second := 0
	wait := func(seconds, held int) (over bool) {
		for range seconds {
			second++
			over = p.over(held, now.Add(time.Duration(second)*time.Second))
		}
		return over
	}
	if wait(50, 1) || wait(50, 2) || wait(60, 3) {
		t.Error("given up although records came")
	}
	if !wait(61, 3) {
		t.Error("not given up although none came for a minute")
	}
	wait(1, 4)
	if p.over(4, now.Add(50*time.Minute)) {
		t.Error("given up as the machine was suspended")
	}
	if !p.over(5, now.Add(61*time.Minute)) {
		t.Error("not given up although the time is over")
	}
}
