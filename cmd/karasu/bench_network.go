package main

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/karasu-project/karasu/node/netsim"
)

type benchNetworkCmd struct {
	Nodes     int           `help:"Number of nodes." default:"50"`
	Records   int           `help:"Records that each node publishes." default:"200"`
	Held      int           `help:"Records that both nodes hold in the scenarios reconcile-100 and reconcile-100000." default:"100000"`
	Scenarios []string      `help:"Of late-joiner, partition, churn, reconcile-100 and reconcile-100000; none for the network alone. Default: all." placeholder:"NAME"`
	Interval  time.Duration `help:"Mean time between two reconciliations of a node." default:"30s" placeholder:"DURATION"`
	Patience  time.Duration `help:"Give a measurement up when no node has got a record for so long." default:"1m" placeholder:"DURATION"`
	Timeout   time.Duration `help:"How long all measurements may take together." default:"20m" placeholder:"DURATION"`
	Seed      uint64        `help:"Decides the links, the restarts and the keys." default:"1"`
	Dir       string        `help:"Where the databases are meanwhile. Default: the directory for temporary files." placeholder:"DIR" type:"existingdir"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (benchNetworkCmd) Help() string {
	return `Runs a network of nodes in this process: sockets on loopback, the gossip layer, the exchange
and a database on disk for each. All of them publish at once, and it is measured when each
holds everything, how many bytes that took and how many it takes at least.

Scenarios, the first three of which go on with the same network:

  late-joiner       one more node joins
  partition         the network is cut into halves, which both publish a tenth more; from when
                    they may talk again
  churn             30% of the nodes restart at random while all publish; from the last record
                    that was acknowledged
  reconcile-100     two nodes that hold many records (--held) and differ in 100
  reconcile-100000  likewise, in 100,000

If the network has not converged, what goes on with it is not measured. The second
reconciliation goes on with the nodes of the first.

Times are over nodes, and of a machine that does the work of all nodes. A slow one may take
its time, as long as records arrive (--patience). The exit code is 1 if not all converged.

Examples:

  karasu bench network --nodes 10 --records 50
  karasu bench network --nodes 50 --records 200 --json
  karasu bench network --nodes 2 --records 1 --scenarios reconcile-100,reconcile-100000 --held 1000000`
}

// errDiverged is the outcome of a network that did not converge.
var errDiverged = errors.New("not all nodes hold all records; --patience and --timeout give them longer")

// Run measures and prints the table.
func (c benchNetworkCmd) Run(a *app) error {
	scenarios := c.Scenarios
	switch {
	case len(scenarios) == 0:
		scenarios = netsim.Scenarios()
	case len(scenarios) == 1 && scenarios[0] == "none":
		scenarios = nil
	}
	report, err := netsim.Run(a.ctx, netsim.Options{
		Nodes: c.Nodes, Records: c.Records, Held: c.Held, Scenarios: scenarios, Seed: c.Seed,
		SyncInterval: c.Interval, Patience: c.Patience, Timeout: c.Timeout, Dir: c.Dir, Progress: progress(a, "measurements"),
	})
	if errors.Is(err, netsim.ErrOptions) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	if c.JSON {
		err = writeJSON(a.stdout, report)
	} else {
		err = a.print(func(w *bytes.Buffer) { networkTable(report).print(w, "nothing was measured") })
	}
	if err == nil && !report.AllConverged() {
		err = errDiverged
	}
	return err
}

func networkTable(r *netsim.Report) *table {
	t := newTable("scenario", "nodes", "records", "converged", ">p50 (s)", ">p99 (s)", ">bytes a node", ">at least", ">memory (MiB)")
	add := func(name string, s netsim.Result) {
		t.add(name, fmt.Sprint(s.Nodes), fmt.Sprint(s.Records), map[bool]string{true: "yes", false: "no"}[s.Converged], fmt.Sprintf("%.2f", s.SecondsP50),
			fmt.Sprintf("%.2f", s.SecondsP99), fmt.Sprint(s.BytesPerNode), fmt.Sprint(s.BytesMinimum), fmt.Sprint(s.ResidentMB))
	}
	add("network", r.Result)
	for _, name := range netsim.Scenarios() {
		if s, ok := r.Scenarios[name]; ok {
			add(name, s)
		}
	}
	return t
}
