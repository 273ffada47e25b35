package main

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/ingest/naming"
	"github.com/karasu-project/karasu/store/ingest/watch"
	"github.com/karasu-project/karasu/store/wire"
)

type watchCmd struct {
	Spark  watchSparkCmd  `cmd:"" help:"Watch a folder of Spark event logs."`
	Hadoop watchHadoopCmd `cmd:"" help:"Watch a folder of histories of Hadoop MapReduce jobs."`
}

type watchSparkCmd struct{ watchFlags }

type watchHadoopCmd struct{ watchFlags }

// watchFlags are those of every kind of records.
type watchFlags struct {
	Dir            string        `arg:"" help:"Folder." placeholder:"DIR"`
	Infrastructure string        `help:"Infrastructure of rules that name none, such as aws-emr." placeholder:"SLUG"`
	MachineType    string        `help:"Machine type of the workers; it comes before what the records tell." placeholder:"NAME"`
	Rescan         time.Duration `help:"Time between two looks on a file system that does not tell of changes." default:"30s" placeholder:"TIME"`
	Quiet          time.Duration `help:"How long a log in progress has not changed when it is taken as it is." default:"10m" placeholder:"TIME"`
}

// Help implements kong's interface for examples.
func (watchSparkCmd) Help() string {
	return `Imports the logs that are in the folder, then each application within seconds of its
end, until it is interrupted. A log in progress is read once it is renamed or quiet. One
line is printed for each application (stored, updated or unchanged) and each file that
holds none.

The daemon itself watches what config.toml says:

  [[watch]]
  kind = "spark"
  path = "/var/log/spark"

Example:

  karasu watch spark /var/log/spark --infrastructure on-premises`
}

// Run watches until the context ends.
func (c watchSparkCmd) Run(a *app) error { return c.run(a, "spark") }

// Help implements kong's interface for examples.
func (watchHadoopCmd) Help() string {
	return `Imports the histories that are in the folder, then those that come. Otherwise as karasu
watch spark.

Example:

  karasu watch hadoop /mr-history/done --infrastructure on-premises`
}

// Run watches until the context ends.
func (c watchHadoopCmd) Run(a *app) error { return c.run(a, "hadoop") }

func (c watchFlags) run(a *app, kind string) error {
	hints := naming.Hints{Infrastructure: c.Infrastructure, MachineType: c.MachineType}
	if err := hints.Validate(); err != nil {
		return &usageError{err}
	}
	if c.Rescan < time.Second || c.Rescan > 24*time.Hour {
		return usagef("--rescan must be between 1s and 24h: %s", c.Rescan)
	}
	if c.Quiet < time.Second || c.Quiet > 24*time.Hour {
		return usagef("--quiet must be between 1s and 24h: %s", c.Quiet)
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	if _, err := client.Status(a.ctx, connect.NewRequest(&karasuv1.StatusRequest{})); err != nil {
		return err
	}
	message := &karasuv1.ExecutionHints{Infrastructure: c.Infrastructure, MachineType: c.MachineType}
	w := watch.New(watch.Options{
		Path: c.Dir, Rescan: c.Rescan, Quiet: c.Quiet,
		Find: func(ctx context.Context) iter.Seq2[watch.Item, error] { return node.WatchItems(ctx, kind, c.Dir) },
		Store: func(ctx context.Context, item watch.Item, e model.Execution) (watch.Result, error) {
			m, _ := wire.FromExecution(e)
			res, err := client.ImportExecutions(context.WithoutCancel(ctx), connect.NewRequest(&karasuv1.ImportExecutionsRequest{
				Executions: []*karasuv1.Execution{m}, Hints: message,
			}))
			if err != nil {
				return 0, err
			}
			done := res.Msg.GetExecutions()[0]
			return node.WatchResult(done.GetResult()), c.print(a, item, done)
		},
		// Importing again changes nothing, so what is known needs not outlive this process.
		Seen: func(context.Context, watch.Item) (bool, error) { return false, nil },
		Done: func(context.Context, watch.Item) error { return nil },
		Unreadable: func(item watch.Item, err error) {
			line, _ := describe(err)
			a.note("%s: %s", clean(item.Path), clean(strings.TrimPrefix(line, item.Path+": ")))
		},
		Waiting: func(item watch.Item, err error) {
			line := "is not complete"
			if err != nil {
				line, _ = describe(err)
				line = strings.TrimPrefix(line, item.Path+": ")
			}
			a.note("%s: %s; it is read again when it changes, or after %s", clean(item.Path), clean(line), c.Quiet)
		},
	})
	a.note("watching %s; stop with Ctrl-C", clean(c.Dir))
	w.Run(a.ctx)
	return nil
}

// print says what became of an application.
func (c watchFlags) print(a *app, item watch.Item, m *karasuv1.ImportedExecution) error {
	what := "job " + m.GetJob()
	if m.GetRunId() == "" {
		what = "not a run yet: " + m.GetDetail()
	}
	result := resultText(m.GetResult())
	if m.GetResult() == karasuv1.ImportResult_IMPORT_RESULT_IMPORTED {
		result = "stored"
	}
	_, err := fmt.Fprintf(a.stdout, "%-9s %s  %s  %s\n", result, clean(dash(m.GetName())), clean(item.Path), clean(what))
	return err
}
