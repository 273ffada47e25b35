package replay

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/model/runtime/bellamy"
	"github.com/karasu-project/karasu/model/runtime/c3o"
	"github.com/karasu-project/karasu/model/runtime/ernest"
	"github.com/karasu-project/karasu/model/runtime/structured"
)

// small returns a made-up table of contexts on three machine types, two of them of
// every size.
func small(job string, contexts int) Table {
	t := Table{Job: job}
	for i := range contexts {
		cores := []float64{4, 8, 16}[i%3]
		size := float64(4 + 2*i)
		h := predict.History{Context: predict.Context{
			Environment: "aws-emr", MachineType: []string{"a", "b", "c"}[i%3],
			Resources: model.Resources{VCPUs: cores, MemoryGiB: 4 * cores}, InputBytes: size * 1e9,
			Arguments: []predict.Argument{{Name: "k", Number: float64(1 + i%2)}},
		}}
		for _, x := range []int{2, 4, 6, 8, 10, 12} {
			for k := range 3 {
				s := 20 + size*40*float64(1+i%2)/cores*8/float64(x)
				h.Runs = append(h.Runs, predict.Observation{ScaleOut: x, RuntimeSeconds: s * (1 + .02*float64(k))})
			}
		}
		t.Histories = append(t.Histories, h)
	}
	return t
}

func smallConfig() Config {
	return Config{
		C3O: []Table{small("one", 5), small("two", 4)}, Bell: []Table{small("one", 1)},
		Models: []Model{
			{Learner: structured.New(Default, structured.Options{}), Import: load},
			{Learner: ernest.Learner{Relative: true}, Protocols: []string{Full, Filtered, Bell}},
			{Learner: c3o.Learner{}, Splits: 1, Protocols: []string{Points}},
			{Learner: bellamy.Learner{Variant: bellamy.Local}, Contexts: 1, Protocols: []string{Full}},
		},
		Draws: 1, BellDraws: 1, Splits: 2, Seed: 5,
	}
}

func TestSameOnAnyNumberOfWorkers(t *testing.T) {
	var reports [2][]byte
	for i, workers := range []int{1, 4} {
		c := smallConfig()
		c.Workers = workers
		last := 0
		c.Progress = func(done, total int) {
			if done != last+1 || done > total {
				t.Errorf("progress %d of %d after %d", done, total, last)
			}
			last = done
		}
		r, err := Run(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		if r.PretrainSeconds <= 0 || r.FinetuneMS <= 0 {
			t.Errorf("fit %g s, conditioning %g ms", r.PretrainSeconds, r.FinetuneMS)
		}
		r.WallSeconds, r.PretrainSeconds, r.FinetuneMS = 0, 0, 0
		if reports[i], err = json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			checkReport(t, r)
		}
	}
	if diff := cmp.Diff(string(reports[0]), string(reports[1])); diff != "" {
		t.Errorf("one worker and four differ:\n%s", diff)
	}
}

// checkReport wants all that was asked for.
func checkReport(t *testing.T, r *Report) {
	t.Helper()
	seen := map[string]bool{}
	for _, row := range r.Rows {
		seen[row.Protocol+" "+row.Split+" "+row.Model] = true
		for _, v := range []float64{row.MRE, row.MAE, row.MAPE, row.MRESE, row.MAESE, row.Coverage80} {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Errorf("row %+v", row)
			}
		}
		if row.Split == Interpolation && row.N < 2 || row.Model == "ernest-relative" && row.N == 0 {
			t.Errorf("impossible row %+v", row)
		}
	}
	for _, want := range []string{
		"c3o-full all default", "c3o-full interpolation default", "c3o-shared extrapolation default", "c3o-peers all default", "c3o-filtered extrapolation default",
		"bell interpolation ernest-relative", "c3o-splits all default", "c3o-points all c3o", "c3o-full interpolation bellamy-local",
	} {
		if !seen[want] {
			t.Errorf("no row of %s", want)
		}
	}
	if r.Coverage80 <= 0 || r.Coverage80 > 1 || len(r.Calibration) != len(Probabilities) {
		t.Errorf("coverage %g, calibration %v", r.Coverage80, r.Calibration)
	}
	deadlines := map[string]int{}
	for _, d := range r.Deadline {
		deadlines[d.Protocol]++
		for _, v := range []float64{d.Kept, d.KeptSE, d.AnswerKept, d.AnswerStated} {
			if !(v >= 0 && v <= 1) {
				t.Errorf("deadline %+v", d)
			}
		}
		contexts := d.Protocol == Full || d.Protocol == Filtered || d.Protocol == Shared || d.Protocol == Bell
		if contexts && (d.Answers == 0 || d.AnswerStated < d.Stated) || d.Runs == 0 {
			t.Errorf("deadline %+v", d)
		}
	}
	if len(deadlines) != len(Protocols)+1 || deadlines[Full] != len(Confidences) {
		t.Errorf("deadlines of %v", deadlines)
	}
	var b strings.Builder
	if err := r.WriteTable(&b); err != nil || !strings.Contains(b.String(), "bellamy-local") {
		t.Errorf("table %q, error %v", b.String(), err)
	}
}

// Known runs are of the target, tests are of scale-outs that are not known, inside
// or outside of their range as the split says.
func TestDraws(t *testing.T) {
	c := Config{}
	c.defaults()
	runs := small("one", 1).Histories[0].Runs
	for _, d := range c.draws(Full, "one", 0, runs) {
		known, low, high := map[int]bool{}, math.MaxInt, 0
		for _, k := range d.known {
			known[k.ScaleOut] = true
			low, high = min(low, k.ScaleOut), max(high, k.ScaleOut)
		}
		if len(known) != d.n || len(d.known) != d.n || len(d.test) == 0 {
			t.Fatalf("draw %+v", d)
		}
		for _, r := range d.test {
			inside := r.ScaleOut > low && r.ScaleOut < high
			if d.split != All && (known[r.ScaleOut] || inside != (d.split == Interpolation)) {
				t.Fatalf("%s, %d runs: tests %d nodes of %v", d.split, d.n, r.ScaleOut, d.known)
			}
		}
	}
}

func TestFilteredSharesNothing(t *testing.T) {
	table := small("one", 9)
	for i, h := range table.Histories {
		for _, o := range table.filtered(i) {
			if o.Context.MachineType == h.Context.MachineType || o.Context.InputBytes == h.Context.InputBytes ||
				o.Context.Arguments[0] == h.Context.Arguments[0] {
				t.Errorf("context %d is predicted from %+v", i, o.Context)
			}
		}
	}
}

func TestRunErrors(t *testing.T) {
	c := smallConfig()
	c.Bell = nil
	if _, err := Run(context.Background(), c); !errors.Is(err, ErrTables) {
		t.Errorf("without tables: %v", err)
	}
	c = smallConfig()
	c.Protocols = []string{"other"}
	if _, err := Run(context.Background(), c); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("unknown protocol: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, smallConfig()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestReadErrors(t *testing.T) {
	const header = "instance_count\tmachine_type\tslots\tmemory\tdata_size_MB\tk\tgross_runtime\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":        {"", "header"},
		"no column":    {"a\tb\n", "no column"},
		"not a number": {header + "2\tm\t16\t30000\tbig\t1\t100\n", "line 2: column data_size_MB"},
		"no runtime":   {header + "2\tm\t16\t30000\t100\t1\t0\n", "line 2: runtime"},
		"no nodes":     {header + "0\tm\t16\t30000\t100\t1\t9\n", "line 2: scale-out"},
		"short row":    {header + "2\tm\n", "wrong number of fields"},
	} {
		if _, err := ReadC3O("x", strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	for name, text := range map[string]string{"columns": "a,b\n", "nodes": "Nodes,Runtime\nx,1\n", "time": "Nodes,Runtime\n2,-5\n"} {
		if _, err := ReadBell("x", strings.NewReader(text)); err == nil {
			t.Errorf("Bell, %s: no error", name)
		}
	}
}

func FuzzReadC3O(f *testing.F) {
	f.Add("instance_count\tmachine_type\tslots\tmemory\tdata_size_MB\tk\tgross_runtime\n2\tm\t16\t30000\t100\t1\t100\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := ReadC3O("x", strings.NewReader(text))
		if err == nil {
			if err := predict.ValidateHistory(table.Histories); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The default stays near the figures of docs/predict.md, here on four contexts of two
// algorithms.
func TestDefaultOnC3O(t *testing.T) {
	c := Config{Models: Models()[:1], Protocols: []string{Full}, Contexts: 4, Draws: 2}
	all, _ := tables(t)
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, table := range all {
		if table.Job == "sort" || table.Job == "grep" {
			c.C3O = append(c.C3O, table)
		}
	}
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	sum, count := map[string]float64{}, map[string]float64{}
	for _, row := range r.Rows {
		if row.N <= 3 {
			sum[row.Split] += row.MRE
			count[row.Split]++
		}
	}
	for split, limit := range map[string]float64{All: 7, Interpolation: 3.5, Extrapolation: 4.5} {
		if got := sum[split] / count[split]; !(got <= limit) {
			t.Errorf("%s: %.2f%%, want at most %.1f%%", split, got, limit)
		}
	}
	if r.Coverage80 < .65 || r.Coverage80 > .92 {
		t.Errorf("80%% intervals hold %.1f%%", 100*r.Coverage80)
	}
}
