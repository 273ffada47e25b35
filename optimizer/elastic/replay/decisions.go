package replay

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/elastic"
)

// Timing is how long decisions take, in milliseconds.
type Timing struct {
	// OneJob is the median of Decide for one job among JointJobs, after a new report.
	OneJob float64 `json:"one_job"`
	// Joint is the median of Allocate for JointJobs, each with a new report.
	Joint     float64 `json:"joint"`
	JointJobs int     `json:"joint_jobs"`
}

// JointJobs is how many jobs are decided for together.
const JointJobs = 1000

// rounds of which the median counts.
const rounds = 9

// Fleet is a controller with jobs that have run for a while.
type Fleet struct {
	*elastic.Controller
	jobs    []elastic.Job
	cluster elastic.Cluster
	now     time.Time
	minute  int
}

// sizes at which each job has been, in units.
var sizes = []int{1, 2, 4, 8, 6}

// NewFleet starts so many jobs, whose knees differ.
func NewFleet(n int) (*Fleet, error) {
	c, err := elastic.New(elastic.DefaultPolicy())
	if err != nil {
		return nil, err
	}
	f := &Fleet{Controller: c, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), cluster: elastic.Cluster{CPU: float64(n) * 30}}
	for i := range n {
		j := elastic.Job{
			ID: fmt.Sprintf("job-%05d", i), Topic: model.Topic{Infrastructure: "aws", Framework: "tensorflow", Algorithm: "cnn"},
			Mode: elastic.Async, Batch: 64, TotalSamples: 1e9,
			Bounds:  elastic.Bounds{MaxWorkers: 14},
			Current: elastic.Plan{Workers: elastic.Group{Replicas: 1, Pod: elastic.Resources{CPU: 8, Memory: 8 << 30}}, Servers: elastic.Group{Replicas: 1}},
		}
		if _, err := c.Start(f.now, j, elastic.Knowledge{}, elastic.Cluster{}); err != nil {
			return nil, err
		}
		f.jobs = append(f.jobs, j)
	}
	for range 4 * len(sizes) {
		if err := f.Report(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Report sends a report of every job, a minute after the last.
func (f *Fleet) Report() error {
	f.now = f.now.Add(time.Minute)
	units := sizes[f.minute/4%len(sizes)]
	f.minute++
	for i, j := range f.jobs {
		knee := .5 + float64(i%40)/4
		speed := float64(units) / math.Hypot(1, float64(units)/knee)
		r := elastic.Report{
			Job: j.ID, Time: f.now, Step: int64(f.minute * 100), Samples: float64(f.minute) * 1e5, StepsPerSecond: speed, Seconds: 60,
			Workers: units, Servers: 1,
			Pods: []elastic.PodUsage{{Name: "worker-0", Role: elastic.Worker, Memory: 4 << 30, MemoryLimit: 8 << 30}},
		}
		if err := f.Observe(f.now, r); err != nil {
			return err
		}
	}
	return nil
}

// One decides for one job.
func (f *Fleet) One() error {
	_, err := f.Decide(f.now, f.jobs[f.minute%len(f.jobs)].ID, f.cluster)
	return err
}

// All decides for all jobs.
func (f *Fleet) All() error {
	_, err := f.Allocate(f.now, f.cluster)
	return err
}

// Decisions measures both; the clock returns seconds.
func Decisions(clock func() float64) (Timing, error) {
	f, err := NewFleet(JointJobs)
	if err != nil {
		return Timing{}, err
	}
	measure := func(do func() error) (float64, error) {
		var ms []float64
		for range rounds {
			if err := f.Report(); err != nil {
				return 0, err
			}
			begin := clock()
			if err := do(); err != nil {
				return 0, err
			}
			ms = append(ms, 1000*(clock()-begin))
		}
		slices.Sort(ms)
		return ms[rounds/2], nil
	}
	t := Timing{JointJobs: JointJobs}
	if t.OneJob, err = measure(f.One); err != nil {
		return t, err
	}
	t.Joint, err = measure(f.All)
	return t, err
}
