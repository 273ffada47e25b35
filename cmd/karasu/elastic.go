package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/karasu-project/karasu/optimizer/elastic"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type elasticCmd struct {
	Plan       elasticPlanCmd       `cmd:"" help:"What a training job should start with."`
	Report     elasticReportCmd     `cmd:"" help:"Tell how a training job does, and learn what it should run on now."`
	Status     elasticStatusCmd     `cmd:"" help:"Training jobs, their plans and the last decision on each."`
	Explain    elasticExplainCmd    `cmd:"" help:"Every decision on a training job, why, and from which figures."`
	Finish     elasticFinishCmd     `cmd:"" help:"End a training job; later ones learn from it."`
	Simulate   elasticSimulateCmd   `cmd:"" help:"Play training jobs on a finite cluster. Needs no daemon."`
	Controller elasticControllerCmd `cmd:"" help:"Advise or scale the training jobs of a Kubernetes cluster."`
}

// Help implements kong's interface for examples.
func (elasticCmd) Help() string {
	return `How many workers and parameter servers a distributed training job needs, how large, and what
should change while it runs: from own jobs that have finished, from what peers share, and from
what the job reports.

Examples:

  karasu elastic plan --infrastructure aws-ec2 --framework tensorflow --algorithm cnn --mode async
  karasu elastic plan --job cnn-7 --start --infrastructure aws-ec2 --framework tensorflow \
      --algorithm cnn --mode async --batch 64 --samples 5e6 --max-workers 16
  karasu elastic report --job cnn-7 --step 1200 --speed 19.5 --workers 4 --servers 1
  karasu elastic report --job cnn-7 --event oom --role worker --pod cnn-7-worker-2 --memory 8GiB
  karasu elastic explain cnn-7`
}

// replicas is a number of pods.
type replicas uint32

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *replicas) UnmarshalText(text []byte) error {
	v, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || v < 1 || v > elastic.MaxReplicas {
		return fmt.Errorf("must be a number between 1 and %d: %q", elastic.MaxReplicas, text)
	}
	*n = replicas(v)
	return nil
}

// cores of one pod.
type cores float64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *cores) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil || !(v > 0 && v <= elastic.MaxCores) {
		return fmt.Errorf("must be a number of cores above 0 and at most %d: %q", elastic.MaxCores, text)
	}
	*c = cores(v)
	return nil
}

// count is a large whole number, such as 1200, 5e6 or 5_000_000.
type count float64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *count) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(string(text)), "_", ""), 64)
	if err != nil || !(v >= 0 && v <= 1<<53) || v != math.Trunc(v) {
		return fmt.Errorf("must be a whole number between 0 and 2^53, such as 1200 or 5e6: %q", text)
	}
	*c = count(v)
	return nil
}

// planText is a plan in a line: "4 workers of 8 cores, 32 GiB; 1 parameter server of ...".
func planText(p *karasuv1.ElasticPlan) string {
	parts := []string{groupText(p.GetWorkers(), "worker", "workers")}
	if p.GetServers().GetReplicas() > 0 {
		parts = append(parts, groupText(p.GetServers(), "parameter server", "parameter servers"))
	}
	for _, pod := range p.GetPods() {
		parts = append(parts, clean(pod.GetName())+resourcesText(pod.GetResources()))
	}
	if r := p.GetReplace(); len(r) > 0 {
		parts = append(parts, "start again elsewhere: "+clean(strings.Join(r, ", ")))
	}
	return strings.Join(parts, "; ")
}

func groupText(g *karasuv1.ElasticGroup, one, many string) string {
	return plural(g.GetReplicas(), one, many) + resourcesText(g.GetPod())
}

// resourcesText is " of 8 cores, 32 GiB", with what is known.
func resourcesText(r *karasuv1.ElasticResources) string {
	var parts []string
	if r.GetCpu() > 0 {
		parts = append(parts, fmt.Sprintf("%.4g %s", r.GetCpu(), map[bool]string{true: "core", false: "cores"}[r.GetCpu() == 1]))
	}
	if r.GetMemoryBytes() > 0 {
		parts = append(parts, binarySize(r.GetMemoryBytes()))
	}
	if len(parts) == 0 {
		return ""
	}
	return " of " + strings.Join(parts, ", ")
}

// binarySize prints bytes as clusters count them: 8.0 GiB; 0 is unknown.
func binarySize(bytes float64) string {
	if !(bytes > 0 && bytes < math.MaxUint64) {
		return unknown
	}
	return humanize.IBytes(uint64(bytes))
}

// timeOf prints a time; 0 is unknown.
func timeOf(millis float64) string {
	if millis == 0 {
		return unknown
	}
	return localTime(int64(millis))
}

// perSecond prints a speed; 0 is not measured.
func perSecond(v float64) string {
	if v == 0 {
		return unknown
	}
	return fmt.Sprintf("%.4g", v)
}

// printDecision says what was decided and why.
func printDecision(w *bytes.Buffer, d *karasuv1.ElasticDecision) {
	fmt.Fprintf(w, "%s\n  reason: %s\n", planText(d.GetPlan()), clean(d.GetReason()))
}

// printEvidence lists the figures behind a decision.
func printEvidence(w *bytes.Buffer, d *karasuv1.ElasticDecision) {
	if len(d.GetEvidence()) == 0 {
		return
	}
	t := newTable("EVIDENCE", ">VALUE", "UNIT")
	for _, e := range d.GetEvidence() {
		value, unit := fmt.Sprintf("%.4g", e.GetValue()), e.GetUnit()
		if unit == "bytes" {
			value, unit = binarySize(e.GetValue()), ""
		}
		t.add(e.GetName(), value, unit)
	}
	for line := range strings.Lines(t.String()) {
		w.WriteString("  " + line)
	}
}
