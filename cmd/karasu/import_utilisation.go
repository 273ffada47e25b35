package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/proto/karasu/v1/karasuv1connect"
	"github.com/karasu-project/karasu/store/ingest/utilisation"
	"github.com/karasu-project/karasu/store/wire"
)

// attachBatch is the number of runs in one request.
const attachBatch = 500

type importUtilisationCmd struct {
	Prometheus importPrometheusCmd `cmd:"" help:"From a server with Prometheus's API that scrapes node_exporter."`
	Sar        importSarCmd        `cmd:"" help:"From exports of sysstat: sadf -d, sadf -j or sar."`
}

// utilisationFlags are those of both sources.
type utilisationFlags struct {
	Job     string `help:"Only runs of this job." placeholder:"NAME"`
	ByHost  bool   `help:"Of each run only the hosts that its record names; runs whose record names none are left out."`
	Replace bool   `help:"Also replace utilisation that is there."`
	DryRun  bool   `help:"Look everything up, store nothing."`
	jsonFlag
}

type importPrometheusCmd struct {
	URL       string        `arg:"" name:"url" help:"Address of the server, such as http://prometheus:9090." placeholder:"URL"`
	Instances []string      `help:"Regular expressions on the instance labels of the nodes. Default: all." placeholder:"REGEXP"`
	Rate      time.Duration `help:"Time over which rates are taken." default:"1m" placeholder:"TIME"`
	Header    []httpLine    `help:"Sent with every request." placeholder:"NAME: VALUE" sep:"none"`
	utilisationFlags
}

// Help implements kong's interface for examples.
func (importPrometheusCmd) Help() string {
	return `Asks for each stored run what the nodes used between its start and its end, and attaches
the percentiles to the run. What covers less than half of a run is left out.

Examples:

  karasu import utilisation prometheus http://prometheus:9090 --instances 'worker-.*'
  karasu import utilisation prometheus http://prometheus:9090 --by-host --job nightly`
}

// Run attaches what the server tells.
func (c importPrometheusCmd) Run(a *app) error {
	if c.ByHost && len(c.Instances) > 0 {
		return usagef("--by-host excludes --instances")
	}
	source := func(instances []string) (*utilisation.Prometheus, error) {
		return utilisation.NewPrometheus(c.URL, utilisation.PrometheusOptions{Instances: instances, Rate: c.Rate, Header: headers(c.Header)})
	}
	all, err := source(c.Instances)
	if err != nil {
		return &usageError{err}
	}
	return c.attach(a, func(ctx context.Context, w utilisation.Window, hosts []string) (utilisation.Summary, error) {
		if !c.ByHost {
			return all.Of(ctx, w)
		}
		var instances []string
		for _, h := range hosts {
			instances = append(instances, regexp.QuoteMeta(h)+"(:[0-9]+)?")
		}
		some, err := source(instances)
		if err != nil {
			return utilisation.Summary{}, err
		}
		return some.Of(ctx, w)
	})
}

type importSarCmd struct {
	Files    []string `arg:"" name:"file" help:"Exports." placeholder:"FILE"`
	Node     []string `help:"Only nodes of these names. Default: all in the files." placeholder:"NAME"`
	Timezone string   `help:"Where times are that name no zone, such as Europe/Berlin." default:"UTC" placeholder:"ZONE"`
	utilisationFlags
}

// Help implements kong's interface for examples.
func (importSarCmd) Help() string {
	return `Attaches to each stored run the percentiles of what the nodes in the files used between
its start and its end. Export with

  sadf -d FILE -- -u -r -d -n DEV

Examples:

  karasu import utilisation sar worker1.csv worker2.csv --job nightly`
}

// Run attaches what the files tell.
func (c importSarCmd) Run(a *app) error {
	if c.ByHost && len(c.Node) > 0 {
		return usagef("--by-host excludes --node")
	}
	zone, err := time.LoadLocation(c.Timezone)
	if err != nil {
		return usagef("--timezone must be such as Europe/Berlin: %q", c.Timezone)
	}
	var files []*utilisation.Usage
	for _, name := range c.Files {
		u, err := readSar(a, name, utilisation.SarOptions{Location: zone})
		if err != nil {
			return err
		}
		if u.BadLines > 0 {
			a.note("%s: skipped %s", clean(name), counted(u.BadLines, "bad line"))
		}
		files = append(files, u)
	}
	usage, err := utilisation.Merge(files...)
	if err != nil {
		return err
	}
	for _, n := range c.Node {
		if !slices.Contains(usage.Nodes(), n) {
			return fmt.Errorf("no file holds the node %s; they hold: %s", clean(n), clean(strings.Join(usage.Nodes(), ", ")))
		}
	}
	return c.attach(a, func(_ context.Context, w utilisation.Window, hosts []string) (utilisation.Summary, error) {
		return usage.Of(w, append(hosts, c.Node...)...), nil
	})
}

func readSar(a *app, name string, o utilisation.SarOptions) (*utilisation.Usage, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return utilisation.ReadSar(a.ctx, f, name, o)
}

// utilisationResult is the JSON form.
type utilisationResult struct {
	Runs      int            `json:"runs"`
	Updated   int            `json:"updated"`
	Unchanged int            `json:"unchanged"`
	Missing   map[string]int `json:"missing"`
	DryRun    bool           `json:"dry_run"`
}

// attach looks up every stored run and attaches what it finds.
func (f utilisationFlags) attach(a *app, of func(context.Context, utilisation.Window, []string) (utilisation.Summary, error)) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ListRuns(a.ctx, connect.NewRequest(&karasuv1.ListRunsRequest{Job: f.Job}))
	if err != nil {
		return err
	}
	out := utilisationResult{Runs: len(res.Msg.GetRuns()), Missing: map[string]int{}, DryRun: f.DryRun}
	if out.Runs == 0 {
		return errors.New("there are no runs to attach it to; import some first")
	}
	var found []*karasuv1.RunMetrics
	for _, m := range res.Msg.GetRuns() {
		metrics, missing, err := f.lookUp(a, client, m, of)
		if err != nil {
			return err
		}
		for _, reason := range missing {
			out.Missing[reason]++
		}
		if metrics == (model.Metrics{}) {
			out.Unchanged++
			continue
		}
		found = append(found, &karasuv1.RunMetrics{RunId: m.GetId(), Metrics: wire.FromMetrics(metrics)})
	}
	if f.DryRun {
		out.Updated = len(found)
		return f.print(a, out)
	}
	for batch := range slices.Chunk(found, attachBatch) {
		done, err := client.AttachMetrics(context.WithoutCancel(a.ctx), connect.NewRequest(&karasuv1.AttachMetricsRequest{Runs: batch}))
		if err != nil {
			return err
		}
		out.Updated += int(done.Msg.GetUpdated())
		out.Unchanged += int(done.Msg.GetUnchanged())
	}
	return f.print(a, out)
}

// lookUp returns what is to be attached to a run, and why there is not more.
func (f utilisationFlags) lookUp(a *app, client karasuv1connect.KarasuServiceClient, m *karasuv1.Run,
	of func(context.Context, utilisation.Window, []string) (utilisation.Summary, error),
) (model.Metrics, []string, error) {
	none := model.Metrics{}
	run, err := wire.ToRun(m)
	if err != nil {
		return none, nil, err
	}
	w, err := utilisation.WindowOf(run)
	if errors.Is(err, utilisation.ErrWindow) {
		return none, []string{"the run " + err.Error()}, nil
	}
	if err != nil {
		return none, nil, err
	}
	var hosts []string
	if f.ByHost {
		if hosts, err = hostsOf(a, client, m.GetId()); err != nil {
			return none, nil, err
		}
		if len(hosts) == 0 {
			return none, []string{"its record names no hosts"}, nil
		}
	}
	s, err := of(a.ctx, w, hosts)
	switch {
	case errors.Is(err, utilisation.ErrWindow), errors.Is(err, utilisation.ErrShort):
		return none, []string{err.Error()}, nil
	case err != nil:
		return none, nil, err
	case f.Replace:
		return s.Metrics, s.Missing, nil
	}
	// Only what is not measured yet.
	metrics := run.Metrics
	utilisation.Fill(&metrics, s.Metrics)
	for _, p := range []struct{ to, had **model.Percentiles }{
		{&metrics.CPU, &run.Metrics.CPU}, {&metrics.Memory, &run.Metrics.Memory}, {&metrics.Disk, &run.Metrics.Disk}, {&metrics.Network, &run.Metrics.Network},
	} {
		if *p.had != nil {
			*p.to = nil
		}
	}
	return metrics, s.Missing, nil
}

// hostsOf returns the hosts that a run's record names.
func hostsOf(a *app, client karasuv1connect.KarasuServiceClient, id string) ([]string, error) {
	res, err := client.GetExecution(a.ctx, connect.NewRequest(&karasuv1.GetExecutionRequest{RunId: id}))
	if connect.CodeOf(err) == connect.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	hosts := map[string]bool{}
	for _, x := range res.Msg.GetExecution().GetExecutors() {
		if x.GetHost() != "" {
			hosts[x.GetHost()] = true
		}
	}
	return slices.Sorted(maps.Keys(hosts)), nil
}

func (f utilisationFlags) print(a *app, r utilisationResult) error {
	if f.JSON {
		return writeJSON(a.stdout, r)
	}
	return a.print(func(w *bytes.Buffer) {
		would := ""
		if r.DryRun {
			would = "would be "
		}
		fmt.Fprintf(w, "%s: utilisation %sattached to %s, %s unchanged.\n", counted(r.Runs, "run"), would, number(uint32(r.Updated)), number(uint32(r.Unchanged)))
		if len(r.Missing) > 0 {
			fmt.Fprintln(w, "Left out:")
			printCounted(w, r.Missing)
		}
	})
}
