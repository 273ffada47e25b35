package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/wire"
)

// predictCmd is a command with one below it: without a name, it is the first.
type predictCmd struct {
	One   predictOneCmd   `cmd:"" default:"withargs" help:"The runtime on one configuration; the name can be left out."`
	Sweep predictSweepCmd `cmd:"" help:"Runtime and cost over numbers of nodes and machine types, and the cheapest of them that meets a deadline."`
}

// Help implements kong's interface for examples.
func (predictCmd) Help() string {
	return predictOneCmd{}.Help() + `
  karasu predict sweep --job nightly-grep --deadline 15m --confidence .9

All flags: karasu predict one --help.`
}

// predictionFlags say what is predicted.
type predictionFlags struct {
	Infrastructure string   `help:"Where it runs, such as aws-ec2. Without it, where the algorithm is known." placeholder:"SLUG"`
	Framework      string   `help:"Such as spark." placeholder:"SLUG"`
	Algorithm      string   `help:"Such as grep." placeholder:"SLUG"`
	Job            string   `help:"Your own name of a job; what is not given is taken from its latest run." placeholder:"NAME"`
	Input          byteSize `help:"Size of the input: 20GB, 20GiB or bytes." placeholder:"SIZE"`
	argumentFlags
	Solo bool `help:"Use no peer's models."`
}

// target is what the daemon is asked for.
func (f predictionFlags) target() (*karasuv1.PredictionTarget, error) {
	t := &karasuv1.PredictionTarget{
		Infrastructure: f.Infrastructure, Framework: f.Framework, Algorithm: f.Algorithm,
		Job: f.Job, InputBytes: float64(f.Input), Solo: f.Solo,
	}
	if f.Job == "" && (f.Framework == "" || f.Algorithm == "") {
		return nil, usagef("--framework and --algorithm are missing; or name a job with stored runs: --job NAME")
	}
	t.Arguments = f.arguments()
	return t, nil
}

// argumentFlags describe a job beyond its input size.
type argumentFlags struct {
	Argument []argumentFlag `short:"p" sep:"none" help:"An argument of the job, or what else describes its input, by the name that imported runs have: -p line_length=100. Can be repeated." placeholder:"NAME=VALUE"`
}

func (f argumentFlags) arguments() []*karasuv1.Argument {
	var out []*karasuv1.Argument
	for _, a := range f.Argument {
		out = append(out, wire.FromArguments(model.Arguments{a.Argument})...)
	}
	return out
}

// argumentFlag is one argument, such as line_length=100.
type argumentFlag struct{ model.Argument }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (f *argumentFlag) UnmarshalText(text []byte) (err error) {
	name, value, ok := strings.Cut(string(text), "=")
	if !ok {
		return fmt.Errorf("must look like line_length=100: %q", text)
	}
	f.Argument, err = model.ParseArgument(name, value)
	return err
}

// nodeCount is a number of nodes.
type nodeCount uint32

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *nodeCount) UnmarshalText(text []byte) error {
	v, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || v < 1 || v > model.MaxScaleOut {
		return fmt.Errorf("must be a number of nodes between 1 and %d: %q", model.MaxScaleOut, text)
	}
	*n = nodeCount(v)
	return nil
}

type predictOneCmd struct {
	predictionFlags
	MachineType string    `help:"Such as m4.2xlarge." placeholder:"NAME" required:""`
	Nodes       nodeCount `help:"Number of nodes." placeholder:"N" required:""`
	jsonFlag
}

// Help implements kong's interface for examples.
func (predictOneCmd) Help() string {
	return `How long a job takes on a cluster that it perhaps never ran on, from your runs of the
algorithm in other contexts and from the runtime models that peers share. Runs of the very
job count most.

Examples:

  karasu predict --framework spark --algorithm grep --machine-type m4.2xlarge --nodes 8 \
      --input 20GB -p line_length=100
  karasu predict --job nightly-grep --machine-type r4.2xlarge --nodes 4
  karasu predict --job nightly-grep --machine-type r4.2xlarge --nodes 4 --input 40GB --json`
}

// Run asks for a prediction.
func (c predictOneCmd) Run(a *app) error {
	target, err := c.target()
	if err != nil {
		return err
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.Predict(a.ctx, connect.NewRequest(&karasuv1.PredictRequest{Target: target, MachineType: c.MachineType, Nodes: uint32(c.Nodes)}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		p := res.Msg.GetPrediction()
		fmt.Fprintf(w, "%s\n", describeTarget(res.Msg.GetTarget()))
		fmt.Fprintf(w, "on %s\n", predicted(p))
		fmt.Fprintf(w, "  runtime  %s (80%%: %s to %s)\n", seconds(p.GetRuntimeSeconds()), seconds(p.GetRuntimeLowSeconds()), seconds(p.GetRuntimeHighSeconds()))
		if p.CostUsd != nil {
			fmt.Fprintf(w, "  cost     %s (80%%: %s to %s)\n", dollars(p.GetCostUsd()), optional(p.CostLowUsd, dollars), optional(p.CostHighUsd, dollars))
		} else {
			fmt.Fprintln(w, "  cost     unknown, the catalog has no price")
		}
		printBasis(w, res.Msg.GetBasis())
	})
}

// predicted is "8xm4.2xlarge".
func predicted(p *karasuv1.RuntimePrediction) string {
	return fmt.Sprintf("%dx%s", p.GetNodes(), clean(p.GetMachineType()))
}

// describeTarget is "spark/grep of 20 GB with line_length=100 on aws-ec2".
func describeTarget(t *karasuv1.PredictionTarget) string {
	text := clean(t.GetFramework()) + "/" + clean(t.GetAlgorithm())
	if t.GetInputBytes() > 0 {
		text += " of " + size(t.GetInputBytes())
	}
	// What the daemon sends is valid.
	arguments, _ := wire.ToArguments(t.GetArguments())
	for i, x := range arguments {
		text += map[bool]string{true: " with ", false: ", "}[i == 0] + clean(x.String())
	}
	return text + " on " + clean(t.GetInfrastructure())
}

// printBasis says what predictions rest on.
func printBasis(w *bytes.Buffer, b *karasuv1.PredictionBasis) {
	fmt.Fprintf(w, "\nRests on %s.\n", clean(b.GetSummary()))
	t := newTable(">WEIGHT", "FROM", "ORGANISATION", "PEER", ">CONTEXTS", ">RUNS")
	for _, s := range b.GetSources() {
		author := s.GetAuthor()
		t.add(percent(s.GetShare()), s.GetOrigin(), dash(s.GetOrganisation()), dash(author[max(0, len(author)-8):]), number(s.GetContexts()), number(s.GetRuns()))
	}
	fmt.Fprintln(w)
	t.hideUnknown("PEER").print(w, "")
	for _, s := range b.GetSources() {
		if s.GetProblem() != "" {
			fmt.Fprintf(w, "The model of %s has no say: %s.\n", clean(dash(s.GetOrganisation())), clean(s.GetProblem()))
		}
	}
	for _, n := range b.GetNotes() {
		fmt.Fprintf(w, "Note: %s.\n", clean(n))
	}
}
