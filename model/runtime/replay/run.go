package replay

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/karasu-project/karasu/model/runtime"
)

// key of a row.
type key struct {
	protocol, split, job, model string
	n                           int
}

// Probabilities at which the default's quantiles are compared with what happened.
var Probabilities = [...]float64{.05, .1, .5, .8, .9, .95}

// below counts runs that are at most the quantile of each probability.
type below [len(Probabilities)]int

// sums are errors of one draw.
type sums struct {
	relative, absolute float64
	covered, runs      int
	below              below
	answers            answers
}

// means are errors of one target, every draw counting alike, or of one split.
type means struct {
	relative, absolute float64
	draws              int
	covered, runs      int
	below              below
	answers            answers
}

func (m *means) add(s sums) {
	m.relative += s.relative / float64(s.runs)
	m.absolute += s.absolute / float64(s.runs)
	m.draws++
	m.covered += s.covered
	m.runs += s.runs
	for i, n := range s.below {
		m.below[i] += n
	}
	m.answers.add(&s.answers)
}

// forecast is a prediction with its quantiles, in seconds.
type forecast struct {
	median, low, high float64
	quantiles         [len(Probabilities)]float64
}

func newForecast(d predict.Distribution) forecast {
	f := forecast{median: d.Median()}
	f.low, f.high = d.Interval(.8)
	for i, p := range Probabilities {
		f.quantiles[i] = d.Quantile(p)
	}
	return f
}

func (s *sums) add(f *forecast, seconds float64) {
	e := math.Abs(f.median - seconds)
	s.relative += e / seconds
	s.absolute += e
	s.runs++
	if f.low <= seconds && seconds <= f.high {
		s.covered++
	}
	for i, q := range f.quantiles {
		if seconds <= q {
			s.below[i]++
		}
	}
}

// result of one target or split.
type result struct {
	key
	means
}

// task is a share of the work that is done by one goroutine; its results have a
// place of their own, so that the order of work does not matter.
type task struct {
	do      func(ctx context.Context) ([]result, error)
	results []result
}

// Run replays the protocols. It returns the context's error if that ends first.
func Run(ctx context.Context, c Config) (*Report, error) {
	start := time.Now()
	c.defaults()
	var tasks []*task
	for _, p := range c.Protocols {
		more, err := c.tasks(p)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, more...)
	}
	err := c.work(ctx, tasks)
	if err != nil {
		return nil, err
	}
	r := report(&c, tasks)
	if r.PretrainSeconds, r.FinetuneMS, err = c.times(ctx); err != nil {
		return nil, err
	}
	r.WallSeconds = time.Since(start).Seconds()
	return r, nil
}

func (c *Config) tasks(protocol string) ([]*task, error) {
	tables := c.C3O
	if protocol == Bell {
		tables = c.Bell
	}
	if len(tables) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrTables, protocol)
	}
	var tasks []*task
	for m := range c.Models {
		if ps := c.Models[m].Protocols; len(ps) > 0 && !slices.Contains(ps, protocol) {
			continue
		}
		if (protocol == Shared || protocol == Peers) && c.Models[m].Import == nil {
			continue
		}
		for i := range tables {
			switch protocol {
			case Full, Filtered, Shared, Bell:
				tasks = append(tasks, c.contextTasks(protocol, &c.Models[m], &tables[i])...)
			case Peers:
				tasks = append(tasks, c.peerTasks(&c.Models[m], &tables[i])...)
			case Splits, Points:
				tasks = append(tasks, c.splitTasks(protocol, &c.Models[m], &tables[i])...)
			default:
				return nil, fmt.Errorf("unknown protocol %q, want one of %q", protocol, Protocols)
			}
		}
	}
	return tasks, nil
}

// work does all tasks on as many goroutines as there are workers. The first error
// ends it.
func (c *Config) work(ctx context.Context, tasks []*task) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := c.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	queue := make(chan *task)
	var group sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range workers {
		group.Go(func() {
			for t := range queue {
				results, err := t.do(ctx)
				if err != nil {
					cancel(err)
					continue
				}
				t.results = results
				mu.Lock()
				done++
				if c.Progress != nil {
					c.Progress(done, len(tasks))
				}
				mu.Unlock()
			}
		})
	}
	for _, t := range tasks {
		if ctx.Err() != nil {
			break
		}
		queue <- t
	}
	close(queue)
	group.Wait()
	return context.Cause(ctx)
}

// random returns the generator of one place of the replay: draws do not depend on
// the model, nor on what else is replayed.
func (c *Config) random(place ...any) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, place...) // a hash does not fail
	return rand.New(rand.NewPCG(c.Seed, h.Sum64()))
}

// predictAll adds the errors of a predictor on runs. A model that cannot say
// anything without runs, or with so few, makes no result.
func predictAll(s *sums, p predict.Predictor, runs []predict.Observation) error {
	at := map[int]*forecast{}
	for _, r := range runs {
		f := at[r.ScaleOut]
		if f == nil {
			d, err := p.Predict(r.ScaleOut)
			if err != nil {
				return err
			}
			v := newForecast(d)
			f = &v
			at[r.ScaleOut] = f
		}
		s.add(f, r.RuntimeSeconds)
	}
	return nil
}

// silent says that a model has nothing to say, which is no failure of the replay.
func silent(err error) bool { return errors.Is(err, predict.ErrNoRuns) }
