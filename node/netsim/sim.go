package netsim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/karasu-project/karasu/node/exchange"
	"github.com/karasu-project/karasu/store/commons"
)

// ErrOptions is wrapped by complaints about [Options].
var ErrOptions = errors.New("network benchmark")

const (
	// linksEach is how many others each node dials, so that it has twice as many
	// connections on average: as many as a gossip mesh wants.
	linksEach = 4
	// DefaultPatience is how long a network that does not converge may go without a new
	// record at any node.
	DefaultPatience = time.Minute
	// DefaultTimeout is how long all measurements may take together.
	DefaultTimeout = 20 * time.Minute
	// maxNodes and maxHeld bound what one process can hold.
	maxNodes = 1000
	maxHeld  = 10_000_000
)

// Options say what to measure.
type Options struct {
	// Nodes take part, and each publishes so many Records.
	Nodes, Records int
	// Held is how many records both nodes of a reconciliation hold.
	Held int
	// Scenarios are run besides; see [Scenarios].
	Scenarios []string
	// Seed decides who dials whom and who restarts, and the keys.
	Seed uint64
	// SyncInterval is that of the nodes; 0 is the daemon's default.
	SyncInterval time.Duration
	// Patience overrides [DefaultPatience], and Timeout [DefaultTimeout].
	Patience, Timeout time.Duration
	// Dir is where the databases are; empty is a temporary directory. What is made there
	// is deleted.
	Dir string
	// Progress, if set, is told how many of all steps are done.
	Progress func(done, total int)

	// deadline follows from Timeout.
	deadline time.Time
	// wrap, for tests, stands between a node and its database.
	wrap func(exchange.Store) exchange.Store
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Nodes < 2 || o.Nodes > maxNodes:
		return o, fmt.Errorf("%w: nodes must be 2 to %d: %d", ErrOptions, maxNodes, o.Nodes)
	case o.Records < 1 || o.Records > exchange.DefaultRecordsPerAuthor/4:
		// A quarter, as scenarios add to them and a node takes so many of one author.
		return o, fmt.Errorf("%w: records of a node must be 1 to %d: %d", ErrOptions, exchange.DefaultRecordsPerAuthor/4, o.Records)
	case o.Held < 1 || o.Held > maxHeld:
		return o, fmt.Errorf("%w: records held must be 1 to %d: %d", ErrOptions, maxHeld, o.Held)
	case o.SyncInterval < 0 || o.Patience < 0 || o.Timeout < 0:
		return o, fmt.Errorf("%w: times must not be negative", ErrOptions)
	}
	for _, s := range o.Scenarios {
		if !slices.Contains(Scenarios(), s) {
			return o, fmt.Errorf("%w: no scenario %q, want some of %v", ErrOptions, s, Scenarios())
		}
	}
	if o.SyncInterval == 0 {
		o.SyncInterval = exchange.DefaultSyncInterval
	}
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	o.deadline = time.Now().Add(o.Timeout)
	if o.wrap == nil {
		o.wrap = func(s exchange.Store) exchange.Store { return s }
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	return o, nil
}

// late says that there is no time for another measurement.
func (o Options) late() bool { return time.Now().After(o.deadline) }

// Run measures. Errors wrap [ErrOptions] where the options are wrong; a network that
// does not converge in time is no error. What there was no time for, and scenarios that
// would go on with a network that did not converge, are zero in the report.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	if o, err = o.withDefaults(); err != nil {
		return nil, err
	}
	begin := time.Now()
	dir, err := os.MkdirTemp(o.Dir, "karasu-netsim-")
	if err != nil {
		return nil, fmt.Errorf("network benchmark: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	report = &Report{Scenarios: make(map[string]Result)}
	done, total := 0, 1+len(o.Scenarios)
	step := func() { done++; o.Progress(done, total) }
	o.Progress(0, total)
	if err := runNetwork(ctx, o, dir, report, step); err != nil {
		return nil, err
	}
	if err := runPair(ctx, o, dir, report, step); err != nil {
		return nil, err
	}
	report.WallSeconds = time.Since(begin).Seconds()
	return report, nil
}

// runNetwork measures a network and the scenarios that go on with it.
func runNetwork(ctx context.Context, o Options, dir string, report *Report, step func()) (err error) {
	g := &group{
		opts: o, dir: dir, rng: rand.New(rand.NewPCG(o.Seed, 1)),
		numbers: make(map[*node]int),
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if report.Result, err = g.begin(ctx); err != nil {
		return err
	}
	step()
	rest := report.Converged
	for _, s := range []struct {
		name string
		run  func(context.Context) (Result, error)
	}{{LateJoiner, g.lateJoiner}, {Partition, g.partition}, {Churn, g.churn}} {
		if !slices.Contains(o.Scenarios, s.name) {
			continue
		}
		var res Result
		if rest && !o.late() {
			if res, err = s.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			rest = res.Converged
		}
		report.Scenarios[s.name] = res
		step()
	}
	return nil
}

// group is a network of nodes and what they should hold.
type group struct {
	opts  Options
	dir   string
	rng   *rand.Rand
	nodes []*node

	mu      sync.Mutex
	numbers map[*node]int // drafts so far
	acked   []*commons.Record
}

// add makes and starts a node without a link.
func (g *group) add(ctx context.Context) (*node, error) {
	n, err := newNode(g.dir, g.opts, len(g.nodes))
	if err != nil {
		return nil, err
	}
	if err := n.start(ctx); err != nil {
		return nil, err
	}
	g.nodes = append(g.nodes, n)
	return n, nil
}

// link dials others at random. A machine that does the work of all may be too busy to
// answer in time, so what fails is tried again.
func (g *group) link(ctx context.Context, n *node, among []*node) error {
	var errs []error
	dialled := 0
	for _, i := range g.rng.Perm(len(among)) {
		if among[i] == n {
			continue
		}
		if dialled == linksEach {
			break
		}
		errs = append(errs, n.persist(ctx, among[i], g.opts.Patience))
		dialled++
	}
	return errors.Join(errs...)
}

// publish lets a node publish so many records and notes what it acknowledged.
func (g *group) publish(ctx context.Context, n *node, records int) error {
	g.mu.Lock()
	first := g.numbers[n]
	g.numbers[n] += records
	g.mu.Unlock()
	at := slices.Index(g.nodes, n)
	drafts := make([]draft, records)
	for i := range drafts {
		drafts[i] = draft{number: at*exchange.DefaultRecordsPerAuthor + first + i, created: today()}
	}
	acked, err := n.publish(ctx, drafts)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.acked = append(g.acked, acked...)
	return nil
}

// all calls f for each node at once.
func all(nodes []*node, f func(*node) error) error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { errs[i] = f(n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// measure waits for nodes, which lack so many bytes each, to hold everything.
func (g *group) measure(ctx context.Context, nodes []*node, lacking int64, begin time.Time, moved map[*node]int64, mem *gauge) (Result, error) {
	want, _ := holding(g.acked)
	took, converged, err := await(ctx, g.opts, nodes, want, begin, pollEvery)
	most, _ := mem.end()
	if err != nil {
		return Result{}, err
	}
	var bytes int64
	for _, n := range nodes {
		bytes += n.moved() - moved[n]
	}
	return Result{
		Nodes: len(g.nodes), Records: len(g.acked), Converged: converged,
		SecondsP50: quantile(took, .5), SecondsP99: quantile(took, .99),
		BytesPerNode: bytes / int64(len(nodes)), BytesMinimum: lacking, ResidentMB: most,
	}, nil
}

// moved notes the bytes of all nodes so far.
func (g *group) moved() map[*node]int64 {
	out := make(map[*node]int64, len(g.nodes))
	for _, n := range g.nodes {
		out[n] = n.moved()
	}
	return out
}

// close removes all nodes.
func (g *group) close() error { return all(g.nodes, (*node).remove) }
