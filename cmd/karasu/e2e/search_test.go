package e2e

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model/modeltest"
)

// row is what the test needs of a row of the scout table.
type row struct {
	configuration string
	runtime       float64
	outcome       string
	cost          float64
}

// scout splits the table as the test's organisations hold it.
type scout struct {
	header []string
	rows   [][]string
}

func readScout(t *testing.T) scout {
	t.Helper()
	f, err := os.Open(modeltest.Data(t, "scout/scout.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return scout{all[0], all[1:]}
}

// file writes the rows that keep says to a table of its own.
func (s scout) file(t *testing.T, name string, keep func(framework, algorithm, dataset string) bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := csv.NewWriter(f)
	rows := [][]string{s.header}
	for _, r := range s.rows {
		if keep(r[0], r[1], r[2]) {
			rows = append(rows, r)
		}
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// prices in USD per hour and node.
var prices = map[string]float64{
	"c4.large": .1, "c4.xlarge": .199, "c4.2xlarge": .398, "m4.large": .1, "m4.xlarge": .2, "m4.2xlarge": .4,
	"r4.large": .133, "r4.xlarge": .266, "r4.2xlarge": .532,
}

func (s scout) workload(framework, algorithm, dataset string) []row {
	var out []row
	for _, r := range s.rows {
		if r[0] != framework || r[1] != algorithm || r[2] != dataset {
			continue
		}
		nodes, _ := strconv.ParseFloat(r[3], 64)
		runtime, _ := strconv.ParseFloat(r[5], 64)
		outcome := "ok"
		if r[6] != "True" {
			outcome = "failed"
			if runtime >= 7200 {
				outcome = "timeout"
			}
		}
		out = append(out, row{r[3] + "x" + r[4], runtime, outcome, prices[r[4]] * nodes * runtime / 3600})
	}
	return out
}

// replay plays one search over the rows and returns the number of runs until a
// valid one within 20% of the best valid cost. Runtimes are reported with 10% noise.
func replay(t *testing.T, o *organisation, rows []row, job string, seed uint64, solo bool) int {
	t.Helper()
	var completed []float64
	var configurations []string
	for _, r := range rows {
		configurations = append(configurations, r.configuration)
		if r.outcome == "ok" {
			completed = append(completed, r.runtime)
		}
	}
	slices.Sort(completed)
	// The five targets of the search protocol in turn.
	percentile := []int{10, 30, 50, 70, 90}[seed%5]
	target := completed[percentile*(len(completed)-1)/100]
	best := math.Inf(1)
	for _, r := range rows {
		if r.outcome == "ok" && r.runtime <= target {
			best = min(best, r.cost)
		}
	}
	args := []string{
		"search", "start", "--job", job, "--infrastructure", "aws-ec2", "--framework", "spark", "--algorithm", "pagerank",
		"--target", fmt.Sprintf("%.3fs", target), "--objective", "cost", "--seed", fmt.Sprint(seed), "--configs", strings.Join(configurations, ","),
	}
	if solo {
		args = append(args, "--solo")
	}
	o.must(args...)
	noise := rand.New(rand.NewPCG(seed, 0))
	for n := 1; n <= len(rows); n++ {
		var next struct {
			Suggestion struct {
				Prediction struct {
					Configuration struct {
						MachineType string `json:"machine_type"`
						ScaleOut    int    `json:"scale_out"`
					} `json:"configuration"`
				} `json:"prediction"`
			} `json:"suggestion"`
		}
		o.query(&next, "search", "next", "--job", job)
		c := next.Suggestion.Prediction.Configuration
		configuration := fmt.Sprintf("%dx%s", c.ScaleOut, c.MachineType)
		i := slices.IndexFunc(rows, func(r row) bool { return r.configuration == configuration })
		if i < 0 {
			t.Fatalf("suggested %q, which is no candidate", configuration)
		}
		r := rows[i]
		report := []string{"search", "report", "--job", job, "--config", configuration}
		seen := r.runtime * math.Exp(0.1*noise.NormFloat64())
		switch r.outcome {
		case "ok":
			report = append(report, "--runtime", fmt.Sprintf("%.3fs", seen))
		case "timeout":
			report = append(report, "--timeout", "--runtime", fmt.Sprintf("%.3fs", r.runtime))
		default:
			report = append(report, "--failed")
		}
		o.must(report...)
		if r.outcome == "ok" && r.runtime <= target && r.cost <= 1.2*best {
			return n
		}
	}
	return len(rows) + 1
}

// TestThreeOrganisations: A holds the Spark runs but for the workload that C is going
// to search, B the Hadoop runs, C none. C's search with the network needs fewer runs
// than alone to come within 20% of the best cost, on average over ten seeds and five
// runtime targets. (At the median target alone it does not: for this workload the
// search alone happens to find a near-optimal configuration in its second run.) In the
// variant B is gone before C starts, and C still gets B's records, from A.
func TestThreeOrganisations(t *testing.T) {
	table := readScout(t)
	for _, early := range []bool{false, true} {
		t.Run(fmt.Sprintf("B stops before C starts: %t", early), func(t *testing.T) {
			a := newOrganisation(t, "a", "")
			a.start()
			a.must("import", "csv", table.file(t, "a.csv", func(f, al, d string) bool {
				return f == "spark" && (al != "pagerank" || d != "huge")
			}))
			b := newOrganisation(t, "b", a.bootstrap())
			b.start()
			b.must("import", "csv", table.file(t, "b.csv", func(f, _, _ string) bool { return f == "hadoop" }))
			// Five Spark and six Hadoop workloads, a summary and a model each.
			const ofA, ofB = 10, 12
			a.eventually("A has B's records", func() bool { s := a.status(); return s.OwnRecords == ofA && s.ReceivedRecords == ofB })
			b.eventually("B has A's records", func() bool { s := b.status(); return s.OwnRecords == ofB && s.ReceivedRecords == ofA })
			seeds := 10
			if early {
				b.stop()
				seeds = 1
			}
			rows := table.workload("spark", "pagerank", "huge")
			network, solo := 0, 0
			for seed := range seeds {
				// A fresh organisation each time, which shares nothing: no search may
				// learn from another.
				c := newOrganisation(t, "c", a.bootstrap()+"[share]\npolicy = \"off\"\n")
				c.start()
				c.eventually("C has everybody's records", func() bool { return c.status().ReceivedRecords == ofA+ofB })
				network += replay(t, c, rows, "with-network", uint64(seed), false)
				if !early {
					solo += replay(t, c, rows, "alone", uint64(seed), true)
				}
				c.stop()
			}
			if early {
				return
			}
			t.Logf("runs until within 20%% of the best cost, mean of %d seeds: network %.1f, solo %.1f", seeds, float64(network)/float64(seeds), float64(solo)/float64(seeds))
			if network >= solo {
				t.Errorf("with the network %d runs over all seeds, alone %d", network, solo)
			}
		})
	}
}
