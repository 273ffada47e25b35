package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

func TestSearchStatus(t *testing.T) {
	p := func(v float64) *float64 { return &v }
	run := func(machine string, nodes uint32, seconds float64, o karasuv1.Outcome) *karasuv1.Run {
		return &karasuv1.Run{Configuration: &karasuv1.Configuration{MachineType: machine, ScaleOut: nodes}, RuntimeSeconds: seconds, Outcome: o}
	}
	weights := []*karasuv1.Weight{
		{Origin: "peer", Organisation: "Globex\x1b[2J", Author: "12D3", Workload: "00112233445566778899aabbccddeeff", Topic: "/karasu/1/aws-ec2/spark/pagerank", Share: .62},
		{Origin: "own history", Organisation: "acme", Workload: "ffeeddccbbaa99887766554433221100", Topic: "/karasu/1/aws-ec2/spark/sort", Share: .2},
		{Origin: "own prior", Share: .172},
		{Origin: "peer", Organisation: "Hooli", Share: .004},
		{Origin: "peer", Organisation: "Initech", Share: .004},
	}
	state := &karasuv1.SearchState{
		Settings: &karasuv1.SearchSettings{
			Workload:      &karasuv1.Workload{Job: "nightly pagerank", Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "pagerank"},
			TargetSeconds: 900, Objective: "cost", Method: "evidence",
		},
		Candidates: 69,
		Steps: []*karasuv1.SearchStep{
			{Run: run("m4.large", 4, 0, karasuv1.Outcome_OUTCOME_FAILED)},
			{Run: run("c4.large", 4, 1800, karasuv1.Outcome_OUTCOME_TIMEOUT), Objective: p(.2)},
			{Run: run("m4.xlarge", 8, 800, karasuv1.Outcome_OUTCOME_OK), Valid: true, Objective: p(.3556), Best: p(.3556)},
			{Run: run("c4.xlarge", 8, 930, karasuv1.Outcome_OUTCOME_OK), Objective: p(.4112), Best: p(.3556)},
			{Run: run("r4.xlarge", 6, 640, karasuv1.Outcome_OUTCOME_OK), Valid: true, Objective: p(.2837), Best: p(.2837)},
		},
		Incumbent: &karasuv1.Prediction{
			Configuration: &karasuv1.Configuration{MachineType: "r4.xlarge", ScaleOut: 6}, RuntimeSeconds: 640, CostUsd: p(.2837), EnergyWh: p(40),
			ProbabilityOfMeetingTarget: p(1),
		},
		Weights: weights,
		Next: &karasuv1.Suggestion{
			LevelKnown: true, ExpectedImprovement: .03,
			Prediction: &karasuv1.Prediction{
				Configuration:  &karasuv1.Configuration{MachineType: "r4.large", ScaleOut: 12},
				RuntimeSeconds: 611, RuntimeLowSeconds: 540, RuntimeHighSeconds: 690.4,
				CostUsd: p(.271), CostLowUsd: p(.239), CostHighUsd: p(.306), EnergyWh: p(41.26), ProbabilityOfMeetingTarget: p(.987),
			},
			Reason: "it is expected to lower the best cost by 5%", Stop: true, Advice: "one more run is expected to lower the cost by 3%, less than 5%", Weights: weights,
		},
	}
	env := serve(t, handler(&fake{state: state}))
	price := func(date string) {
		t.Helper()
		write(t, env("KARASU_HOME")+"/config.toml", "organisation = \"acme\"\n[catalog]\nfile = \"prices.csv\"\n")
		write(t, env("KARASU_HOME")+"/prices.csv", "cloud,machine_type,usd_per_hour,price_date\naws,r4.large,0.133,"+date+"\naws,r4.xlarge,0.266,2999-01-01\n")
	}
	price("2999-01-01")
	t.Run("table", func(t *testing.T) {
		stdout, stderr, code := karasu(env, "search", "status", "--job", "j")
		if stderr != "" || code != exitOK {
			t.Errorf("%q, exit code %d", stderr, code)
		}
		golden(t, "testdata/search_status.golden", stdout)
	})
	t.Run("json", func(t *testing.T) {
		stdout, _, _ := karasu(env, "search", "status", "--job", "j", "--json")
		// Names as in the schema, and fields that are zero or absent too.
		var got struct {
			State struct {
				Settings struct {
					TargetSeconds float64 `json:"target_seconds"`
					Solo          *bool   `json:"solo"`
				} `json:"settings"`
				Steps []struct {
					Valid *bool    `json:"valid"`
					Best  *float64 `json:"best"`
				} `json:"steps"`
				Next struct {
					Advice string `json:"advice"`
				} `json:"next"`
			} `json:"state"`
		}
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err)
		}
		s := got.State
		if s.Settings.TargetSeconds != 900 || s.Settings.Solo == nil || len(s.Steps) != 5 || s.Next.Advice == "" {
			t.Errorf("JSON is %+v from\n%s", got, stdout)
		} else if s.Steps[0].Valid == nil || s.Steps[0].Best != nil || *s.Steps[2].Best != .3556 {
			t.Errorf("steps are %+v", s.Steps)
		}
		again, _, _ := karasu(env, "search", "status", "--job", "j", "--json")
		if again != stdout {
			t.Error("the same answer is written in two ways")
		}
	})
	t.Run("old price", func(t *testing.T) {
		price("2020-01-01")
		_, stderr, code := karasu(env, "search", "status", "--job", "j")
		if want := "karasu: the price of r4.large is of 2020-01-01, more than 180 days ago; a catalog file can renew it\n"; stderr != want || code != exitOK {
			t.Errorf("%q, exit code %d; want %q", stderr, code, want)
		}
	})
	t.Run("none valid", func(t *testing.T) {
		state.Steps, state.Incumbent, state.Next.Stop = state.Steps[:2], nil, false
		state.Next.Advice = "no valid run yet"
		state.Hint = "none of 2 runs was completed"
		stdout, _, _ := karasu(env, "search", "status", "--job", "j")
		golden(t, "testdata/search_status_none.golden", stdout)
	})
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// golden compares with a file, or writes it with KARASU_UPDATE=1.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("KARASU_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s differs (-want +got; KARASU_UPDATE=1 rewrites it):\n%s", path, d)
	}
}
