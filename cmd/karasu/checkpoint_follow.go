package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/proto/karasu/v1/karasuv1connect"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/spark"
	"github.com/karasu-project/karasu/store/wire"
)

type checkpointFollowCmd struct {
	Log      string        `arg:"" help:"Event log of a Spark application, a file or a rolling folder. One that has ended is played again." placeholder:"LOG"`
	DataSize byteSize      `help:"Size of what the application reads. Default: by what its first stages read, against earlier runs." placeholder:"SIZE"`
	Interval time.Duration `help:"Time between two looks at the log." default:"2s" placeholder:"TIME"`
	goalFlags
	rateFlag
	JSON bool `name:"json" help:"Print a JSON object a line for each decision."`
}

// Help implements kong's interface for examples.
func (checkpointFollowCmd) Help() string {
	return `Solves again whenever stages have ended, with their true sizes and predictions of the
others, and says to persist once the best cut holds only stages that have ended. What may
come is known from earlier runs of the job. It ends with the application, or on Ctrl-C.

Examples:

  karasu checkpoint follow /var/log/spark/app-20260303030000-0002.inprogress
  karasu checkpoint follow /var/log/spark/eventlog_v2_app-20260303030000-0002 --objective restart --json`
}

// followShare bounds the reading of a log to a tenth of the time: a large one is read less often.
const followShare = 10

// Run follows the log.
func (c checkpointFollowCmd) Run(a *app) error {
	if err := checkPaths([]string{c.Log}); err != nil {
		return err
	}
	if c.Interval < 10*time.Millisecond || c.Interval > time.Hour {
		return usagef("--interval must be between 10ms and 1h: %s", c.Interval)
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	f := &follower{app: a, client: client, json: c.JSON, dataSize: float64(c.DataSize), goal: c.message("storage", c.FailureRate)}
	first := true
	for {
		begin := time.Now()
		e, running, err := c.read(a.ctx)
		if err != nil {
			return interrupted(a.ctx, err)
		}
		if first && e != nil && !e.Finished() && !running {
			a.note("%s: its name says that the application has ended, but its end is missing: it may be cut; waiting for more", clean(c.Log))
		}
		switch {
		case e != nil && e.Finished() && first:
			return f.replay(a.ctx, e)
		case e != nil && e.Graph != nil:
			if err := f.decide(a.ctx, e); err != nil {
				return interrupted(a.ctx, err)
			}
			if e.Finished() {
				return f.ended()
			}
		case first && !c.JSON:
			a.note("%s: nothing has run yet; waiting", clean(c.Log))
		}
		first = false
		wait := max(c.Interval, followShare*time.Since(begin))
		select {
		case <-a.ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// interrupted drops errors that come of the user's interrupt: what was decided is printed.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // an interrupt is how this ends
	}
	return err
}

// read reads the log as it is now, nil where it was just begun, and whether its name says
// that the application runs. When it ends, Spark takes .inprogress off the name.
func (c checkpointFollowCmd) read(ctx context.Context) (e *model.Execution, running bool, err error) {
	const suffix = ".inprogress"
	log, err := oneLog(ctx, c.Log)
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(c.Log, suffix) {
		log, err = oneLog(ctx, strings.TrimSuffix(c.Log, suffix))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, &ingest.Problem{File: c.Log, Text: "cannot be read: no such file or folder"}
	}
	if err != nil {
		return nil, false, err
	}
	e, err = log.Read(ctx, spark.Options{Planned: true})
	var p *ingest.Problem
	if errors.As(err, &p) && (log.InProgress || log.Layout != spark.File || log.Bytes == 0) {
		return nil, log.InProgress, nil // just begun
	}
	return e, log.InProgress, err
}

// oneLog finds the only log at a path.
func oneLog(ctx context.Context, path string) (spark.Log, error) {
	var found []spark.Log
	for l, err := range spark.FindPath(ctx, path) {
		if err != nil {
			return spark.Log{}, err
		}
		if found = append(found, l); len(found) > 1 {
			return spark.Log{}, usagef("%s holds several logs: name one of them, such as %s", clean(path), clean(found[0].Name))
		}
	}
	if len(found) == 0 {
		return spark.Log{}, usagef("%s holds no log: name a file or a rolling folder", clean(path))
	}
	return found[0], nil
}

// follower asks the daemon again whenever something has ended, and prints what is new.
type follower struct {
	app       *app
	client    karasuv1connect.KarasuServiceClient
	json      bool
	goal      *karasuv1.CheckpointGoal
	dataSize  float64
	committed []*karasuv1.CheckpointCut
	// seen is what the last decision was made from, said what was printed last.
	seen, said string
	decisions  int
}

// decide asks for a decision if stages have ended or come since the last one.
func (f *follower) decide(ctx context.Context, e *model.Execution) error {
	finished := 0
	for _, s := range e.Graph.Stages {
		if s.Outcome == model.OK {
			finished++
		}
	}
	seen := fmt.Sprintf("%d of %d", finished, len(e.Graph.Stages))
	if seen == f.seen {
		return nil
	}
	m, _ := wire.FromExecution(*e)
	res, err := f.client.FollowCheckpoint(ctx, connect.NewRequest(&karasuv1.FollowCheckpointRequest{
		Execution: m, Goal: f.goal, Committed: f.committed, DataSize: f.dataSize,
	}))
	if err != nil {
		return err
	}
	f.seen = seen
	f.decisions++
	if err := f.print(res.Msg); err != nil {
		return err
	}
	if res.Msg.GetCommit() {
		f.committed = append(f.committed, res.Msg.GetPlanned())
	}
	return nil
}

func (f *follower) ended() error {
	if f.json {
		return nil
	}
	_, err := fmt.Fprintf(f.app.stdout, "The application has ended: %s, %s to persist.\n", plural(f.decisions, "decision", "decisions"), plural(len(f.committed), "cut", "cuts"))
	return err
}

// replay plays an application that has ended as if it ran.
func (f *follower) replay(ctx context.Context, e *model.Execution) error {
	if e.Graph == nil {
		return &ingest.Problem{File: e.Origin, Text: "holds no stages"}
	}
	if !f.json {
		f.app.note("the application has ended: these are the decisions as they would have come")
	}
	for _, at := range endsOf(e.Graph) {
		snapshot := atTime(e, at)
		if snapshot.Graph == nil {
			continue
		}
		if err := f.decide(ctx, snapshot); err != nil {
			return interrupted(ctx, err)
		}
	}
	return f.ended()
}
