package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// nodeRange is a list of numbers of nodes: 2-20, or 2,4,8, or both.
type nodeRange []uint32

// maxNodeRange bounds how many numbers a range may stand for.
const maxNodeRange = 1000

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *nodeRange) UnmarshalText(text []byte) error {
	*r = nil
	for part := range strings.SplitSeq(string(text), ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		low, errLow := strconv.Atoi(first)
		high, errHigh := strconv.Atoi(last)
		if errLow != nil || errHigh != nil || low < 1 || high < low || high > model.MaxScaleOut {
			return fmt.Errorf("must be numbers of nodes between 1 and %d, such as 2-20 or 2,4,8: %q", model.MaxScaleOut, text)
		}
		if len(*r)+high-low+1 > maxNodeRange {
			return fmt.Errorf("are more than %d numbers of nodes: %q", maxNodeRange, text)
		}
		for n := low; n <= high; n++ {
			*r = append(*r, uint32(n))
		}
	}
	slices.Sort(*r)
	*r = slices.Compact(*r)
	return nil
}

type predictSweepCmd struct {
	predictionFlags
	MachineTypes []string  `help:"Such as m4.2xlarge,r4.2xlarge. Default: those that the algorithm is known to have run on, else the infrastructure's." placeholder:"NAMES"`
	Nodes        nodeRange `help:"Numbers of nodes: 2-20 or 2,4,8. Default: 2 to 32." placeholder:"NODES"`
	Deadline     *duration `help:"When a run must be done: 15m, 900s or 900. The answer is the cheapest configuration that keeps it." placeholder:"TIME"`
	Confidence   share     `help:"How sure it must be to keep the deadline: 0.95 or 95%. Default: 0.95." placeholder:"SHARE"`
	SVG          string    `name:"svg" help:"Draw runtime and cost into this file." placeholder:"FILE" type:"path"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (predictSweepCmd) Help() string {
	return `Examples:

  karasu predict sweep --framework spark --algorithm grep --input 20GB -p line_length=100 \
      --deadline 15m --confidence .9
  karasu predict sweep --job nightly-grep --machine-types m4.2xlarge,r4.2xlarge --nodes 2-20
  karasu predict sweep --job nightly-grep --deadline 10m --svg grep.svg --json`
}

// Run asks for the predictions.
func (c predictSweepCmd) Run(a *app) error {
	if c.Confidence > 0 && c.Deadline == nil {
		return usagef("--confidence needs a --deadline to be confident of")
	}
	if c.SVG != "" {
		if err := canWrite("--svg", c.SVG); err != nil {
			return err
		}
	}
	target, err := c.target()
	if err != nil {
		return err
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.Sweep(a.ctx, connect.NewRequest(&karasuv1.SweepRequest{
		Target: target, MachineTypes: c.MachineTypes, Nodes: c.Nodes,
		DeadlineSeconds: c.Deadline.seconds(), Confidence: float64(c.Confidence),
	}))
	if err != nil {
		return err
	}
	if c.SVG != "" {
		if err := writeSweepSVG(c.SVG, res.Msg); err != nil {
			return err
		}
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		fmt.Fprintf(w, "%s\n\n", describeTarget(res.Msg.GetTarget()))
		printSweep(w, res.Msg)
		fmt.Fprintf(w, "\n%s", sweepCharts(res.Msg))
		printDeadline(w, res.Msg.GetAnswer(), len(res.Msg.GetPredictions()))
		printBasis(w, res.Msg.GetBasis())
	})
}

func printSweep(w *bytes.Buffer, s *karasuv1.SweepResponse) {
	t := newTable("CONFIGURATION", ">RUNTIME", ">80% FROM", ">TO", ">COST", ">80% FROM", ">TO", ">IN TIME", "")
	for _, p := range s.GetPredictions() {
		mark := ""
		if c := s.GetAnswer().GetChoice(); c != nil && predicted(c) == predicted(p) {
			mark = "<"
		}
		t.add(predicted(p), seconds(p.GetRuntimeSeconds()), seconds(p.GetRuntimeLowSeconds()), seconds(p.GetRuntimeHighSeconds()),
			optional(p.CostUsd, dollars), optional(p.CostLowUsd, dollars), optional(p.CostHighUsd, dollars),
			optional(p.ProbabilityOfMeetingDeadline, exactPercent), mark)
	}
	t.hideUnknown("COST", "IN TIME").print(w, "")
}

// printDeadline answers which configuration is the cheapest that meets the deadline.
func printDeadline(w *bytes.Buffer, d *karasuv1.DeadlineAnswer, of int) {
	if d == nil {
		return
	}
	c := d.GetChoice()
	cost := "a cost that nobody knows"
	if c.CostUsd != nil {
		cost = "about " + dollars(c.GetCostUsd()) + " a run"
	}
	what := fmt.Sprintf("%s: about %s and %s, %s sure to be done within %s", predicted(c), seconds(c.GetRuntimeSeconds()), cost,
		exactPercent(c.GetProbabilityOfMeetingDeadline()), seconds(d.GetDeadlineSeconds()))
	if d.GetMet() {
		fmt.Fprintf(w, "\nThe cheapest of %d of %d configurations that meet the deadline with %s confidence is\n  %s.\n",
			d.GetQualified(), of, exactPercent(d.GetConfidence()), what)
		return
	}
	fmt.Fprintf(w, "\nNone of %d configurations meets the deadline with %s confidence. The closest is\n  %s.\n", of, exactPercent(d.GetConfidence()), what)
}

// exactPercent keeps a tenth of a percent, which matters near 100, and never rounds up
// to certainty.
func exactPercent(share float64) string {
	if share > 0 && share < .001 {
		return "<0.1%"
	}
	return strconv.FormatFloat(float64(int(share*1000))/10, 'f', -1, 64) + "%"
}
