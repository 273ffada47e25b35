package model_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
)

func run() model.Run {
	return model.Run{
		Workload: model.Workload{
			Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "grep", Job: "nightly", Dataset: "logs", InputBytes: 20e9,
		},
		Configuration: model.Configuration{MachineType: "m4.xlarge", ScaleOut: 8}, RuntimeSeconds: 412.5, Outcome: model.OK,
		Start: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
}

// Stored runs are found by their IDs, which therefore never change.
func TestRunIDIsStable(t *testing.T) {
	r := run()
	if want := "38ddeedb72b372af81929bec40caabe2"; r.ID() != want {
		t.Errorf("without arguments: %s, want %s", r.ID(), want)
	}
	r.Workload.Arguments = model.Arguments{}
	if want := run().ID(); r.ID() != want {
		t.Errorf("with an empty list: %s, want %s", r.ID(), want)
	}
	identity := r.Workload.Identity()
	r.Workload.Arguments = model.Arguments{{Name: "format", Text: "parquet"}, {Name: "line_length", Number: 100}}
	if want := "6a173fc34d2d0db6e6cf9d5f359a4f18"; r.ID() != want {
		t.Errorf("with arguments: %s, want %s", r.ID(), want)
	}
	if r.Workload.Identity() != identity {
		t.Error("arguments are part of the identity")
	}
}

func TestRunIDTellsArgumentsApart(t *testing.T) {
	seen := map[string]model.Arguments{}
	for _, as := range []model.Arguments{
		nil, {{Name: "a", Number: 1}}, {{Name: "a", Text: "1"}}, {{Name: "a", Number: 1}, {Name: "b", Number: 1}}, {{Name: "b", Number: 1}},
		{{Name: "a", Text: `1"/n"b"="1`}}, {{Name: "a", Number: math.Nextafter(1, 2)}},
	} {
		r := run()
		r.Workload.Arguments = as
		if other, twice := seen[r.ID()]; twice {
			t.Errorf("%v and %v have one ID", as, other)
		}
		seen[r.ID()] = as
	}
}

func TestArgumentsNormalize(t *testing.T) {
	got := model.Arguments{
		{Name: " Line_Length", Number: 100}, {Name: "format", Text: " e\u0301x "}, {Name: "format", Text: "\u00e9x"},
		{Name: "a.b-c", Number: math.Copysign(0, -1)}, {Name: "t", Number: 3, Text: "x"},
	}.Normalize()
	want := model.Arguments{{Name: "a.b-c"}, {Name: "format", Text: "\u00e9x"}, {Name: "line_length", Number: 100}, {Name: "t", Text: "x"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	if math.Signbit(got[0].Number) {
		t.Error("-0 stays")
	}
	if got := (model.Arguments{}).Normalize(); got != nil {
		t.Errorf("nothing is %#v", got)
	}
}

func TestArgumentsRefused(t *testing.T) {
	many := make(model.Arguments, model.MaxArguments+1)
	for _, c := range []struct {
		name string
		as   model.Arguments
		want string
	}{
		{"too many", many, "arguments are more than 32: 33"},
		{"twice", model.Arguments{{Name: "k", Number: 1}, {Name: "k", Number: 2}}, `argument k is given twice: "1" and "2"`},
		{"no name", model.Arguments{{Number: 1}}, "argument name must have 1 to 256 bytes"},
		{"long name", model.Arguments{{Name: strings.Repeat("x", 257)}}, "argument name must have 1 to 256 bytes"},
		{"name", model.Arguments{{Name: "a b", Number: 1}}, `argument name may hold only a-z, 0-9, '.', '_' and '-': "a b"`},
		{"upper case", model.Arguments{{Name: "K", Number: 1}}, "argument name may hold only"},
		{"NaN", model.Arguments{{Name: "k", Number: math.NaN()}}, "argument k must be a number within ±1e+18: NaN"},
		{"infinite", model.Arguments{{Name: "k", Number: math.Inf(-1)}}, "argument k must be a number"},
		{"large", model.Arguments{{Name: "k", Number: 1.1e18}}, "argument k must be a number"},
		{"long text", model.Arguments{{Name: "k", Text: strings.Repeat("x", 257)}}, "argument k is longer than 256 bytes"},
		{"no UTF-8", model.Arguments{{Name: "k", Text: "\xff"}}, "argument k is not valid UTF-8"},
		{"control", model.Arguments{{Name: "k", Text: "a\nb"}}, "argument k holds a control character"},
		{"order", model.Arguments{{Name: "b"}, {Name: "a"}}, "arguments are not sorted by name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run()
			r.Workload.Arguments = c.as
			if err := r.Validate(); !errors.Is(err, model.ErrInvalid) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestParseArguments(t *testing.T) {
	got, err := model.ParseArguments([]string{"k=5", "line_length= 1e2 ", "F=parquet", "d=2026-03-01", "x=inf", "y=0x10", "z=a=b", "n=-.5", "m=+3"})
	want := model.Arguments{
		{Name: "d", Text: "2026-03-01"}, {Name: "f", Text: "parquet"}, {Name: "k", Number: 5}, {Name: "line_length", Number: 100},
		{Name: "m", Number: 3}, {Name: "n", Number: -.5}, {Name: "x", Text: "inf"}, {Name: "y", Text: "0x10"}, {Name: "z", Text: "a=b"},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	for in, want := range map[string]string{
		"k": `argument must look like line_length=100: "k"`, "=5": "argument name must have", "k=": "argument k has no value", "k= ": "argument k has no value",
		"k=1e999": "argument k must be a number", "k=12345678901234567890": "argument k must be a number", "a b=1": "argument name may hold only",
	} {
		if as, err := model.ParseArguments([]string{in}); !errors.Is(err, model.ErrInvalid) || !strings.HasPrefix(err.Error(), want) || as != nil {
			t.Errorf("%q: %v, %v, want %s", in, as, err, want)
		}
	}
	if _, err := model.ParseArguments([]string{"k=1", "K=2"}); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("twice: %v", err)
	}
}

// Every value survives being written and read.
func FuzzParseArgument(f *testing.F) {
	for _, s := range []string{"5", "-1e-7", "parquet", "1e18", "nan", " 0.1 ", "\xff", "1_0"} {
		f.Add("k", s)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		a, err := model.ParseArgument(name, value)
		if err != nil {
			if !errors.Is(err, model.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		b, err := model.ParseArgument(a.Name, a.Value())
		if err != nil || a != b {
			t.Fatalf("%v became %v: %v", a, b, err)
		}
		if (model.Arguments{a}).Validate() != nil {
			t.Fatalf("%v is invalid", a)
		}
	})
}
