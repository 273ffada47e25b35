package runtable_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest/runtable"
)

const ownMapping = `
doc = "Exports of the scheduler."
optional = ["comment"]
ignored = ["internal id"]

[constants]
infrastructure = "aws-ec2"
framework = "spark"
algorithm = "{file}"
job = "{team}/{algorithm}"

[columns]
nodes = "workers"
machine_type = "flavour"
runtime_s = { from = "Minutes", unit = "min" }
input_bytes = { from = "gb", unit = "GB" }
cpu_p10 = { from = "c1", unit = "%" }
cpu_p50 = { from = "c5", unit = "%" }
cpu_p90 = { from = "c9", unit = "%" }

[arguments]
rounds = "iterations"

[[rows]]
when = ["state = killed", "minutes >= 120"]
outcome = "timeout"

[[rows]]
when = ["state = killed"]
skip = "killed by hand"

[[rows]]
when = ["state = done"]
outcome = "ok"
`

const ownHeader = "team,workers,flavour,minutes,gb,c1,c5,c9,iterations,state,internal id\n"

func TestMapping(t *testing.T) {
	m := mapping(t, ownMapping)
	table := ownHeader +
		"web,8,m4.xlarge,2,10,10,50,90,7,DONE,x\n" +
		"web,8,m4.xlarge,130,-1,,,,,killed,x\n" +
		"web,8,m4.xlarge,119.9,,,,,,killed,x\n" +
		"web,8,m4.xlarge,soon,,,,,,done,x\n" +
		"web,8,m4.xlarge,1,,,,,,lost,x\n"
	source := runtable.New(strings.NewReader(table), runtable.Options{Name: "export/Sort.csv", Mapping: m})
	var runs []model.Run
	var problems []string
	for r, err := range source.Runs(t.Context()) {
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		runs = append(runs, r)
	}
	ok := model.Run{
		Workload:      model.Workload{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "sort", Job: "web/sort", InputBytes: 10e9, Arguments: model.Arguments{{Name: "rounds", Number: 7}}},
		Configuration: model.Configuration{MachineType: "m4.xlarge", ScaleOut: 8}, RuntimeSeconds: 120, Outcome: model.OK,
		Metrics: model.Metrics{CPU: &model.Percentiles{P10: 0.1, P50: 0.5, P90: 0.9}},
	}
	late := ok
	late.Workload.InputBytes, late.Workload.Arguments, late.Metrics = 0, nil, model.Metrics{}
	late.RuntimeSeconds, late.Outcome = 7800, model.Timeout
	if d := cmp.Diff([]model.Run{ok, late}, runs); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{
		`export/Sort.csv:5: runtime_s is not a number: "soon"`,
		`export/Sort.csv:6: outcome is not told by state = "lost", minutes = "1": no rule of the mapping applies`,
	}, problems); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]runtable.Skipped{{Reason: "killed by hand", Rows: 1}}, source.Skipped()); d != "" {
		t.Error(d)
	}
	if len(source.Ignored()) > 0 || source.Preset() != "own" {
		t.Errorf("ignored %q, preset %q", source.Ignored(), source.Preset())
	}
}

// What the user says goes before the mapping, also about where a value is.
func TestOptionsGoBeforeTheMapping(t *testing.T) {
	rep, err := collect(t, "team,workers,flavour,minutes,gb,c1,c5,c9,iterations,state,size,arg.X\nweb,8,m4.xlarge,2,1,,,,,done,4,y\n", runtable.Options{
		Mapping: mapping(t, ownMapping), Map: map[string]string{"size": "nodes"}, Defaults: map[string]string{"algorithm": "pagerank"},
	})
	if err != nil || rep.Err() != nil {
		t.Fatal(err, rep)
	}
	r := rep.Runs[0]
	if r.Configuration.ScaleOut != 4 || r.Workload.Job != "web/pagerank" || r.Workload.Arguments[0].String() != "x=y" {
		t.Errorf("%+v", r)
	}
}

func TestRefusesMappings(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no TOML", "[columns\n", "own.toml:2: unusable mapping: "},
		{"unknown key", "colums = 3\n", `there is no key "colums"`},
		{"unknown column", "[columns]\nsize = \"x\"\n", `there is no column "size"`},
		{"unknown constant", "[constants]\nsize = \"x\"\n", `there is no column "size"`},
		{"no column of the file", "[columns]\nnodes = \"\"\n", `column "nodes" is of no column of the file`},
		{"number for a column", "[columns]\nnodes = 3\n", "a column must look like"},
		{"unknown part of a column", "[columns]\nnodes = { from = \"n\", units = \"s\" }\n", `not "units"`},
		{"unit of what has none", "[columns]\nnodes = { from = \"n\", unit = \"s\" }\n", `column nodes takes no unit, not "s"`},
		{"unknown unit", "[columns]\nruntime_s = { from = \"n\", unit = \"years\" }\n", "column runtime_s is in ms, s, min, h or d"},
		{"bad argument", "[arguments]\n\"a b\" = \"n\"\n", "argument name may hold only"},
		{"condition without operator", "[[rows]]\nwhen = [\"completed\"]\nskip = \"x\"\n", `rule 1 for rows: condition "completed" must look like`},
		{"condition without column", "[[rows]]\nwhen = [\" = 3\"]\nskip = \"x\"\n", "names no column"},
		{"compares with text", "[[rows]]\nwhen = [\"a < b\"]\nskip = \"x\"\n", `compares with "b", which is not a number`},
		{"no consequence", "[[rows]]\nwhen = []\n", "needs either an outcome or a reason to skip"},
		{"two consequences", "[[rows]]\nskip = \"x\"\noutcome = \"ok\"\n", "needs either an outcome or a reason to skip"},
		{"unknown outcome", "[[rows]]\noutcome = \"fine\"\n", "outcome must be ok, failed or timeout"},
		{"cycle", "[constants]\njob = \"{dataset}\"\ndataset = \"x{job}\"\n", "refers to itself"},
		{"huge", strings.Repeat("# x\n", runtable.MaxMapping), "larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := runtable.ReadMapping(strings.NewReader(c.text), "own.toml")
			if !errors.Is(err, runtable.ErrMapping) || !strings.HasPrefix(err.Error(), "own.toml") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestMappingMustFitTheTable(t *testing.T) {
	own := mapping(t, ownMapping)
	for _, c := range []struct {
		name, header string
		opts         runtable.Options
		is           error
		want         string
	}{
		{"lacks a column", "team,workers\n", runtable.Options{Mapping: own}, runtable.ErrHeader, "mapping own needs the column c1"},
		{"mapping and preset", ownHeader, runtable.Options{Mapping: own, Preset: "scout"}, runtable.ErrOptions, "give a mapping or a preset"},
		{"bell without a name", "Nodes,Runtime\n", runtable.Options{Preset: "bell"}, nil, ""},
		{"unknown format", ownHeader, runtable.Options{Format: "xml"}, runtable.ErrOptions, `there is no format "xml"`},
	} {
		if _, err := collect(t, c.header, c.opts); !errors.Is(err, c.is) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	source := runtable.New(strings.NewReader("Nodes,Runtime\n4,100\n"), runtable.Options{Name: "standard input", Preset: "bell"})
	for _, err := range source.Runs(t.Context()) {
		if !errors.Is(err, runtable.ErrHeader) || !strings.Contains(err.Error(), "algorithm missing") {
			t.Errorf("the algorithm is the file's name, and there is none: %v", err)
		}
	}
}

func TestPresetsExplainThemselves(t *testing.T) {
	var names []string
	for _, p := range runtable.Presets() {
		names = append(names, p.Name)
		if p.Doc == "" {
			t.Errorf("%s has no text", p.Name)
		}
	}
	if d := cmp.Diff([]string{"bell", "c3o", "scout", "tensorflow"}, names); d != "" {
		t.Error(d)
	}
}
