package stage

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/karasu-project/karasu/model"
)

// recurringRuns have three stages, two of them of one call site, whose durations grow with
// data^slope and fall with hosts^-.6.
func recurringRuns(n int, slope float64) []Job {
	random := rand.New(rand.NewPCG(3, 9))
	runs := make([]Job, n)
	for i := range runs {
		data, hosts := math.Exp(3*random.Float64()), 2+random.IntN(8)
		runs[i] = recurringRun3(data, hosts, slope, math.Exp(.03*random.NormFloat64()))
	}
	return runs
}

func recurringRun3(data float64, hosts int, slope, noise float64) Job {
	j := Job{DataSize: data, Hosts: hosts}
	var now float64
	for i, base := range []float64{10, 40, 20} {
		s := model.Stage{ID: 3 * i, Name: []string{"read", "map", "map"}[i], StartSeconds: now, Query: -1}
		if i > 0 {
			s.Parents = []int{3 * (i - 1)}
		}
		d := base * math.Pow(data, slope) * math.Pow(float64(hosts), -.6) * noise
		now += d
		s.EndSeconds, s.TaskSeconds, s.ShuffleWriteBytes = now, d*float64(hosts), 1e6*data
		j.Graph.Stages = append(j.Graph.Stages, s)
	}
	return j
}

func TestRecurring(t *testing.T) {
	r, err := FitRecurring(t.Context(), recurringRuns(40, .9))
	if err != nil {
		t.Fatal(err)
	}
	if runs, templates := r.Runs(); runs != 40 || templates != 3 {
		t.Errorf("%d runs of %d templates, want 40 and 3", runs, templates)
	}
	for _, at := range []struct {
		data  float64
		hosts int
	}{{2, 4}, {8, 8}, {15, 3}, {30, 12}} { // the last is outside of the history
		truth := recurringRun3(at.data, at.hosts, .9, 1)
		f, err := r.Predict(truth, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range f.Stages {
			s := truth.Graph.Stages[i]
			if e := p.Duration.Median()/s.RuntimeSeconds() - 1; math.Abs(e) > .15 {
				t.Errorf("%g data on %d hosts: stage %d errs by %.3f", at.data, at.hosts, i, e)
			}
			if e := (p.EndSeconds - s.EndSeconds) / truth.Graph.Stages[2].EndSeconds; math.Abs(e) > .15 {
				t.Errorf("%g data on %d hosts: the end of stage %d errs by %.3f", at.data, at.hosts, i, e)
			}
			if wrote := p.OutputBytes.Median(); (i < 2) != (wrote > 0) {
				t.Errorf("stage %d writes %g bytes", i, wrote)
			}
		}
	}
}

// With few runs the slope is the prior's.
func TestRecurringFromOneRun(t *testing.T) {
	r, err := FitRecurring(t.Context(), []Job{recurringRun3(4, 4, .9, 1)})
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Predict(recurringRun3(8, 4, .9, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	first := recurringRun3(4, 4, .9, 1).Graph.Stages[0]
	if want := first.RuntimeSeconds() * math.Pow(2, .7); math.Abs(f.Stages[0].Duration.Median()/want-1) > 1e-3 {
		t.Errorf("twice the data takes %g s, want %g s", f.Stages[0].Duration.Median(), want)
	}
}

// Without data size and hosts past runs count by their age alone.
func TestRecurringOfUnknownConditions(t *testing.T) {
	runs := recurringRuns(20, .9)
	for i := range runs {
		runs[i] = recurringRun3(5, 5, .9, math.Exp(.02*float64(i%3-1)))
		runs[i].DataSize, runs[i].Hosts = 0, 0
	}
	runs = append(runs, recurringRun3(5, 5, .9, 1)) // one of them is known
	r, err := FitRecurring(t.Context(), runs)
	if err != nil {
		t.Fatal(err)
	}
	want := recurringRun3(5, 5, .9, 1).Graph.Stages[1].RuntimeSeconds()
	for _, job := range []Job{runs[0], runs[20]} {
		f, err := r.Predict(job, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Stages[1].Duration.Median(); math.Abs(got/want-1) > .02 {
			t.Errorf("%g s, want %g s", got, want)
		}
	}
}

func TestRecurringWithFinishedStages(t *testing.T) {
	r, err := FitRecurring(t.Context(), recurringRuns(40, .9))
	if err != nil {
		t.Fatal(err)
	}
	job := recurringRun3(6, 5, .9, 1)
	before, err := r.Predict(job, nil)
	if err != nil {
		t.Fatal(err)
	}
	const late = 50
	job.Graph.Stages[0].EndSeconds += late
	job.Graph.Stages = append(job.Graph.Stages, model.Stage{ID: 7, Name: "new", Parents: []int{6}})
	after, err := r.Predict(job, func(id int) bool { return id == 0 })
	if err != nil {
		t.Fatal(err)
	}
	if moved := after.Stages[2].EndSeconds - before.Stages[2].EndSeconds; math.Abs(moved-late) > 3 {
		t.Errorf("the end moves by %g s, want %d s", moved, late)
	}
	if p := after.Stages[3]; p.Duration.Positive || p.StartSeconds != after.Stages[2].EndSeconds {
		t.Errorf("a stage that never ran is %+v", p)
	}
}

func TestRecurringErrors(t *testing.T) {
	if _, err := FitRecurring(t.Context(), nil); !errors.Is(err, ErrNoHistory) {
		t.Errorf("no runs: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := FitRecurring(ctx, recurringRuns(1, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	r, err := FitRecurring(t.Context(), recurringRuns(2, 1))
	if err != nil {
		t.Fatal(err)
	}
	other := Job{Graph: model.StageGraph{Stages: []model.Stage{{ID: 0, Name: "other"}}}}
	if _, err := r.Predict(other, nil); !errors.Is(err, ErrNoHistory) {
		t.Errorf("another job: %v", err)
	}
	if _, err := r.Predict(Job{}, nil); !errors.Is(err, ErrInput) {
		t.Errorf("no stages: %v", err)
	}
	if _, err := r.Simple(other, "guess"); err != nil {
		t.Errorf("a stage that never ran: %v", err)
	}
	if _, err := r.Simple(recurringRun3(1, 1, 1, 1), "guess"); !errors.Is(err, ErrInput) {
		t.Errorf("rule: %v", err)
	}
}

func TestSimple(t *testing.T) {
	runs := []Job{recurringRun3(1, 4, 1, 1), recurringRun3(2, 4, 1, 1), recurringRun3(4, 4, 1, 1)}
	r, err := FitRecurring(t.Context(), runs)
	if err != nil {
		t.Fatal(err)
	}
	unit := runs[0].Graph.Stages[0].RuntimeSeconds()
	for rule, want := range map[string]float64{LastName: 4, ScaledName: 4 * math.Pow(2, .7), MeanName: 7. / 3, LinearName: 8} {
		got, err := r.Simple(recurringRun3(8, 4, 1, 1), rule)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got[0]/unit/want-1) > 1e-3 {
			t.Errorf("%s: %g, want %g", rule, got[0]/unit, want)
		}
	}
}
