package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// suggestion and state are what the tests read of `search next` and `search status`.
type suggestion struct {
	Prediction *struct {
		Configuration struct {
			MachineType string `json:"machine_type"`
			ScaleOut    int    `json:"scale_out"`
		} `json:"configuration"`
		Runtime float64 `json:"runtime_seconds"`
		Low     float64 `json:"runtime_low_seconds"`
		High    float64 `json:"runtime_high_seconds"`
	} `json:"prediction"`
	Exhausted bool `json:"exhausted"`
	Stop      bool `json:"stop"`
}

func (s suggestion) configuration() string {
	return fmt.Sprintf("%dx%s", s.Prediction.Configuration.ScaleOut, s.Prediction.Configuration.MachineType)
}

type state struct {
	Steps []struct {
		Valid bool     `json:"valid"`
		Best  *float64 `json:"best"`
	} `json:"steps"`
	Hint  string     `json:"hint"`
	Next  suggestion `json:"next"`
	Front []any      `json:"front"`
}

// player is a daemon whose searches are played through the command line.
type player struct {
	*organisation
	job string
}

func (p player) start(args ...string) {
	p.t.Helper()
	p.must(append([]string{
		"search", "start", "--job", p.job, "--infrastructure", "aws-ec2", "--framework", "spark", "--algorithm", "sort",
	}, args...)...)
}

func (p player) report(configuration string, args ...string) {
	p.t.Helper()
	p.must(append([]string{"search", "report", "--job", p.job, "--config", configuration}, args...)...)
}

func (p player) state() state {
	p.t.Helper()
	var out struct {
		State state `json:"state"`
	}
	p.query(&out, "search", "status", "--job", p.job)
	if q := out.State.Next.Prediction; q != nil && !(q.Low <= q.Runtime && q.Runtime <= q.High && q.Low > 0) {
		p.t.Errorf("prediction %+v", *q)
	}
	// The table has to be as sound as the JSON.
	text := p.must("search", "status", "--job", p.job)
	for _, bad := range []string{"NaN", "Inf", "<nil>", "%!"} {
		if strings.Contains(text, bad) {
			p.t.Errorf("status holds %q:\n%s", bad, text)
		}
	}
	return out.State
}

// play reports runtime(i) for the i-th suggestion until n runs are done or the space
// is exhausted, and returns what was suggested.
func (p player) play(n int, runtime func(i int) string) []string {
	p.t.Helper()
	seen := map[string]bool{}
	var tried []string
	for i := range n {
		s := p.state()
		if s.Next.Exhausted {
			break
		}
		c := s.Next.configuration()
		if seen[c] {
			p.t.Fatalf("%s is suggested twice", c)
		}
		seen[c] = true
		tried = append(tried, c)
		p.report(c, "--runtime", runtime(i))
	}
	return tried
}

const smallSpace = "4xm4.large,8xm4.large,4xm4.xlarge,8xm4.xlarge,4xm4.2xlarge,8xm4.2xlarge,4xr4.large,8xr4.large,4xr4.xlarge,8xr4.xlarge,4xc4.large,8xc4.large"

// TestReplays plays searches that no textbook has, through the command line.
func TestReplays(t *testing.T) {
	o := newOrganisation(t, "player", "[share]\npolicy = \"off\"\n")
	o.start()
	search := func(t *testing.T, job string) player {
		o.t = t
		return player{o, job}
	}
	t.Run("ten identical runs of one configuration", func(t *testing.T) {
		p := search(t, "identical")
		p.start("--target", "15m", "--configs", smallSpace)
		for range 10 {
			p.report("8xm4.xlarge", "--runtime", "600s", "--repeat")
		}
		if s := p.state(); len(s.Steps) != 10 || s.Next.configuration() == "8xm4.xlarge" {
			t.Errorf("%d steps, next %s", len(s.Steps), s.Next.configuration())
		}
	})
	t.Run("ten runs all over the target", func(t *testing.T) {
		p := search(t, "infeasible")
		p.start("--target", "10s", "--configs", smallSpace)
		p.play(10, func(i int) string { return fmt.Sprintf("%ds", 300-10*i) })
		s := p.state()
		if !strings.Contains(s.Hint, "none of 10 runs met the target") || !strings.Contains(s.Hint, "3m30s") {
			t.Errorf("hint %q, want that none is feasible and which is closest", s.Hint)
		}
	})
	t.Run("constant outcomes, then two objectives", func(t *testing.T) {
		p := search(t, "constant")
		p.start("--target", "15m", "--configs", smallSpace)
		p.play(6, func(int) string { return "500s" })
		q := search(t, "constant-pareto")
		q.start("--objective", "cost,runtime", "--configs", smallSpace)
		q.play(6, func(int) string { return "500s" })
		if s := q.state(); len(s.Front) == 0 {
			t.Error("no Pareto front after six runs")
		}
	})
	t.Run("one observation, then next", func(t *testing.T) {
		p := search(t, "one")
		p.start("--configs", smallSpace)
		p.play(1, func(int) string { return "321s" })
		if s := p.state(); s.Next.Prediction == nil || s.Next.Stop {
			t.Errorf("next %+v", s.Next)
		}
	})
	t.Run("numbers that are none", func(t *testing.T) {
		p := search(t, "numbers")
		p.start("--target", "15m", "--configs", smallSpace)
		for _, bad := range []string{"NaN", "Inf", "+Inf", "0", "0s", "1e400"} {
			out, errs, code := p.run("search", "report", "--job", p.job, "--config", "4xm4.large", "--runtime", bad)
			if code != 2 || out != "" || strings.Count(strings.TrimSpace(errs), "\n") > 1 {
				t.Errorf("--runtime %s: exit %d, %q, %q", bad, code, out, errs)
			}
		}
		if _, _, code := p.run("search", "report", "--job", p.job, "--config", "4xm4.large", "--runtime=-5s"); code != 2 {
			t.Errorf("a negative runtime: exit %d", code)
		}
		if s := p.state(); len(s.Steps) != 0 {
			t.Errorf("%d steps after bad reports", len(s.Steps))
		}
	})
	t.Run("nine runs in tenths of a second and one of a million", func(t *testing.T) {
		p := search(t, "outlier")
		p.start("--target", "1s", "--configs", smallSpace)
		p.play(9, func(i int) string { return fmt.Sprintf("%.3fs", 0.1+0.01*float64(i)) })
		p.play(1, func(int) string { return "1000000s" })
		// One outlier must not flatten the rest.
		if s := p.state(); s.Next.Prediction.Runtime > 60 {
			t.Errorf("after nine runs of 0.1 to 0.2 s, %g s are predicted", s.Next.Prediction.Runtime)
		}
	})
	t.Run("spaces of one and of four, asked ten times", func(t *testing.T) {
		for job, space := range map[string]string{"1x1": "4xm4.large", "2x2": "4xm4.large,8xm4.large,4xr4.large,8xr4.large"} {
			p := search(t, job)
			p.start("--target", "15m", "--configs", space)
			want := strings.Count(space, ",") + 1
			if tried := p.play(10, func(int) string { return "400s" }); len(tried) != want {
				t.Errorf("%s: %d of %d candidates were suggested", job, len(tried), want)
			}
			if s := p.state(); !s.Next.Exhausted || !s.Next.Stop {
				t.Errorf("%s: not exhausted: %+v", job, s.Next)
			}
			for range 10 { // it keeps saying so
				var out struct {
					Suggestion suggestion `json:"suggestion"`
				}
				p.query(&out, "search", "next", "--job", p.job)
				if !out.Suggestion.Exhausted || out.Suggestion.Prediction != nil {
					t.Fatalf("%s: %+v is next after the end", job, out.Suggestion)
				}
				if text := p.must("search", "next", "--job", p.job); !strings.HasPrefix(text, "Next: nothing, ") {
					t.Fatalf("%s: %q", job, text)
				}
			}
		}
	})
	t.Run("a catalog row with price 0", func(t *testing.T) {
		search(t, "")
		file := filepath.Join(t.TempDir(), "machines.csv")
		if err := os.WriteFile(file, []byte("cloud,machine_type,vcpus,memory_gib,usd_per_hour\naws,free.large,2,8,0\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, code := o.runInput(batch("job", 3), "import", "csv", "--dry-run", "--catalog", file, "-")
		if code == 0 || out != "" || !strings.Contains(errs, "machines.csv:2") {
			t.Errorf("exit %d, %q, %q; want the line with the price", code, out, errs)
		}
	})
	t.Run("one name in two Unicode forms", func(t *testing.T) {
		p := search(t, "caf\u00e9-\u65e5\u672c\u8a9e-\u06a9\u0644\u0627\u063a")
		p.start("--configs", smallSpace)
		decomposed := search(t, "cafe\u0301-\u65e5\u672c\u8a9e-\u06a9\u0644\u0627\u063a")
		decomposed.play(1, func(int) string { return "100s" })
		if s := p.state(); len(s.Steps) != 1 {
			t.Errorf("%d steps under the composed name", len(s.Steps))
		}
	})
	t.Run("values from 6e5 to 9e7", func(t *testing.T) {
		p := search(t, "long")
		p.start("--configs", smallSpace)
		p.play(8, func(i int) string { return fmt.Sprintf("%.0fs", 6e5+float64(i)*(9e7-6e5)/7) })
		if s := p.state(); s.Steps[7].Best == nil || s.Next.Prediction.Runtime < 1e4 {
			t.Errorf("best %v, next %+v", s.Steps[7].Best, s.Next)
		}
	})
	t.Run("every method, with a budget and with two objectives", func(t *testing.T) {
		for _, method := range []string{"evidence", "karasu", "karasu-trees", "cherrypick", "arrow", "random"} {
			p := search(t, "budget-"+method)
			p.start("--method", method, "--budget", "0.05", "--configs", smallSpace)
			p.play(5, func(int) string { return "300s" })
			for i, s := range p.state().Steps {
				if s.Valid && s.Best == nil {
					t.Errorf("%s: run %d is valid, but there is no best", method, i+1)
				}
			}
			if text := p.must("search", "status", "--job", p.job); strings.Contains(text, "target") || !strings.Contains(text, "budget") {
				t.Errorf("%s: a search with a budget alone speaks of a target:\n%s", method, text)
			}
			q := search(t, "front-"+method)
			q.start("--method", method, "--objective", "cost,energy", "--target", "15m", "--configs", smallSpace)
			q.play(5, func(i int) string { return fmt.Sprintf("%ds", 300+60*i) })
			if s := q.state(); len(s.Front) == 0 {
				t.Errorf("%s: no front after five valid runs", method)
			}
			if text := q.must("search", "list"); !strings.Contains(text, "on the front") {
				t.Errorf("%s: the list shows no front:\n%s", method, text)
			}
		}
	})
	o.t = t
	o.stop()
}
