package naming_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest/naming"
)

func execution(change func(*model.Execution)) model.Execution {
	start := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	e := model.Execution{
		Origin: "spark/app-1/1", Framework: "spark", Name: "nightly-orders-2026-03-01", User: "etl", Queue: "root.batch", MainClass: "org.example.Orders",
		Start: start, End: start.Add(100 * time.Second), Outcome: model.OK, InputBytes: 5e9,
		Cluster:   model.Cluster{Hosts: 4, MaxExecutors: 8},
		Executors: []model.Executor{{ID: "1", Host: "ip-10-1-0-1"}, {ID: "2", Host: "ip-10-1-0-2"}, {ID: "3", Host: "ip-10-2-0-1"}},
	}
	if change != nil {
		change(&e)
	}
	return e
}

func anyMachine(_, machineType string) (string, error) { return machineType, nil }

func rule() naming.Rule {
	return naming.Rule{
		Name: `^nightly-(?P<table>\w+)-(\d{4})`, Queue: `^root\.(.+)$`, Infrastructure: "aws-emr", Algorithm: "ETL ${table}", Job: "nightly ${1} in ${3}",
		Dataset: "${table} costs $$", MachineType: "m5.xlarge", Arguments: map[string]string{"year": "${2}", "queue": "q-${3}"},
	}
}

func TestRuleNamesARun(t *testing.T) {
	r := rule()
	r.Algorithm = "etl-${table}"
	rules, err := naming.Compile([]naming.Rule{{Name: "other", Algorithm: "x", Job: "x"}, r})
	if err != nil {
		t.Fatal(err)
	}
	e := execution(nil)
	run, err := rules.Run(e, naming.Hints{Infrastructure: "gcp"}, anyMachine)
	if err != nil {
		t.Fatal(err)
	}
	want := model.Run{
		Workload: model.Workload{
			Infrastructure: "aws-emr", Framework: "spark", Algorithm: "etl-orders", Job: "nightly orders in batch", Dataset: "orders costs $",
			InputBytes: 5e9, Arguments: model.Arguments{{Name: "queue", Text: "q-batch"}, {Name: "year", Number: 2026}},
		},
		Configuration: model.Configuration{MachineType: "m5.xlarge", ScaleOut: 4}, RuntimeSeconds: 100, Outcome: model.OK, Start: e.Start, Origin: e.Origin,
	}
	if d := cmp.Diff(want, run); d != "" {
		t.Errorf("run (-want +got):\n%s", d)
	}
}

func TestWhyNoRun(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*model.Execution)
		rule   func(*naming.Rule)
		reason naming.Reason
	}{
		{"another name", func(e *model.Execution) { e.Name = "adhoc" }, nil, naming.NoRule},
		{"another queue", func(e *model.Execution) { e.Queue = "" }, nil, naming.NoRule},
		{"another source", nil, func(r *naming.Rule) { r.Source = "flink" }, naming.NoRule},
		{"still running", func(e *model.Execution) { e.Outcome = 0 }, nil, naming.Unfinished},
		{"no infrastructure", nil, func(r *naming.Rule) { r.Infrastructure = "" }, naming.NoInfrastructure},
		{"no machine", nil, func(r *naming.Rule) { r.MachineType = "" }, naming.NoMachineType},
		{"bad machine", nil, func(r *naming.Rule) { r.MachineType = "bad" }, naming.BadMachineType},
		{"no nodes", func(e *model.Execution) { e.Cluster = model.Cluster{} }, nil, naming.NoNodes},
		{"no time", func(e *model.Execution) { e.End = e.Start }, nil, naming.Invalid},
		{"empty algorithm", nil, func(r *naming.Rule) {
			r.Name, r.Algorithm = `^nightly()`, "${1}"
			r.Job = "j"
			r.Dataset = ""
			r.Arguments = nil
		}, naming.Invalid},
	} {
		r := rule()
		r.Algorithm = "etl"
		if c.rule != nil {
			c.rule(&r)
		}
		rules, err := naming.Compile([]naming.Rule{r})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		_, err = rules.Run(execution(c.change), naming.Hints{}, func(_, m string) (string, error) {
			if m == "bad" {
				return "", errors.New("unknown machine type")
			}
			return m, nil
		})
		if reason, detail := naming.ReasonOf(err); err == nil || reason != c.reason || detail == "" {
			t.Errorf("%s: error %v (%s), want %s", c.name, err, reason, c.reason)
		}
	}
}

func TestMachineTypePrecedence(t *testing.T) {
	r := rule()
	r.Algorithm = "etl"
	for _, c := range []struct {
		hint, source string
		machines     []string
		want         string
	}{
		{"", "", nil, "m5.xlarge"},
		{"", "c5.large", nil, "c5.large"},
		{"", "c5.large", []string{"^ip-10-2- r5.large", "^ip-10-1- r5.xlarge"}, "r5.xlarge"},
		{"", "c5.large", []string{"^elsewhere r5.large"}, "c5.large"},
		{"t3.large", "c5.large", []string{"^ip r5.large"}, "t3.large"},
	} {
		r.Machines = c.machines
		rules, err := naming.Compile([]naming.Rule{r})
		if err != nil {
			t.Fatal(err)
		}
		run, err := rules.Run(execution(func(e *model.Execution) { e.Cluster.MachineType = c.source }), naming.Hints{MachineType: c.hint}, anyMachine)
		if err != nil || run.Configuration.MachineType != c.want {
			t.Errorf("%+v: machine type %q (%v), want %q", c, run.Configuration.MachineType, err, c.want)
		}
	}
}

func TestBadRules(t *testing.T) {
	for _, c := range []struct{ field, change, want string }{
		{"", "", "matches everything; give name"},
		{"name", "name = '('", "name is no regular expression (missing closing ): '('): \"(\""},
		{"algorithm", "name = 'x'", "algorithm is missing"},
		{"job", "name = 'x'\nalgorithm = 'a'", "job is missing"},
		{"algorithm", "name = 'x'\nalgorithm = 'Page Rank'\njob = 'j'", "algorithm may hold only"},
		{"job", "name = 'x'\nalgorithm = 'a'\njob = '${1}'", "job names the group ${1}, which no pattern of the rule captures (they capture none"},
		{"job", "name = '(x)'\nalgorithm = 'a'\njob = '${2}'", "job names the group ${2}, which no pattern of the rule captures (they capture 1)"},
		{"job", "name = '(x)'\nalgorithm = 'a'\njob = '${y}'", "job names the group ${y}"},
		{"job", "name = '(x)'\nalgorithm = 'a'\njob = '$1'", "job holds a $ that begins no group: write ${1}"},
		{"job", "name = '(x)'\nalgorithm = 'a'\njob = '${1'", "job holds a $ that begins no group"},
		{"user", "name = '(?P<a>x)'\nuser = '(?P<a>x)'", "user names the group \"a\", which another"},
		{"source", "name = 'x'\nsource = 'Spark!'", "source must be a framework"},
		{"machine_type", "name = 'x'\nalgorithm = 'a'\njob = 'j'\nmachine_type = 'a b'", "machine_type may hold only"},
		{"machines", "name = 'x'\nalgorithm = 'a'\njob = 'j'\nmachines = ['m5.xlarge']", "machines entry 1: must be a pattern"},
		{"machines", "name = 'x'\nalgorithm = 'a'\njob = 'j'\nmachines = ['( m5.xlarge']", "machines entry 1: host pattern is no regular"},
		{"arguments.A b", "name = 'x'\nalgorithm = 'a'\njob = 'j'\narguments = {'A b' = '1'}", "arguments.A b may hold only"},
		{"arguments.a", "name = 'x'\nalgorithm = 'a'\njob = 'j'\narguments = {a = '${1}'}", "arguments.a names the group"},
	} {
		var r naming.Rule
		if _, err := toml.Decode(c.change, &r); err != nil {
			t.Fatal(err)
		}
		_, err := naming.Compile([]naming.Rule{{Name: "x", Algorithm: "x", Job: "x"}, r})
		var rerr *naming.RuleError
		if !errors.As(err, &rerr) || rerr.Index != 1 || rerr.Field != c.field || !strings.Contains(rerr.Text(), c.want) {
			t.Errorf("%q: error %v, want field %q: %s", c.change, err, c.field, c.want)
		}
	}
}

func TestParseMachines(t *testing.T) {
	ms, err := naming.ParseMachines("map", strings.NewReader("\ufeff# hosts\n\n^ip-10-1- m5.xlarge\r\n  .  r5.large\n"))
	if err != nil || len(ms) != 2 || ms.Of(execution(nil)) != "m5.xlarge" {
		t.Errorf("%d machines, %q (%v)", len(ms), ms.Of(execution(nil)), err)
	}
	for text, want := range map[string]string{
		"\nx":                            `map:2: must be a pattern on host names and a machine type, such as ^ip-10-1- m5.xlarge: "x"`,
		"( m5.xlarge":                    `map:1: host pattern is no regular expression`,
		"x m5/xlarge":                    `map:1: machine type may hold only`,
		"x " + strings.Repeat("y", 9000): `map:1: the line is longer than`,
	} {
		if _, err := naming.ParseMachines("map", strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20q: error %v, want %s", text, err, want)
		}
	}
}

// TestSuggestedLines: what a suggestion says of machine types must work where it is
// pasted, and digits in words are no numbers.
func TestSuggestedLines(t *testing.T) {
	for _, c := range []struct{ name, infrastructure, platform, want string }{
		{"load", "", "", "describe it for on-premises in the file of [catalog] first, see docs/catalog.md"},
		{"load", "lab", "", "describe it for lab in"},
		{"load", "aws-emr", "", `machine_type = "m5.xlarge"  # of its workers`},
		{"load", "", "gcp-dataproc", `machine_type = "n2-standard-4"  # of its workers`},
		{"shs-e2e-app", "", "", `name = "^shs-e2e-app$"`},
		{"shs-e2e-app", "", "", `job = "shs-e2e-app"`},
		{"k8s run 17", "", "", `job = "k8s run"`},
		{"load20260301x", "", "", `job = "loadx"`},
	} {
		groups := naming.Groups([]naming.Unnamed{{Reason: naming.NoRule, Hints: naming.Hints{Infrastructure: c.infrastructure}, Execution: execution(func(e *model.Execution) {
			e.Name, e.Cluster.Platform = c.name, c.platform
		})}})
		if len(groups) != 1 || !strings.Contains(groups[0].Suggestion, c.want) {
			t.Errorf("%+v: got\n%s", c, groups[0].Suggestion)
		}
	}
}

// TestSuggestions groups names and wants each suggestion to be a rule that names all of
// its group alike.
func TestSuggestions(t *testing.T) {
	names := []string{
		"nightly-orders-2026-03-01", "nightly-orders-2026-03-02", "nightly-orders-2026-12-31",
		"PageRank run 17", "PageRank run 4711",
		"load 3fa85f64-5717-4562-b3fc-2c963f66afa6", "load 11111111-2222-3333-4444-555555555555",
		"compact_deadbeef01", "compact_0123456789abcdef",
		"it's $5 (really) #1", "it's $5 (really) #2",
		"face", "decade", "12:30:01 tick", "9:05 tick",
	}
	var unnamed []naming.Unnamed
	for i, n := range names {
		unnamed = append(unnamed, naming.Unnamed{Reason: naming.NoRule, Execution: execution(func(e *model.Execution) {
			e.Name, e.Start = n, e.Start.Add(time.Duration(i)*time.Second)
			e.End = e.Start.Add(time.Minute)
		})})
	}
	unnamed = append(unnamed, naming.Unnamed{Reason: naming.Unfinished, Detail: "d", Execution: execution(nil)})
	groups := naming.Groups(unnamed)
	var got []string
	var text strings.Builder
	for _, g := range groups {
		got = append(got, fmt.Sprintf("%s %d %s", g.Reason, g.Executions, g.Example.Name))
		text.WriteString(g.Suggestion + "\n")
	}
	want := []string{
		"no-rule 3 nightly-orders-2026-12-31", "no-rule 2 9:05 tick", "no-rule 2 PageRank run 4711", "no-rule 2 compact_0123456789abcdef",
		"no-rule 2 it's $5 (really) #2", "no-rule 2 load 11111111-2222-3333-4444-555555555555",
		"no-rule 1 decade", "no-rule 1 face", "unfinished 1 nightly-orders-2026-03-01",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("groups (-want +got):\n%s", d)
	}
	var config struct {
		Workload []naming.Rule `toml:"workload"`
	}
	meta, err := toml.Decode(text.String(), &config)
	if err != nil || len(meta.Undecoded()) > 0 {
		t.Fatalf("the suggestions are no configuration: %v %v\n%s", err, meta.Undecoded(), &text)
	}
	rules, err := naming.Compile(config.Workload)
	if err != nil {
		t.Fatalf("%v\n%s", err, &text)
	}
	jobs := map[string]int{}
	for _, u := range unnamed[:len(unnamed)-1] {
		run, err := rules.Run(u.Execution, naming.Hints{MachineType: "m5.xlarge"}, anyMachine)
		if err != nil {
			t.Errorf("%s: %v", u.Execution.Name, err)
		}
		jobs[run.Workload.Job+"|"+run.Workload.Algorithm]++
	}
	wantJobs := map[string]int{
		"nightly-orders|batch": 3, "PageRank run|pagerank": 2, "load|batch": 2, "compact|batch": 2, "it's $ (really)|batch": 2, "face|batch": 1, "decade|batch": 1, "tick|batch": 2,
	}
	if d := cmp.Diff(wantJobs, jobs); d != "" {
		t.Errorf("jobs (-want +got):\n%s", d)
	}
}

// FuzzRules takes any rule and name: no panic, and a run that is made is valid.
func FuzzRules(f *testing.F) {
	f.Add(`^nightly-(?P<t>\w+)`, "${t}", "etl-${1}", "nightly-orders", "^ip m5.xlarge")
	f.Add("(", "$", "${9}", "x", "x")
	f.Fuzz(func(t *testing.T, pattern, job, algorithm, name, machines string) {
		rules, err := naming.Compile([]naming.Rule{{Name: pattern, Job: job, Algorithm: algorithm, Infrastructure: "aws", Machines: []string{machines}, MachineType: "m5.xlarge"}})
		if err != nil {
			return
		}
		e := execution(func(e *model.Execution) { e.Name = name })
		run, err := rules.Run(e, naming.Hints{}, anyMachine)
		if err == nil && run.Validate() != nil {
			t.Fatalf("invalid run: %v", run.Validate())
		}
		naming.Groups([]naming.Unnamed{{Execution: e, Reason: naming.NoRule}})
	})
}
