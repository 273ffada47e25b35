package netsim

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
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
	// reconcileDays is over how many days the records are spread.
	reconcileDays = 30
)

// reconcile measures two nodes that hold the same records but for some: half of those
// are held by the one, half by the other. It begins when they connect.
func reconcile(ctx context.Context, o Options, dir string, differ int) (res Result, err error) {
	var nodes [2]*node
	dir = filepath.Join(dir, fmt.Sprint("reconcile-", differ))
	defer func() {
		for _, n := range nodes {
			if n != nil {
				err = errors.Join(err, n.remove())
			}
		}
	}()
	for i := range nodes {
		if nodes[i], err = newNode(dir, o.Seed, i, o.SyncInterval); err != nil {
			return res, err
		}
		if err = nodes[i].openStore(); err != nil {
			return res, err
		}
	}
	lacking, err := fill(ctx, o, nodes, differ)
	if err != nil {
		return res, err
	}
	res = Result{Nodes: len(nodes), Records: o.Held + differ, BytesMinimum: lacking / int64(len(nodes))}
	for _, n := range nodes {
		// Anew, to see how long opening takes, and so that what filling left behind in
		// memory does not count.
		if err := n.stop(); err != nil {
			return res, err
		}
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
	if err := nodes[0].connect(ctx, nodes[1]); err != nil {
		return res, err
	}
	for nodes[0].root() != nodes[1].root() {
		if time.Since(begin) > o.Timeout {
			break
		}
		select {
		case <-ctx.Done():
			return res, ctx.Err()
		case <-time.After(pollEvery / 4):
		}
	}
	took := []time.Duration{time.Since(begin)}
	res.SecondsP50, res.SecondsP99 = quantile(took, .5), quantile(took, .99)
	res.BytesPerNode = nodes[0].moved() - moved
	res.ResidentMB, res.ExtraMB = mem.end()
	res.Converged = nodes[0].root() == nodes[1].root()
	for _, n := range nodes {
		s := n.ex.Stats()
		res.Sessions = max(res.Sessions, int(s.Syncs))
		res.Converged = res.Converged && s.RecordsIn == uint64(half(differ, n, nodes))
	}
	return res, nil
}

// half is how many of the records that differ a node lacks: those of odd numbers are
// the second's.
func half(differ int, n *node, nodes [2]*node) int {
	if n == nodes[0] {
		return differ / 2
	}
	return differ - differ/2
}

// fill stores the records of both nodes, author by author, and returns the bytes of
// those that differ.
func fill(ctx context.Context, o Options, nodes [2]*node, differ int) (lacking int64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	total := o.Held + differ
	authors := (total + authorRecords - 1) / authorRecords
	work := make(chan int)
	var (
		wg sync.WaitGroup
		mu sync.Mutex
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for a := range work {
				n, err := fillAuthor(ctx, o, nodes, a, total)
				if err != nil {
					cancel(err)
				}
				mu.Lock()
				lacking += n
				mu.Unlock()
			}
		})
	}
	for a := range authors {
		select {
		case work <- a:
		case <-ctx.Done():
		}
	}
	close(work)
	wg.Wait()
	return lacking, context.Cause(ctx)
}

// fillAuthor stores the records of one author.
func fillAuthor(ctx context.Context, o Options, nodes [2]*node, author, total int) (lacking int64, err error) {
	key, err := newKey(o.Seed, authorKeys+author)
	if err != nil {
		return 0, err
	}
	var records [2][]*commons.Record
	for number := author * authorRecords; number < min((author+1)*authorRecords, total); number++ {
		r, err := draft{number: number, created: today().AddDate(0, 0, -(number/topicsOf)%reconcileDays)}.seal(key)
		if err != nil {
			return 0, err
		}
		for i := range records {
			if number < o.Held || number%2 == i {
				records[i] = append(records[i], r)
			}
		}
		if number >= o.Held {
			lacking += int64(len(r.Envelope))
		}
	}
	for i, n := range nodes {
		if _, err := n.db.PutAll(ctx, records[i], false); err != nil {
			return 0, err
		}
	}
	return lacking, nil
}
