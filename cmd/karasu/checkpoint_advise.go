package main

import (
	"bytes"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type checkpointAdviseCmd struct {
	targetFlags
	DataSize  byteSize `help:"Size of what the next run reads: 20GB. Default: that of the last run." placeholder:"SIZE"`
	Predicted bool     `help:"Of an application: predict it from what ran before it, instead of taking what was measured."`
	goalFlags
	rateFlag
	SVG string `name:"svg" help:"Draw the stages over time with the cuts into this file." placeholder:"FILE" type:"path"`
	Dot string `help:"Write the graph with the cuts into this file, for Graphviz." placeholder:"FILE" type:"path"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (checkpointAdviseCmd) Help() string {
	return `With --app, advice is on what was measured in that run. With --job, it is on the predicted
next run: by the job's earlier runs, else by a general predictor of your own applications or
of peers.

Examples:

  karasu checkpoint advise --job nightly-orders --data-size 200GB
  karasu checkpoint advise --job nightly-orders --objective restart --cuts 3 --failure-rate 0.05
  karasu checkpoint advise --app 3f9a1c20 --durable-bytes 20GB --hotspots node-7,node-9
  karasu checkpoint advise --app 3f9a1c20 --svg cut.svg --dot cut.dot --json`
}

// Run asks for advice.
func (c checkpointAdviseCmd) Run(a *app) error {
	if c.App == "" && c.Job == "" {
		return usagef("say what to advise on: --app APP for a past run, --job JOB for the next one")
	}
	if c.SVG != "" && c.SVG == c.Dot {
		return usagef("--svg and --dot name the same file: %s", c.SVG)
	}
	for _, f := range [][2]string{{"--svg", c.SVG}, {"--dot", c.Dot}} {
		if f[1] == "" {
			continue
		}
		if err := canWrite(f[0], f[1]); err != nil {
			return err
		}
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.AdviseCheckpoint(a.ctx, connect.NewRequest(&karasuv1.AdviseCheckpointRequest{
		Target: &karasuv1.CheckpointTarget{App: c.App, Job: c.Job, DataSize: float64(c.DataSize), Predicted: c.Predicted},
		Goal:   c.message("storage", c.FailureRate),
	}))
	if err != nil {
		return err
	}
	if c.SVG != "" {
		if err := writeCutSVG(c.SVG, res.Msg); err != nil {
			return err
		}
	}
	if c.Dot != "" {
		if err := writeCutDot(c.Dot, res.Msg); err != nil {
			return err
		}
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) { printAdvice(w, res.Msg) })
}

func printAdvice(w *bytes.Buffer, m *karasuv1.AdviseCheckpointResponse) {
	what := "Application " + clean(m.GetApp()) + " of " + clean(m.GetJob())
	if m.GetBasis().GetSource() != "measured" {
		what = "A run of " + clean(m.GetJob()) + " with the stages of " + clean(m.GetApp())
	}
	fmt.Fprintf(w, "%s, from %s.\n", what, clean(m.GetBasis().GetSummary()))
	fmt.Fprintf(w, "%s, %s, %s of outputs, %s of temporary storage.\n", plural(len(m.GetStages()), "stage", "stages"), instant(m.GetJobSeconds()),
		amount(m.GetOutputBytes()), byteTime(m.GetByteSeconds()))
	if len(m.GetCuts()) == 0 {
		fmt.Fprintln(w, "\nPersist nothing.")
		printFailureRate(w, m.GetFailures())
		printCaveats(w, m.GetBasis().GetAssumptions(), m.GetNotes())
		return
	}
	by := make(map[uint32]*karasuv1.CheckpointStage, len(m.GetStages()))
	for _, s := range m.GetStages() {
		by[s.GetId()] = s
	}
	for _, c := range m.GetCuts() {
		before := "stage before the cut has ended"
		if n := len(c.GetBefore()); n > 1 {
			before = number(uint32(n)) + " stages before the cut have ended"
		}
		fmt.Fprintf(w, "\nWhen the %s, at %s, persist:\n\n", before, instant(c.GetSeconds()))
		printPersist(w, c, by)
	}
	fmt.Fprintln(w)
	printWorth(w, m.GetWorth(), m.GetJobSeconds(), m.GetGoal())
	printFailureRate(w, m.GetFailures())
	printMarginal(w, m)
	fmt.Fprintf(w, "%s\n", certainty(m))
	printHow(w, m)
	printCaveats(w, m.GetBasis().GetAssumptions(), m.GetNotes())
}

// instant prints a point of a job's time.
func instant(s float64) string {
	if s == 0 {
		return "0s"
	}
	return seconds(s)
}

func printPersist(w *bytes.Buffer, c *karasuv1.CheckpointCut, by map[uint32]*karasuv1.CheckpointStage) {
	if len(c.GetPersist()) == 0 {
		fmt.Fprintf(w, "  nothing: no later stage reads what %s wrote. A job that starts again leaves that out.\n", stageNumbers(c.GetBefore()))
		return
	}
	t := newTable(">STAGE", ">OUTPUT", ">80% FROM", ">TO", ">ENDS", "KIND", "CALL SITE", "OPERATORS")
	for _, id := range c.GetPersist() {
		s := by[id]
		t.add(fmt.Sprint(id), amount(s.GetBytes()), optional(s.BytesLow, size), optional(s.BytesHigh, size), instant(s.GetEndSeconds()), s.GetKind(),
			dash(callSite(s.GetName(), 48)), dash(shorten(clean(strings.Join(s.GetOperators(), ", ")), 48)))
	}
	t.hideUnknown("80% FROM", "TO", "OPERATORS").print(w, "")
}

func printWorth(w *bytes.Buffer, v *karasuv1.CheckpointWorth, length float64, g *karasuv1.CheckpointGoal) {
	fmt.Fprintf(w, "writes    %s, at most %s (%s of the job's time, %s are allowed)\n", amount(v.GetDurableBytes()), instant(v.GetWriteSeconds()),
		percent(fraction(v.GetWriteSeconds(), length)), percent(g.GetMaxOverhead()))
	fmt.Fprintf(w, "frees     %s of temporary storage, %s of all\n", byteTime(v.GetFreedByteSeconds()), percent(v.GetFreedShare()))
	fmt.Fprintf(w, "restart   a failure costs %s of work on average, without the cut %s: %s instead of %s from then to the end\n",
		instant(v.GetLostSeconds()), instant(v.GetLostWithoutSeconds()), instant(v.GetRestartSeconds()), instant(v.GetRestartWithoutSeconds()))
	fmt.Fprintf(w, "a run     fails with a probability of %s\n", finePercent(v.GetFailureProbability()))
}

// finePercent prints small shares with two digits.
func finePercent(share float64) string { return fmt.Sprintf("%.2g%%", 100*share) }

func printFailureRate(w *bytes.Buffer, f *karasuv1.FailureRate) {
	fmt.Fprintf(w, "failures  %s\n", clean(f.GetSummary()))
}

// printMarginal says what each further cut adds.
func printMarginal(w *bytes.Buffer, m *karasuv1.AdviseCheckpointResponse) {
	values := m.GetMarginal()
	if len(values) < 2 {
		return
	}
	print := func(v float64) string { return percent(fraction(v, m.GetByteSeconds())) + " freed" }
	if m.GetGoal().GetObjective() == "restart" {
		print = func(v float64) string { return instant(v) + " saved" }
	}
	parts := make([]string, 0, len(values))
	for i, v := range values {
		parts = append(parts, plural(i+1, "cut", "cuts")+" "+print(v))
	}
	fmt.Fprintf(w, "cuts      %s\n", strings.Join(parts, ", "))
}

// certainty says how good the answer is.
func certainty(m *karasuv1.AdviseCheckpointResponse) string {
	switch {
	case m.GetExact():
		return "optimal   nothing within these limits is better, for these sizes and times"
	case m.Gap != nil:
		return fmt.Sprintf("near      nothing within these limits is better by more than %s, for these sizes and times", finePercent(m.GetGap()))
	}
	return "good      the best of many candidates; how far the optimum is, is not known"
}

func printHow(w *bytes.Buffer, m *karasuv1.AdviseCheckpointResponse) {
	for _, s := range m.GetStages() {
		if !s.GetPersist() {
			continue
		}
		fmt.Fprintf(w, "\nStage %d. %s\n", s.GetId(), clean(s.GetHow()))
		for line := range strings.SplitSeq(s.GetSnippet(), "\n") {
			if line != "" {
				fmt.Fprintf(w, "    %s\n", clean(line))
			}
		}
	}
}

func printCaveats(w *bytes.Buffer, assumptions, notes []string) {
	if len(assumptions)+len(notes) > 0 {
		fmt.Fprintln(w)
	}
	for _, t := range assumptions {
		fmt.Fprintf(w, "Assumed: %s.\n", clean(t))
	}
	for _, t := range notes {
		fmt.Fprintf(w, "Note: %s.\n", clean(t))
	}
}
