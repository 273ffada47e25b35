package replay

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/karasu-project/karasu/model/modeltest"
)

func read(t testing.TB, name string, reader func(io.Reader) ([]Job, error)) []Job {
	t.Helper()
	f, err := os.Open(modeltest.Data(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	jobs, err := reader(f)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

func optimalityOf(t *testing.T, data string, jobs []Job, limits Limits) map[string]OptimalityRow {
	t.Helper()
	rows, err := Optimality(data, jobs, nil, limits)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]OptimalityRow{}
	for _, r := range rows {
		t.Logf("%+v", r)
		out[fmt.Sprintf("%g %s", r.Budget, r.Method)] = r
	}
	return out
}

func TestCutsOfQueries(t *testing.T) {
	rows := optimalityOf(t, "tpc", read(t, "stages/tpc.jsonl", Queries(false)), Limits{})
	for key, freed := range map[string]float64{"-1": .82, "0.5": .4, "0.25": .29, "0.1": .24, "0.05": .19} {
		exact, heuristic, prefix := rows[key+" exact"], rows[key+" heuristic"], rows[key+" prefix"]
		if exact.Proven != 1 || exact.MinRatio < 1 {
			t.Errorf("budget %s: %g of the exact cuts are proven, the least has %g of the best", key, exact.Proven, exact.MinRatio)
		}
		if exact.Freed < freed {
			t.Errorf("budget %s frees %.3f, want %g", key, exact.Freed, freed)
		}
		if heuristic.MeanRatio < .999 || heuristic.MinRatio < .99 {
			t.Errorf("budget %s: the heuristic frees %.4f of the best, at least %.4f", key, heuristic.MeanRatio, heuristic.MinRatio)
		}
		if prefix.Freed > exact.Freed {
			t.Errorf("budget %s: prefixes free %g, the optimum %g", key, prefix.Freed, exact.Freed)
		}
	}
	if prefix := rows["-1 prefix"]; prefix.MinRatio < 1 {
		t.Errorf("without a budget the prefix scan frees %g of the optimum", prefix.MinRatio)
	}
}

func TestCutsOfWorkflows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	rows := optimalityOf(t, "workflows", read(t, "stages/workflows.jsonl", Workflows), Limits{BestRelaxations: 150})
	for _, key := range []string{"-1", "0.5", "0.25", "0.1", "0.05"} {
		if r := rows[key+" heuristic"]; r.MeanRatio < .999 || r.MinRatio < .985 {
			t.Errorf("budget %s: the heuristic frees %.4f of the best, at least %.4f", key, r.MeanRatio, r.MinRatio)
		}
	}
}

func restartOf(t *testing.T, data string, jobs []Job) map[string]RestartRow {
	t.Helper()
	rows, err := Restart(data, jobs, false)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]RestartRow{}
	for _, r := range rows {
		t.Logf("%+v", r)
		out[r.Failures+" "+r.Policy] = r
	}
	return out
}

func TestRestartOfQueries(t *testing.T) {
	rows := restartOf(t, "tpc", read(t, "stages/tpc.jsonl", Queries(false)))
	for key, want := range map[string]float64{
		"uniform cuts-1": .4, "uniform cuts-3": .5, "weibull cuts-1": .33, "weibull cuts-3": .42, "late cuts-1": .6,
	} {
		if r := rows[key]; r.Reduction < want || r.Overhead > MaxSlowdown {
			t.Errorf("%s: saves %.3f (want %g) and takes %.3f longer", key, r.Reduction, want, r.Overhead)
		}
	}
	for k := 1; k <= 5; k++ {
		if r := rows[fmt.Sprintf("uniform cuts-%d", k)]; r.Reduction > float64(k)/float64(k+1) {
			t.Errorf("%d cuts save %g, more than is possible", k, r.Reduction)
		}
	}
}

func TestRestartOfIterativeJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	jobs := Iterative(read(t, "stages/history.csv", History))
	rows := restartOf(t, "iterative", jobs)
	if r := rows["uniform cuts-2"]; r.Reduction < .6 {
		t.Errorf("two cuts save %.3f of %d runs", r.Reduction, r.Graphs)
	}
}
