package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type runsShowCmd struct {
	ID     string `arg:"" name:"id" help:"ID of a run, or of an application that is none; its first 8 digits will do." placeholder:"ID"`
	Stages bool   `help:"Also the stages."`
	jsonFlag
}

// Help implements kong's interface for examples.
func (runsShowCmd) Help() string {
	return `Examples:

  karasu runs show 3f9a1c20
  karasu runs show 3f9a1c20 --stages`
}

// Run prints a run and the application that it was.
func (c runsShowCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	runs, errRun := client.ListRuns(a.ctx, connect.NewRequest(&karasuv1.ListRunsRequest{Id: c.ID}))
	if errRun != nil && connect.CodeOf(errRun) != connect.CodeNotFound {
		return errRun
	}
	execution, err := client.GetExecution(a.ctx, connect.NewRequest(&karasuv1.GetExecutionRequest{RunId: c.ID}))
	if err != nil && connect.CodeOf(err) != connect.CodeNotFound {
		return err
	}
	if errRun != nil && err != nil {
		return errRun
	}
	var run *karasuv1.Run
	if errRun == nil {
		run = runs.Msg.GetRuns()[0]
	}
	var e *karasuv1.Execution
	if err == nil {
		e = execution.Msg.GetExecution()
	}
	if c.JSON {
		return c.json(a, run, e)
	}
	return a.print(func(w *bytes.Buffer) { c.human(w, run, e) })
}

func (c runsShowCmd) json(a *app, run *karasuv1.Run, e *karasuv1.Execution) error {
	options := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}
	out := map[string]any{"run": nil, "execution": nil}
	var err1, err2 error
	if run != nil {
		var raw []byte
		raw, err1 = options.Marshal(run)
		out["run"] = json.RawMessage(raw)
	}
	if e != nil {
		var raw []byte
		raw, err2 = options.Marshal(e)
		out["execution"] = json.RawMessage(raw)
	}
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return writeJSON(a.stdout, out)
}

func (c runsShowCmd) human(w *bytes.Buffer, run *karasuv1.Run, e *karasuv1.Execution) {
	line := func(name, value string) {
		if value != "" && value != unknown {
			fmt.Fprintf(w, "%-14s  %s\n", name, clean(value))
		}
	}
	if run != nil {
		line("run", run.GetId())
		line("job", run.GetWorkload().GetJob())
		line("topic", topicOf(run.GetWorkload()))
		line("dataset", run.GetWorkload().GetDataset())
		line("arguments", arguments(run.GetWorkload()))
		line("configuration", configuration(run.GetConfiguration()))
		line("start", startOf(run))
		line("runtime", seconds(run.GetRuntimeSeconds()))
		line("outcome", outcome(run.GetOutcome()))
		line("input", size(run.GetWorkload().GetInputBytes()))
		line("utilisation", metrics(run.GetMetrics()))
	}
	if e == nil {
		return
	}
	if run != nil {
		fmt.Fprintln(w)
	} else {
		line("no run", "see karasu workloads --unmatched for why")
	}
	line("origin", e.GetOrigin())
	line("application", e.GetName())
	line("version", strings.TrimSpace(e.GetFramework()+" "+e.GetVersion()))
	line("user", e.GetUser())
	line("queue", e.GetQueue())
	line("main class", e.GetMainClass())
	line("queries", e.GetQuerySignature())
	if run == nil {
		line("start", startOf(&karasuv1.Run{StartUnixMillis: e.GetStartUnixMillis()}))
		line("runtime", seconds((e.GetEndUnixMillis()-e.GetStartUnixMillis())/1000))
		line("outcome", e.GetOutcome())
	}
	if e.GetEndEstimated() {
		line("end", "estimated: its record does not hold it")
	}
	cl := e.GetCluster()
	line("cluster", strings.TrimSpace(cl.GetManager()+" "+cl.GetPlatform()))
	line("executors", fmt.Sprintf("%d at one time on %s, %s and %s each", cl.GetMaxExecutors(), counted(cl.GetHosts(), "host"),
		counted(cl.GetExecutorCores(), "core"), size(cl.GetExecutorMemoryBytes())))
	t := e.GetTasks()
	line("tasks", fmt.Sprintf("%d, %d failed, %d killed; %s in all, %s of it in garbage collection", t.GetCount(), t.GetFailed(), t.GetKilled(),
		seconds(t.GetSeconds()), percent(fraction(t.GetGcSeconds(), t.GetRunSeconds()))))
	line("shuffle", fmt.Sprintf("%s written, %s read", amount(t.GetShuffleWriteBytes()), amount(t.GetShuffleReadBytes())))
	line("spilled", size(t.GetSpillDiskBytes()))
	q := e.GetQuality()
	if q.GetCut() {
		line("record", "ends in the middle")
	}
	for _, n := range q.GetNotes() {
		line("note", n)
	}
	for _, k := range slices.Sorted(maps.Keys(e.GetProperties())) {
		line("setting", k+" = "+e.GetProperties()[k])
	}
	line("stages", fmt.Sprint(len(e.GetGraph().GetStages())))
	if c.Stages {
		printStages(w, e.GetGraph())
	}
}

func printStages(w *bytes.Buffer, g *karasuv1.StageGraph) {
	fmt.Fprintln(w)
	t := newTable(">STAGE", "NAME", "PARENTS", ">TASKS", ">START", ">RUNTIME", ">INPUT", ">READ", ">WRITTEN", ">OUTPUT", "OUTCOME")
	for _, s := range g.GetStages() {
		name := ""
		if i := int(s.GetName()); i > 0 && i <= len(g.GetTexts()) {
			name = g.GetTexts()[i-1]
		}
		id := fmt.Sprint(s.GetId())
		if s.GetAttempt() > 0 {
			id = fmt.Sprintf("%d.%d", s.GetId(), s.GetAttempt())
		}
		t.add(id, dash(name), dash(strings.Trim(fmt.Sprint(s.GetParents()), "[]")), fmt.Sprintf("%d/%d", s.GetFinished(), s.GetTasks()),
			seconds(s.GetStartSeconds()), seconds(s.GetEndSeconds()-s.GetStartSeconds()), size(s.GetInputBytes()), size(s.GetShuffleReadBytes()),
			size(s.GetShuffleWriteBytes()), size(s.GetOutputBytes()), dash(s.GetOutcome()))
	}
	t.print(w, "It has no stages.")
}

// arguments prints name=value pairs.
func arguments(w *karasuv1.Workload) string {
	var out []string
	for _, a := range w.GetArguments() {
		value := a.GetText()
		if value == "" {
			value = fmt.Sprintf("%g", a.GetNumber())
		}
		out = append(out, a.GetName()+"="+value)
	}
	return strings.Join(out, ", ")
}

// amount prints bytes of which there may be none.
func amount(bytes float64) string {
	if bytes == 0 {
		return "nothing"
	}
	return size(bytes)
}

func fraction(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return min(1, part/whole)
}
