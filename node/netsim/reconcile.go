package netsim

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/karasu-project/karasu/node/exchange"
	"github.com/karasu-project/karasu/store/commons"
)

const (
	// authorRecords are signed by one author of a reconciliation, half of what a node
	// takes of one.
	authorRecords = exchange.DefaultRecordsPerAuthor / 2
	// authorKeys keeps the keys of authors apart from those of nodes.
	authorKeys = 1 << 20
	// gcPercent is how much garbage there may be while memory is measured.
	gcPercent = 10
	// settle is how long both sides may take to have counted the last session.
	settle = 5 * time.Second
	// reconcileDays is over how many days the records are spread.
	reconcileDays = 30
)

// pair is two nodes that hold the same records but for some.
type pair struct {
	opts  Options
	nodes [2]*node
	// filled is how many records there are so far.
	filled int
}

// runPair measures two nodes that differ in few records, and then, as they hold the same,
// in many.
func runPair(ctx context.Context, o Options, dir string, report *Report, step func()) (err error) {
	p := &pair{opts: o}
	defer func() { err = errors.Join(err, p.reset()) }()
	for _, s := range []struct {
		name   string
		differ int
	}{{Reconcile100, 100}, {Reconcile100000, 100_000}} {
		if !slices.Contains(o.Scenarios, s.name) {
			continue
		}
		var res Result
		if !o.late() {
			if res, err = p.reconcile(ctx, dir, s.differ); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		report.Scenarios[s.name] = res
		step()
		if !res.Converged {
			// The next one would differ in these too.
			if err := p.reset(); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return nil
}

// reset removes both nodes.
func (p *pair) reset() (err error) {
	for _, n := range p.nodes {
		if n != nil {
			err = errors.Join(err, n.remove())
		}
	}
	p.nodes, p.filled = [2]*node{}, 0
	return err
}

// prepare makes the nodes lack each half of the records that differ, and says what both
// should hold. Neither runs then.
func (p *pair) prepare(ctx context.Context, dir string, differ int) (want goal, lacking int64, err error) {
	for i := range p.nodes {
		if p.nodes[i] == nil {
			if p.nodes[i], err = newNode(filepath.Join(dir, "reconcile"), p.opts, i); err != nil {
				return want, 0, err
			}
		}
		if err = errors.Join(p.nodes[i].stop(), p.nodes[i].openStore()); err != nil {
			return want, 0, err
		}
	}
	f := filling{seed: p.opts.Seed, nodes: p.nodes, from: p.filled, common: max(p.filled, p.opts.Held)}
	f.total = f.common + differ
	if lacking, err = f.fill(ctx); err != nil {
		return want, 0, err
	}
	p.filled = f.total
	var entries [2][]commons.Entry
	for i, n := range p.nodes {
		if entries[i], err = n.db.Entries(nil); err != nil {
			return want, 0, err
		}
	}
	want = goalOf(entries[:]...)
	if want.records != f.total {
		return want, 0, fmt.Errorf("%d records are stored instead of %d", want.records, f.total)
	}
	// Stopped, to see how long opening takes, and so that what filling left behind in
	// memory does not count.
	return want, lacking, errors.Join(p.nodes[0].stop(), p.nodes[1].stop())
}

// reconcile measures from when the nodes connect, half of the records that differ being
// held by the one and half by the other.
func (p *pair) reconcile(ctx context.Context, dir string, differ int) (res Result, err error) {
	want, lacking, err := p.prepare(ctx, dir, differ)
	if err != nil {
		return res, err
	}
	nodes := p.nodes[:]
	res = Result{Nodes: len(nodes), Records: want.records, BytesMinimum: lacking / int64(len(nodes))}
	for _, n := range nodes {
		debug.FreeOSMemory()
		begin := time.Now()
		if err := n.openStore(); err != nil {
			return res, err
		}
		res.OpenSeconds = max(res.OpenSeconds, time.Since(begin).Seconds())
		if err := n.start(ctx); err != nil {
			return res, err
		}
	}
	// By default the heap may grow to twice of what lives in it. That is the runtime's
	// choice and not what a session needs, which is what is measured.
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	debug.FreeOSMemory()
	mem := startGauge()
	begin, moved := time.Now(), nodes[0].moved()
	if err := nodes[0].persist(ctx, nodes[1], p.opts.Patience); err != nil {
		mem.end()
		return res, err
	}
	took, converged, err := await(ctx, p.opts, nodes, want, begin, pollEvery/4)
	res.BytesPerNode = nodes[0].moved() - moved
	res.ResidentMB, res.ExtraMB = mem.end()
	res.SecondsP50, res.SecondsP99, res.Converged = quantile(took, .5), quantile(took, .99), converged
	if err == nil {
		res.Sessions, err = p.sessions(ctx)
	}
	return res, err
}

// sessions is how many there were. A session that has brought everything takes a moment
// to end and to be counted on both sides.
func (p *pair) sessions(ctx context.Context) (most int, err error) {
	for begin := time.Now(); time.Since(begin) < settle; {
		a, b := int(p.nodes[0].ex.Stats().Syncs), int(p.nodes[1].ex.Stats().Syncs)
		before := most
		if most = max(a, b); most > 0 && most == before && min(a, b) == most {
			break
		}
		select {
		case <-ctx.Done():
			return most, ctx.Err()
		case <-time.After(settle / 50):
		}
	}
	return most, nil
}

// filling is what is stored at two nodes: the records by number of which both hold those
// below common.
type filling struct {
	seed                uint64
	nodes               [2]*node
	from, common, total int
}

// fill stores the records, author by author, and returns the bytes of those that differ.
func (f filling) fill(ctx context.Context) (lacking int64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan int)
	var (
		wg sync.WaitGroup
		mu sync.Mutex
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for a := range work {
				n, err := f.author(ctx, a)
				if err != nil {
					cancel(err)
				}
				mu.Lock()
				lacking += n
				mu.Unlock()
			}
		})
	}
	for a := f.from / authorRecords; a*authorRecords < f.total; a++ {
		select {
		case work <- a:
		case <-ctx.Done():
		}
	}
	close(work)
	wg.Wait()
	return lacking, context.Cause(ctx)
}

// author stores the records of one author.
func (f filling) author(ctx context.Context, author int) (lacking int64, err error) {
	key, err := newKey(f.seed, authorKeys+author)
	if err != nil {
		return 0, err
	}
	var records [2][]*commons.Record
	for number := max(author*authorRecords, f.from); number < min((author+1)*authorRecords, f.total); number++ {
		r, err := draft{number: number, created: today().AddDate(0, 0, -(number/topicsOf)%reconcileDays)}.seal(key)
		if err != nil {
			return 0, err
		}
		for i := range records {
			if number < f.common || number%2 == i {
				records[i] = append(records[i], r)
			}
		}
		if number >= f.common {
			lacking += int64(len(r.Envelope))
		}
	}
	for i, n := range f.nodes {
		if _, err := n.db.PutAll(ctx, records[i], false); err != nil {
			return 0, err
		}
	}
	return lacking, nil
}
