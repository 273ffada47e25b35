package stage

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGeneralPredictsUnseenJobs(t *testing.T) {
	jobs := queries(60)
	known, unseen := jobs[:50], jobs[50:]
	g, err := Fit(t.Context(), known, Options{Trees: 40})
	if err != nil {
		t.Fatal(err)
	}
	for name, predict := range map[string]func(Job) (*Forecast, error){
		"at submission": func(j Job) (*Forecast, error) { return g.Predict(j, nil) },
		"at start":      g.PredictStarted,
	} {
		t.Run(name, func(t *testing.T) {
			var errors [4]float64
			var n float64
			for _, job := range unseen {
				f, err := predict(job)
				if err != nil {
					t.Fatal(err)
				}
				for i, p := range f.Stages {
					s := job.Graph.Stages[i]
					errors[0] += math.Abs(p.Duration.LogMedian - math.Log(s.RuntimeSeconds()))
					errors[1] += math.Abs(p.TaskSeconds.LogMedian - math.Log(s.TaskSeconds))
					if i < 3 {
						errors[2] += math.Abs(p.OutputBytes.LogMedian-math.Log(s.ShuffleWriteBytes)) * 4 / 3
					} else if p.OutputBytes.Median() != 0 {
						t.Errorf("a stage that no other reads writes %g bytes", p.OutputBytes.Median())
					}
					errors[3] += math.Abs(p.EndSeconds-s.EndSeconds) / job.Graph.Stages[3].EndSeconds
					n++
				}
			}
			// A factor of e^4 lies between the smallest and the greatest input.
			for i, limit := range []float64{.35, .4, .45, .25} {
				if e := errors[i] / n; !(e < limit) {
					t.Errorf("error %d is %.3f, want below %g", i, e, limit)
				}
			}
		})
	}
}

func TestGeneralWithFinishedStages(t *testing.T) {
	jobs := queries(40)
	g, err := Fit(t.Context(), jobs[:39], Options{Trees: 20})
	if err != nil {
		t.Fatal(err)
	}
	job := jobs[39]
	f, err := g.Predict(job, func(id int) bool { return id < 2 })
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range f.Stages {
		s := job.Graph.Stages[i]
		switch {
		case i < 2 && (!p.Finished || p.EndSeconds != s.EndSeconds || math.Abs(p.OutputBytes.Median()/s.ShuffleWriteBytes-1) > 1e-9):
			t.Errorf("finished stage %d is %+v", i, p)
		case i >= 2 && (p.Finished || p.StartSeconds < f.Stages[1].EndSeconds || !(p.Duration.Scale > 0)):
			t.Errorf("stage %d to come is %+v", i, p)
		}
	}
	if ttl := f.TimeToLive(f.Stages[0]); math.Abs(ttl-(f.EndSeconds-f.Stages[0].EndSeconds)) > 1e-9 {
		t.Errorf("time to live is %g", ttl)
	}
}

// What a stage that reads a shuffle is estimated to read follows the run, so it must not
// change what is predicted at submission; nor must anything measured.
func TestSubmissionKnowsNothingOfTheRun(t *testing.T) {
	jobs := queries(30)
	g, err := Fit(t.Context(), jobs[:29], Options{Trees: 20})
	if err != nil {
		t.Fatal(err)
	}
	want, err := g.Predict(jobs[29], nil)
	if err != nil {
		t.Fatal(err)
	}
	job := jobs[29]
	job.Estimates = map[int]Estimate{0: job.Estimates[0], 1: job.Estimates[1], 2: {Bytes: 1e12, Rows: 1e10}}
	job.Graph.Stages = append(job.Graph.Stages[:0:0], job.Graph.Stages...)
	for i := range job.Graph.Stages {
		s := &job.Graph.Stages[i]
		s.InputBytes, s.ShuffleReadBytes, s.ShuffleWriteBytes, s.TaskSeconds, s.StartSeconds, s.EndSeconds = 1, 2, 3, 4, 5, 600
	}
	got, err := g.Predict(job, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("predictions at submission change with the run:\n%s", diff)
	}
}

func TestFitIsDeterministic(t *testing.T) {
	jobs := queries(20)
	at := func(seed uint64) *Forecast {
		g, err := Fit(t.Context(), jobs, Options{Trees: 10, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		f, err := g.Predict(jobs[3], nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if diff := cmp.Diff(at(1), at(1)); diff != "" {
		t.Errorf("the same seed differs:\n%s", diff)
	}
	if cmp.Equal(at(1), at(2)) {
		t.Error("another seed gives the same model")
	}
}

func TestFitErrors(t *testing.T) {
	if _, err := Fit(t.Context(), nil, Options{}); !errors.Is(err, ErrNoHistory) {
		t.Errorf("no jobs: %v", err)
	}
	if _, err := Fit(t.Context(), queries(2), Options{Trees: -1}); !errors.Is(err, ErrInput) {
		t.Errorf("-1 trees: %v", err)
	}
	idle := queries(1)
	for i := range idle[0].Graph.Stages {
		s := &idle[0].Graph.Stages[i]
		s.EndSeconds = s.StartSeconds
	}
	if _, err := Fit(t.Context(), idle, Options{}); !errors.Is(err, ErrNoHistory) {
		t.Errorf("no durations: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fit(ctx, queries(2), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// One job, even of one stage, makes a model.
	one := queries(1)
	one[0].Graph.Stages = one[0].Graph.Stages[:1]
	g, err := Fit(t.Context(), one, Options{Trees: 5})
	if err != nil {
		t.Fatal(err)
	}
	f, err := g.Predict(one[0], nil)
	if err != nil || !(f.EndSeconds > 0) {
		t.Errorf("one stage: %+v, %v", f, err)
	}
}

func TestCompared(t *testing.T) {
	jobs := queries(40)
	models, err := FitCompared(jobs[:39])
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range models {
		list, err := m.Predict(jobs[39], true)
		if err != nil {
			t.Fatal(err)
		}
		limit := map[string]float64{BoostedName: .5, RidgeName: .5, EstimatesName: 1.5, AverageName: 3}[m.Name]
		if e := math.Abs(list[0].TaskSeconds.LogMedian - math.Log(jobs[39].Graph.Stages[0].TaskSeconds)); !(e < limit) {
			t.Errorf("%s errs by %.2f, want below %g", m.Name, e, limit)
		}
	}
}
