package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type checkpointCmd struct {
	Advise   checkpointAdviseCmd   `cmd:"" help:"Which stage outputs to persist, of a past run or the next one of a job."`
	Compare  checkpointCompareCmd  `cmd:"" help:"What advice from earlier runs would have saved in past runs."`
	Simulate checkpointSimulateCmd `cmd:"" help:"Past runs played with failures."`
	Follow   checkpointFollowCmd   `cmd:"" help:"Decide while an application runs, from its event log."`
}

// Help implements kong's interface for examples.
func (checkpointCmd) Help() string {
	return `Stages of a job leave outputs in temporary storage until it ends, and a failure loses them
all. Persisting the right ones frees storage early and saves work when the job fails.

Examples:

  karasu checkpoint advise --job nightly-orders
  karasu checkpoint advise --app app-20260302030000-0001 --objective restart --failure-rate 0.05
  karasu checkpoint compare --job nightly-orders
  karasu checkpoint follow /var/log/spark/app-20260303030000-0002.inprogress`
}

// goalFlags say what checkpoints are for and what they may cost.
type goalFlags struct {
	Objective      string       `help:"storage frees temporary storage (bytes x time), restart saves work when the job fails, mix does both." words:"storage,restart,mix" placeholder:"NAME"`
	Weight         *partOf      `help:"Weight of storage in a mix, 0 to 1. Default: 0.5." placeholder:"SHARE"`
	DurableBytes   *durableSize `help:"Most to write to durable storage: 20GB, or 0. Default: what --max-overhead allows." placeholder:"SIZE"`
	DurableShare   *partOf      `help:"The same as a share of all outputs: 0.1 or 10%. The tighter one counts." placeholder:"SHARE"`
	WriteBandwidth *bandwidth   `help:"Of durable storage, a second: 200MB. Default: 500MB." placeholder:"SIZE"`
	MaxOverhead    *overhead    `help:"Longest that the writes may take, as a share of the job's time: 0.05 or 5%. Default: 5%." placeholder:"SHARE"`
	Never          []string     `help:"A stage that cannot be persisted: its number, or a part of its call site. Can be repeated." sep:"none" placeholder:"STAGE"`
	Cuts           cutCount     `help:"At most so many cuts, one after the other. Default: 1." placeholder:"K"`
	Hotspots       hostNames    `help:"Hosts whose storage is short: only what lies there counts as freed." placeholder:"HOSTS,..."`
}

// message is what the daemon is asked for; objective is the command's default.
func (f goalFlags) message(objective string, perHour *failureRate) *karasuv1.CheckpointGoal {
	m := &karasuv1.CheckpointGoal{Objective: objective, Never: f.Never, Cuts: uint32(f.Cuts), Hotspots: f.Hotspots}
	if f.Objective != "" {
		m.Objective = f.Objective
	}
	m.Weight, m.DurableBytes, m.DurableShare = float(f.Weight), float(f.DurableBytes), float(f.DurableShare)
	m.MaxOverhead, m.FailuresPerHour = float(f.MaxOverhead), float(perHour)
	if f.WriteBandwidth != nil {
		m.WriteBandwidth = float64(*f.WriteBandwidth)
	}
	return m
}

// rateFlag is the failure rate of commands that plan.
type rateFlag struct {
	FailureRate *failureRate `help:"Failures of the job an hour. Default: what stored applications tell." placeholder:"PER_HOUR"`
}

func float[T ~float64](v *T) *float64 {
	if v == nil {
		return nil
	}
	return new(float64(*v))
}

// durableSize is a size in bytes that may be 0.
type durableSize float64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *durableSize) UnmarshalText(text []byte) error {
	v, err := humanize.ParseBytes(strings.TrimSpace(string(text)))
	if err != nil || v > model.MaxInputBytes {
		return fmt.Errorf("must be a size such as 20GB, 20GiB or a number of bytes, from 0 to 1 EiB: %q", text)
	}
	*b = durableSize(v)
	return nil
}

// bandwidth is bytes a second.
type bandwidth float64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *bandwidth) UnmarshalText(text []byte) error {
	v, err := humanize.ParseBytes(strings.TrimSuffix(strings.TrimSpace(string(text)), "/s"))
	if err != nil || v == 0 || v > model.MaxInputBytes {
		return fmt.Errorf("must be bytes a second above zero, such as 200MB: %q", text)
	}
	*b = bandwidth(v)
	return nil
}

// parsePart reads 0.05 or 5%.
func parsePart(text []byte) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	return v, err
}

// partOf is a share from 0 to 1.
type partOf float64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *partOf) UnmarshalText(text []byte) error {
	v, err := parsePart(text)
	if err != nil || !(v >= 0 && v <= 1) {
		return fmt.Errorf("must be between 0 and 1, such as 0.1 or 10%%: %q", text)
	}
	*p = partOf(v)
	return nil
}

// overhead is a share above 0, which may be more than all.
type overhead float64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (o *overhead) UnmarshalText(text []byte) error {
	v, err := parsePart(text)
	if err != nil || !(v > 0 && v <= 10) {
		return fmt.Errorf("must be above 0 and at most 10, such as 0.05 or 5%%: %q", text)
	}
	*o = overhead(v)
	return nil
}

// failureRate is failures an hour.
type failureRate float64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *failureRate) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil || !(v >= 1e-6 && v <= 1e6) {
		return fmt.Errorf("must be failures an hour between 0.000001 and 1000000, such as 0.05: %q", text)
	}
	*r = failureRate(v)
	return nil
}

// maxCuts is the daemon's bound.
const maxCuts = 32

// cutCount is a number of cuts.
type cutCount uint32

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *cutCount) UnmarshalText(text []byte) error {
	v, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || v < 1 || v > maxCuts {
		return fmt.Errorf("must be a number of cuts between 1 and %d: %q", maxCuts, text)
	}
	*c = cutCount(v)
	return nil
}

// hostNames are names between commas.
type hostNames []string

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *hostNames) UnmarshalText(text []byte) error {
	for name := range strings.SplitSeq(string(text), ",") {
		if name = strings.TrimSpace(name); name == "" {
			return fmt.Errorf("must be names of hosts between commas, none of them empty: %q", text)
		}
		*h = append(*h, name)
	}
	return nil
}

// targetFlags name past runs.
type targetFlags struct {
	App string `help:"An application: its ID, its run's ID or the first digits of it." placeholder:"APP" xor:"target"`
	Job string `help:"A recurring job, or the name of an application that no rule names." placeholder:"JOB" xor:"target"`
}

// callSite is the name of a stage in at most so many columns: what does not fit lacks the
// folders of its file, and not the line.
func callSite(name string, most int) string {
	name = clean(name)
	const at = " at "
	if i := strings.LastIndex(name, at); i >= 0 && columns(name) > most {
		i += len(at)
		if k := strings.LastIndexAny(name[i:], `/\`); k >= 0 {
			name = name[:i] + "…" + name[i+k:]
		}
	}
	return shorten(name, most)
}

// byteTime prints bytes x seconds in bytes x hours: 3.2 GBh.
func byteTime(byteSeconds float64) string {
	if byteSeconds < 3600 {
		return strconv.FormatFloat(byteSeconds/3600, 'g', 2, 64) + " Bh"
	}
	return size(byteSeconds/3600) + "h"
}

// stageNumbers is "stage 3" or "stages 3, 5, 8", and of many the first ones.
func stageNumbers(ids []uint32) string {
	const most = 12
	var out []string
	for _, id := range ids[:min(len(ids), most)] {
		out = append(out, fmt.Sprint(id))
	}
	text := "stages " + strings.Join(out, ", ")
	if len(ids) == 1 {
		return "stage " + out[0]
	}
	if len(ids) > most {
		text += fmt.Sprintf(" and %d more", len(ids)-most)
	}
	return text
}
