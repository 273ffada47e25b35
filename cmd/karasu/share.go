package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"

	nodeshare "github.com/karasu-project/karasu/node/share"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type shareCmd struct {
	Retract shareRetractCmd `cmd:"" help:"Withdraw what was shared of a job or topic, and keep it from leaving."`
	Preview sharePreviewCmd `cmd:"" help:"Exactly the records that leave, and what is withheld and why."`
}

type sharePreviewCmd struct {
	Policy        policy  `help:"What would leave if that were the policy of every topic: both, summaries, models or off. Default: the policy of config.toml." words:"both,summaries,models,off" placeholder:"POLICY"`
	RuntimeModels bool    `help:"What would leave if runtime models were shared, too."`
	StageModels   bool    `help:"What would leave if stage models were shared, too."`
	Epsilon       epsilon `help:"What would leave with noise of that epsilon, 0.1 to 100." placeholder:"EPSILON"`
	jsonFlag
}

// policy is a share policy; empty is the one of config.toml.
type policy string

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *policy) UnmarshalText(text []byte) error {
	if !nodeshare.Mode(text).Valid() {
		return fmt.Errorf("must be off, summaries, models or both: %q", text)
	}
	*p = policy(text)
	return nil
}

// Help implements kong's interface for examples.
func (sharePreviewCmd) Help() string {
	return `The table shows every field of every record; --json shows them as they are encoded.

Example:

  karasu share preview --json
  karasu share preview --policy summaries
  karasu share preview --runtime-models
  karasu share preview --stage-models
  karasu share preview --epsilon 2`
}

// Run prints what leaves.
func (c sharePreviewCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.PreviewShare(a.ctx, connect.NewRequest(&karasuv1.PreviewShareRequest{
		Policy: string(c.Policy), RuntimeModels: c.RuntimeModels, StageModels: c.StageModels, Epsilon: float64(c.Epsilon),
	}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		var total uint64
		for _, r := range res.Msg.GetRecords() {
			printRecord(w, r)
			total += uint64(r.GetBytes())
		}
		if n := len(res.Msg.GetRecords()); n == 0 {
			fmt.Fprintln(w, c.word("Nothing leaves.", "Nothing would leave."))
		} else {
			fmt.Fprintf(w, "%s, %s in all.\n", counted(n, "record"), size(float64(total)))
			if c.Policy != "" {
				fmt.Fprintf(w, "That would leave with policy = %q under [share] in config.toml and no [[share.topic]].\n", c.Policy)
			}
			if c.RuntimeModels {
				fmt.Fprintln(w, "Runtime models leave with runtime_models = true under [share] in config.toml, of topics whose policy is models or both.")
			}
			if c.StageModels {
				fmt.Fprintln(w, "Stage models leave with stage_models = true under [share] in config.toml, of topics whose policy is models or both.")
			}
			if c.Epsilon != 0 {
				fmt.Fprintf(w, "That would leave with epsilon = %g under [share] in config.toml.\n", float64(c.Epsilon))
			}
			printNoise(w, res.Msg.GetPolicy())
		}
		if len(res.Msg.GetWithheld()) == 0 {
			return
		}
		fmt.Fprintln(w, "\nWithheld (these names are shown to you only):")
		t := newTable("JOB", "TOPIC", "REASON")
		for _, x := range res.Msg.GetWithheld() {
			t.add(dash(x.GetJob()), strings.TrimPrefix(x.GetTopic(), "/karasu/1/"), x.GetReason())
		}
		t.print(w, "")
	})
}

// word chooses between what is and what would be.
func (c sharePreviewCmd) word(is, would string) string {
	if c.Policy == "" && !c.RuntimeModels && !c.StageModels && c.Epsilon == 0 {
		return is
	}
	return would
}

func printRecord(w *bytes.Buffer, p *karasuv1.PreviewedRecord) {
	r := p.GetRecord()
	state := "not shared yet"
	if p.GetShared() {
		state = "shared"
	}
	fmt.Fprintf(w, "%s  %s\n", kindText(r.GetKind()), clean(r.GetTopic()))
	fmt.Fprintf(w, "  key %s, revision %d, version %d.%d, organisation %s, until %s, %s, %s\n",
		clean(r.GetKey()), r.GetRevision(), r.GetMajor(), r.GetMinor(), dash(clean(r.GetOrganisation())),
		day(r.GetNotAfter()), size(float64(p.GetBytes())), state)
	printBody(w, p)
	fmt.Fprintln(w)
}

// body is the decoded body of a record: at most one of the first four is set.
type body interface {
	GetSummary() *karasuv1.RunSummary
	GetModel() *karasuv1.SupportModel
	GetRuntime() *karasuv1.RuntimeModel
	GetStage() *karasuv1.StageModel
	GetRuntimeExtent() *karasuv1.RuntimeExtent
	GetStageExtent() *karasuv1.StageExtent
}

// printBody prints every field of a record's body.
func printBody(w *bytes.Buffer, b body) {
	switch {
	case b.GetSummary() != nil:
		printSummary(w, b.GetSummary())
	case b.GetModel() != nil:
		m := b.GetModel()
		fmt.Fprintf(w, "  workload %s, input %s, %s with %d points of %d features\n", clean(m.GetWorkload()), inputSize(m.GetInputSizeLog2(), m.InputBytes),
			clean(m.GetFamily()), len(m.GetTargets()), m.GetDimensions())
		fmt.Fprintf(w, "  length scales %.3g, signal %.3g, noise %.3g\n  inputs %.4g\n  targets %.4g\n",
			m.GetLengthScales(), m.GetSignalSd(), m.GetNoiseSd(), m.GetInputs(), m.GetTargets())
	case b.GetRuntime() != nil:
		printRuntime(w, b.GetRuntime(), b.GetRuntimeExtent())
	case b.GetStage() != nil:
		printStage(w, b.GetStage(), b.GetStageExtent())
	}
}

func printSummary(w *bytes.Buffer, s *karasuv1.RunSummary) {
	level := "not shared"
	if s.Level != nil {
		level = fmt.Sprintf("%.4f", s.GetLevel())
	}
	fmt.Fprintf(w, "  workload %s, input %s, level %s, noise scale %g\n", clean(s.GetWorkload()), inputSize(s.GetInputSizeLog2(), s.InputBytes), level, s.GetNoiseScale())
	t := newTable("  CONFIGURATION", ">VCPUS", ">GIB", ">LOG RUNTIME", ">OK", ">FAILED", ">TIMEOUT", "METRICS P10/P50/P90")
	for _, c := range s.GetConfigurations() {
		t.add(fmt.Sprintf("  %dx%s", c.GetScaleOut(), c.GetMachineType()), fmt.Sprintf("%g", c.GetVcpus()), fmt.Sprintf("%g", c.GetMemoryGib()),
			fmt.Sprintf("%+.4f", c.GetLogRuntime()), number(c.GetOkRuns()), number(c.GetFailedRuns()), number(c.GetTimeoutRuns()), metrics(c.GetMetrics()))
	}
	t.print(w, "  no configurations")
}

func metrics(m *karasuv1.ResourceMetrics) string {
	var parts []string
	for _, f := range []struct {
		name string
		p    *karasuv1.Percentiles
	}{{"cpu", m.GetCpu()}, {"memory", m.GetMemory()}, {"disk", m.GetDisk()}, {"network", m.GetNetwork()}} {
		if f.p != nil {
			parts = append(parts, fmt.Sprintf("%s %.2f/%.2f/%.2f", f.name, f.p.GetP10(), f.p.GetP50(), f.p.GetP90()))
		}
	}
	return dash(strings.Join(parts, " "))
}

// inputSize prints what is shared of an input size.
func inputSize(bits uint32, exact *float64) string {
	if exact != nil {
		return fmt.Sprintf("exactly %.0f bytes", *exact)
	}
	if bits == 0 || bits > 60 {
		return "unknown"
	}
	return "about " + size(float64(uint64(1)<<bits))
}

func day(unix int64) string { return time.Unix(unix, 0).UTC().Format("2006-01-02") }
