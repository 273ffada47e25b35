package search

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/ensemble"
)

// oracleSearch is a search as the reference does it, without history and catalog.
type oracleSearch struct {
	t         *testing.T
	e         *ensemble.Ensemble
	offset    []float64
	known     []bool
	logTarget float64
	seen      []bool
	valid     []int
}

func newOracleSearch(t *testing.T, c ensemble.Config, usd []float64, target float64) *oracleSearch {
	t.Helper()
	c.LevelMean = math.Log(target)
	e, err := ensemble.New(ensemble.Base(), c)
	if err != nil {
		t.Fatal(err)
	}
	s := &oracleSearch{t: t, e: e, logTarget: math.Log(target), seen: make([]bool, len(usd))}
	for i, q := range c.Candidates {
		s.offset, s.known = append(s.offset, math.Log(q.Nodes*usd[i]/3600)), append(s.known, true)
	}
	return s
}

func (s *oracleSearch) ask() (next int, improvement float64, m *ensemble.Mixture) {
	m, err := s.e.Predict()
	if err != nil {
		s.t.Fatal(err)
	}
	st := &state{problem: &Problem{}, history: &history{}, offset: s.offset, known: s.known, logTarget: s.logTarget, open: make([]bool, len(s.seen))}
	for _, i := range s.valid {
		st.history.points = append(st.history.points, point{candidate: i, logRuntime: math.Inf(-1)})
	}
	for i, seen := range s.seen {
		st.open[i] = !seen
	}
	for range s.seen {
		st.limit = append(st.limit, s.logTarget)
	}
	answers := st.answers(m, runNoiseSD)
	ei := expectedImprovement(m, incumbentObjective(st, s.logTarget, m, answers), st.limit, s.offset, s.known)
	best := -1
	for i := range ei {
		if !s.seen[i] && (best < 0 || ei[i] > ei[best]) {
			best = i
		}
	}
	return best, ei[best], m
}

func (s *oracleSearch) tell(i int, logRuntime float64) {
	s.t.Helper()
	if err := s.e.Observe(i, logRuntime, 0); err != nil {
		s.t.Fatal(err)
	}
	s.seen[i] = true
	if logRuntime <= s.logTarget {
		s.valid = append(s.valid, i)
	}
}

// scoutSpace is the 69 configurations of the scout table, in its order.
func scoutSpace() (points []ensemble.Point, usd []float64, names []string, index map[string]int) {
	gib := map[string]float64{"c4": 1.875, "m4": 4, "r4": 7.625}
	price := map[string]float64{
		"c4.large": .1, "c4.xlarge": .199, "c4.2xlarge": .398, "m4.large": .1, "m4.xlarge": .2, "m4.2xlarge": .4,
		"r4.large": .133, "r4.xlarge": .266, "r4.2xlarge": .532,
	}
	index = map[string]int{}
	for _, size := range []struct {
		name   string
		cores  float64
		counts []int
	}{
		{"large", 2, []int{4, 6, 8, 10, 12, 16, 24, 32, 40, 48}},
		{"xlarge", 4, []int{4, 6, 8, 10, 12, 16, 20, 24}},
		{"2xlarge", 8, []int{4, 6, 8, 10, 12}},
	} {
		for _, family := range []string{"c4", "m4", "r4"} {
			for _, n := range size.counts {
				machine := family + "." + size.name
				name := model.Configuration{MachineType: machine, ScaleOut: n}.String()
				index[name] = len(points)
				points = append(points, ensemble.Point{Nodes: float64(n), CoresPerNode: size.cores, GiBPerNode: gib[family] * size.cores})
				usd, names = append(usd, price[machine]), append(names, name)
			}
		}
	}
	return points, usd, names, index
}

// TestEvidenceVectors pins the vectors of the method's description. They are
// rounded to six decimals.
func TestEvidenceVectors(t *testing.T) {
	points, usd, names, index := scoutSpace()
	trace := func(bytes float64, runs map[string]float64, order ...string) ensemble.Trace {
		tr := ensemble.Trace{Class: ensemble.Same, Workload: "w", InputBytes: bytes}
		for _, name := range order {
			tr.Points = append(tr.Points, points[index[name]])
			tr.LogRuntime = append(tr.LogRuntime, math.Log(runs[name]))
		}
		return tr
	}
	t1 := func(b float64) ensemble.Trace {
		return trace(b, map[string]float64{"8xm4.xlarge": 600, "4xc4.2xlarge": 700, "16xr4.large": 620, "4xm4.large": 2300},
			"8xm4.xlarge", "4xc4.2xlarge", "16xr4.large", "4xm4.large")
	}
	t2 := func(b float64) ensemble.Trace {
		return trace(b, map[string]float64{"8xm4.xlarge": 640, "16xc4.xlarge": 420, "4xr4.xlarge": 900}, "8xm4.xlarge", "16xc4.xlarge", "4xr4.xlarge")
	}
	t3 := trace(0, map[string]float64{"8xm4.xlarge": 1920, "16xc4.xlarge": 1260, "4xr4.xlarge": 2700}, "8xm4.xlarge", "16xc4.xlarge", "4xr4.xlarge")

	type step struct {
		name        string
		improvement float64
		runtime     float64 // seconds then observed; 0 ends
	}
	for _, tc := range []struct {
		name       string
		supports   []ensemble.Trace
		bytes      float64
		hypotheses int
		steps      []step
	}{
		{"solo", nil, 0, 16, []step{{"12xm4.2xlarge", 1.483674, 700}, {"10xr4.large", .361444, 0}}},
		{"t1+t2", []ensemble.Trace{t1(0), t2(0)}, 0, 28, []step{{"12xm4.2xlarge", 1.630664, 700}, {"32xm4.large", .155268, 900}, {"6xm4.2xlarge", .114849, 0}}},
		{"t1+t2+t3", []ensemble.Trace{t1(0), t2(0), t3}, 0, 28, []step{{"12xm4.2xlarge", 1.588331, 700}, {"24xm4.large", .211396, 900}, {"4xm4.2xlarge", .121653, 0}}},
		{"input sizes", []ensemble.Trace{t1(2e11), t2(2e11)}, 1e11, 24, []step{{"12xm4.2xlarge", 1.627828, 700}, {"32xm4.large", .160520, 900}, {"4xr4.2xlarge", .115522, 0}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newOracleSearch(t, ensemble.Config{Candidates: points, Supports: tc.supports, InputBytes: tc.bytes}, usd, 1000)
			if s.e.Hypotheses() != tc.hypotheses {
				t.Errorf("%d hypotheses, want %d", s.e.Hypotheses(), tc.hypotheses)
			}
			for k, want := range tc.steps {
				i, improvement, m := s.ask()
				if names[i] != want.name || math.Abs(improvement-want.improvement) > 5e-7 {
					t.Fatalf("step %d: %s with %.6f, want %s with %.6f", k, names[i], improvement, want.name, want.improvement)
				}
				if tc.name == "solo" && k == 1 {
					if mean := m.MeanAt(i); math.Abs(mean-7.430109) > 5e-7 {
						t.Errorf("mixture mean %.6f, want 7.430109", mean)
					}
				}
				if want.runtime > 0 {
					s.tell(i, math.Log(want.runtime))
				}
			}
		})
	}
}

// TestEvidenceMatchesReference compares with the random cases that
// scripts/oracle/search_cases.py wrote.
func TestEvidenceMatchesReference(t *testing.T) {
	const tolerance = 1e-9
	b, err := os.ReadFile("testdata/evidence_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Nodes, Cores, GiB, Extra, USD []float64
		Target, InputBytes            float64
		Supports                      []struct {
			Class      int
			Workload   string
			At         []int
			LogRuntime []float64
			InputBytes float64
		}
		Hypotheses int
		Steps      []struct {
			Next           int
			EI             float64
			Mean, Variance []float64
			LogRuntime     float64
		}
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 50 {
		t.Fatalf("%d cases, want 50", len(cases))
	}
	for k, c := range cases {
		var config ensemble.Config
		config.InputBytes = c.InputBytes
		for i := range c.Nodes {
			q := ensemble.Point{Nodes: c.Nodes[i], CoresPerNode: c.Cores[i], GiBPerNode: c.GiB[i]}
			if len(c.Extra) > 0 {
				q.Extra = []float64{c.Extra[i]}
			}
			config.Candidates = append(config.Candidates, q)
		}
		for _, s := range c.Supports {
			tr := ensemble.Trace{Class: ensemble.Class(s.Class), Workload: s.Workload, InputBytes: s.InputBytes, LogRuntime: s.LogRuntime}
			for _, i := range s.At {
				tr.Points = append(tr.Points, config.Candidates[i])
			}
			config.Supports = append(config.Supports, tr)
		}
		search := newOracleSearch(t, config, c.USD, c.Target)
		if search.e.Hypotheses() != c.Hypotheses {
			t.Errorf("case %d: %d hypotheses, want %d", k, search.e.Hypotheses(), c.Hypotheses)
		}
		for n, step := range c.Steps {
			i, improvement, m := search.ask()
			if i != step.Next || math.Abs(improvement-step.EI) > tolerance {
				t.Errorf("case %d step %d: candidate %d with %.12f, want %d with %.12f", k, n, i, improvement, step.Next, step.EI)
			}
			for j := range step.Mean {
				mean, variance := m.Moments(j)
				if math.Abs(mean-step.Mean[j]) > tolerance || math.Abs(variance-step.Variance[j]) > tolerance {
					t.Errorf("case %d step %d candidate %d: mean %.12f variance %.12f, want %.12f and %.12f", k, n, j, mean, variance, step.Mean[j], step.Variance[j])
					break
				}
			}
			search.tell(step.Next, step.LogRuntime)
		}
	}
}
