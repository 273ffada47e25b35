// Package demo shows Karasu at work in one process: organisations with real nodes
// on loopback, each with private runs, let each other know what their policies
// allow, and then a newcomer without runs searches for workloads that nobody holds,
// with the network and alone.
package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/node/p2p"
	"github.com/karasu-project/karasu/node/share"
)

// ErrTable means that a run table cannot be used for the demo.
var ErrTable = errors.New("run table")

const (
	// DefaultSteps is the number of profiling runs of a search.
	DefaultSteps = 10
	// gossipTimeout bounds the wait until all organisations hold all records; on
	// loopback it takes one or two seconds.
	gossipTimeout = 60 * time.Second
	pollInterval  = 20 * time.Millisecond
)

// Newcomer is the organisation that searches and holds no runs.
const Newcomer = "newcomer"

// holders are the organisations that hold runs.
func holders() []string { return []string{"north", "east", "south", "west"} }

// Options of a demo.
type Options struct {
	// Runs is the whole table: what organisations hold and what a search may find.
	Runs []model.Run
	// Simulated says that the runs are made up.
	Simulated bool
	// History bounds the runs a workload that an organisation holds; 0 is all. Those
	// taken are spread evenly over the workload's rows.
	History int
	// Steps is the number of profiling runs a search; 0 is [DefaultSteps].
	Steps int
	// MaxSearches bounds the number of workloads that the newcomer searches; 0 is all.
	MaxSearches int
	// Dir holds the homes; it must exist and is left to the caller.
	Dir string
	// Progress is told after each part of the work; it may be nil.
	Progress func(done, total int, what string)
}

// Report is what the demo found. Its JSON form is stable.
type Report struct {
	Simulated     bool           `json:"simulated"`
	Searches      []Search       `json:"searches"`
	Organisations []Organisation `json:"organisations"`
	WallSeconds   float64        `json:"wall_seconds"`
}

// Search is the trace of one search.
type Search struct {
	Workload string `json:"workload"`
	// Mode is "network" or "solo".
	Mode          string  `json:"mode"`
	TargetSeconds float64 `json:"target_seconds"`
	// Configurations in the order they were tried.
	Configurations []string `json:"configurations"`
	// BestOverOptimum is, after each run, the cost of the best valid run so far over
	// the cost of the best valid configuration there is; null before the first.
	BestOverOptimum []*float64 `json:"best_over_optimum"`
	// Weights of the ensemble after the last run.
	Weights []Weight `json:"weights"`
	// SuggestMillis is the computing time of each suggestion.
	SuggestMillis []float64 `json:"suggest_ms"`
}

// Weight is the share of the ensemble that one origin carries.
type Weight struct {
	Organisation string  `json:"organisation"`
	Topic        string  `json:"topic"`
	Share        float64 `json:"share"`
}

// Organisation says what one organisation gave and got.
type Organisation struct {
	Name            string `json:"name"`
	PrivateRuns     int    `json:"private_runs"`
	RecordsShared   int    `json:"records_shared"`
	BytesShared     int    `json:"bytes_shared"`
	RecordsReceived int    `json:"records_received"`
	// Sample is one of the records that left, decoded.
	Sample string `json:"sample,omitempty"`
}

// member is an organisation with its node.
type member struct {
	name string
	runs []model.Run
	app  *node.App
}

// Run plays the demo. It closes every node that it opened.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	start := time.Now()
	if o.Steps == 0 {
		o.Steps = DefaultSteps
	}
	plan, err := split(o)
	if err != nil {
		return nil, err
	}
	total := len(plan.shared) + 1 + 2*len(plan.searches)
	done := 0
	progress := func(what string) {
		done++
		if o.Progress != nil {
			o.Progress(done, total, what)
		}
	}
	var members []*member
	defer func() {
		for _, m := range members {
			err = errors.Join(err, m.app.Stop(context.WithoutCancel(ctx)))
		}
	}()
	for i, name := range holders()[:len(plan.shared)] {
		m, err := open(ctx, o.Dir, name, share.Both, plan.shared[i])
		if err != nil {
			return nil, err
		}
		members = append(members, m)
		if i > 0 { // a chain: nobody knows everybody
			if err := connect(ctx, m, members[i-1]); err != nil {
				return nil, err
			}
		}
		progress(name + " is up")
	}
	if err := settle(ctx, members); err != nil {
		return nil, err
	}
	progress("everybody has heard from everybody")
	report = &Report{Simulated: o.Simulated}
	for i, w := range plan.searches {
		found, newcomer, err := search(ctx, o, i, w, members, progress)
		if err != nil {
			return nil, err
		}
		report.Searches = append(report.Searches, found...)
		if i == len(plan.searches)-1 {
			report.Organisations = append(report.Organisations, *newcomer)
		}
	}
	for _, m := range members {
		summary, err := m.describe(ctx)
		if err != nil {
			return nil, err
		}
		report.Organisations = append(report.Organisations, *summary)
	}
	report.WallSeconds = time.Since(start).Seconds()
	return report, nil
}

// open starts an organisation's node in a home of its own and imports its runs.
func open(ctx context.Context, dir, name string, mode share.Mode, runs []model.Run) (*member, error) {
	folder := filepath.Join(dir, name)
	home := node.Home{ConfigDir: folder, DataDir: folder, RuntimeDir: folder}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	if err := home.Init(name, node.InitOptions{}); err != nil {
		return nil, err
	}
	config := node.DefaultConfig(name)
	config.Share.Policy = mode
	loopback := p2p.Loopback()
	app, err := node.New(ctx, home, config, node.Options{Network: &loopback, NoAPI: true})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	if err := app.Start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), app.Stop(context.WithoutCancel(ctx)))
	}
	m := &member{name: name, runs: runs, app: app}
	const batch = 1000
	for len(runs) > 0 {
		n := min(batch, len(runs))
		if _, _, err := app.ImportRuns(ctx, runs[:n]); err != nil {
			return nil, errors.Join(fmt.Errorf("import into %s: %w", name, err), app.Stop(context.WithoutCancel(ctx)))
		}
		runs = runs[n:]
	}
	return m, nil
}

// connect lets m dial another member.
func connect(ctx context.Context, m, other *member) error {
	addr := fmt.Sprintf("%s/p2p/%s", other.app.Network().Addrs()[0], other.app.Network().ID())
	if err := m.app.Network().Connect(ctx, addr); err != nil {
		return fmt.Errorf("connect %s to %s: %w", m.name, other.name, err)
	}
	return nil
}

// settle waits until every member has published all that its runs allow and holds
// what all others published.
func settle(ctx context.Context, members []*member) error {
	ctx, cancel := context.WithTimeout(ctx, gossipTimeout)
	defer cancel()
	for {
		published, err := allPublished(ctx, members)
		if err != nil {
			return err
		}
		if published && allHold(members) {
			return nil
		}
		for _, m := range members {
			if err := m.app.Sync(ctx); err != nil && ctx.Err() != nil {
				return fmt.Errorf("the organisations did not converge within %s: %w", gossipTimeout, err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the organisations did not converge within %s: %w", gossipTimeout, ctx.Err())
		case <-time.After(pollInterval):
		}
	}
}

func allPublished(ctx context.Context, members []*member) (bool, error) {
	for _, m := range members {
		preview, err := m.app.PreviewShare(ctx)
		if err != nil {
			return false, err
		}
		for _, r := range preview.GetRecords() {
			if !r.GetShared() {
				return false, nil
			}
		}
	}
	return true, nil
}

func allHold(members []*member) bool {
	total := 0
	for _, m := range members {
		own, _ := m.records()
		total += own
	}
	for _, m := range members {
		if own, received := m.records(); own+received != total {
			return false
		}
	}
	return true
}

func (m *member) records() (own, received int) {
	for _, t := range m.app.Commons().Topics() {
		own += t.Own
		received += t.Received
	}
	return own, received
}
