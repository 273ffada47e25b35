package elastic

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fleet starts jobs with knees and lets each report at a few sizes.
func fleet(t testing.TB, knees ...float64) *Controller {
	t.Helper()
	c := newController(t)
	for i, knee := range knees {
		j := training(fmt.Sprintf("job-%02d", i))
		j.TotalSamples = 1e8
		j.Current.Servers.Pod.CPU = 0
		start(t, c, j, Knowledge{})
		samples := 0.
		for m := 1; m <= 30; m++ {
			n := []int{1, 3, 6}[m/10%3]
			samples += law(n, knee) * 60 * 16
			observe(t, c, report(float64(m), j.ID, n, law(n, knee), samples))
		}
	}
	return c
}

func allocate(t testing.TB, c *Controller, minute float64, cluster Cluster) (workers []int) {
	t.Helper()
	all, err := c.Allocate(minutes(minute), cluster)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		workers = append(workers, d.Plan.Workers.Replicas)
	}
	return workers
}

func TestJointAllocationGoesWhereItGainsMost(t *testing.T) {
	got := allocate(t, fleet(t, .4, 2, 6), 31, Cluster{CPU: 100 * UnitCores})
	if !slices.IsSorted(got) || got[0] > 2 || got[2] < 2*got[1]-1 {
		t.Errorf("%v workers for knees of .4, 2 and 6 units", got)
	}
	// With room for 9 units, the job that gains most gets most.
	few := allocate(t, fleet(t, .4, 2, 6), 31, Cluster{CPU: 9 * UnitCores})
	if sum := few[0] + few[1] + few[2]; sum > 9 || few[2] <= few[0] || few[0] < 1 {
		t.Errorf("%v workers where 9 have room", few)
	}
}

func TestMoreRoomNeverMakesAPlanSmaller(t *testing.T) {
	knees := []float64{.5, 1, 2, 3, 4, 5, 8, 12}
	var before []int
	for units := len(knees); units < 80; units += 3 {
		got := allocate(t, fleet(t, knees...), 31, Cluster{CPU: float64(units) * UnitCores})
		sum := 0
		for i, n := range got {
			sum += n
			if before != nil && n < before[i] {
				t.Errorf("%d units: job %d has %d workers, %d with less room", units, i, n, before[i])
			}
		}
		if sum > units {
			t.Errorf("%v are more than %d workers", got, units)
		}
		before = got
	}
}

func TestWaitingJobsGetRoom(t *testing.T) {
	c := fleet(t, 5, 5, 5)
	full := Cluster{CPU: 24 * UnitCores}
	wide := allocate(t, c, 31, full)
	for m := 32; m < 45; m++ {
		for i, n := range wide {
			s, _ := c.Job(fmt.Sprintf("job-%02d", i))
			observe(t, c, report(float64(m), s.Job.ID, n, law(n, 5), s.Last.Samples+law(n, 5)*960))
		}
	}
	full.Waiting = 10
	tight := allocate(t, c, 45, full)
	if sum(tight) >= sum(wide) || sum(tight) > 16 {
		t.Errorf("%v workers with 10 jobs waiting, %v without", tight, wide)
	}
	if small := allocate(t, c, 60, Cluster{CPU: 1}); slices.Min(small) < 1 {
		t.Errorf("%v: every job keeps a worker", small)
	}
}

func sum(v []int) (n int) {
	for _, x := range v {
		n += x
	}
	return n
}

func TestDecideForOneLeavesTheOthersAlone(t *testing.T) {
	c := fleet(t, 6, 6)
	before, _ := c.Job("job-01")
	d, err := c.Decide(minutes(31), "job-00", Cluster{CPU: 5 * UnitCores})
	if err != nil {
		t.Fatal(err)
	}
	after, _ := c.Job("job-01")
	if d.Plan.Workers.Replicas != 4 || !cmp.Equal(before.Plan, after.Plan) {
		t.Errorf("%d workers, want what the other's worker leaves of 5; the other %+v", d.Plan.Workers.Replicas, after.Plan)
	}
	for _, bad := range []Cluster{{CPU: -1}, {CPU: math.NaN()}, {Memory: math.Inf(1)}, {Waiting: -1}} {
		if _, err := c.Decide(minutes(32), "job-00", bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func TestMemoryOfTheClusterBoundsGrowth(t *testing.T) {
	c := fleet(t, 6)
	// The plan has a worker and a server of 8 GiB each.
	d, err := c.Decide(minutes(31), "job-00", Cluster{Memory: 32 * gibibyte})
	if err != nil {
		t.Fatal(err)
	}
	if d.Plan.Workers.Replicas != 3 {
		t.Errorf("%d workers, 3 fit beside the server", d.Plan.Workers.Replicas)
	}
}

func TestSameCallsSameDecisions(t *testing.T) {
	knees := []float64{3, 1, 7, .3, 2, 2, 2}
	a, b := fleet(t, knees...), fleet(t, knees...)
	x, _ := a.Allocate(minutes(31), Cluster{CPU: 200})
	y, _ := b.Allocate(minutes(31), Cluster{CPU: 200})
	if diff := cmp.Diff(x, y); diff != "" {
		t.Error(diff)
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		name        string
		bounds      Bounds
		cores       float64
		globalBatch int
		want        []int
	}{
		{"units of 8 cores", Bounds{MaxWorkers: 4}, 8, 0, []int{1, 2, 3, 4}},
		{"small workers in gangs", Bounds{MinWorkers: 8, MaxWorkers: 48, WorkerMultiple: 8}, 1, 0, []int{8, 16, 24, 32, 40, 48}},
		{"about one a unit", Bounds{MaxWorkers: 20}, 2, 0, []int{1, 4, 8, 12, 16, 20}},
		{"few small workers", Bounds{MaxWorkers: 3}, 1, 0, []int{1, 2, 3}},
		{"large workers", Bounds{MaxWorkers: 3}, 64, 0, []int{1, 2, 3}},
		{"kept batch", Bounds{MaxWorkers: 12}, 8, 24, []int{1, 2, 3, 4, 6, 8, 12}},
		{"minimum is not of the gang", Bounds{MinWorkers: 3, MaxWorkers: 9, WorkerMultiple: 4}, 8, 0, []int{4, 8}},
		{"coarse above 16", Bounds{MinWorkers: 15, MaxWorkers: 25}, 8, 0, []int{15, 16, 19, 22, 25}},
	} {
		j := training("a")
		j.Mode, j.Bounds, j.GlobalBatch, j.Current.Workers.Pod.CPU = Sync, c.bounds, c.globalBatch, c.cores
		if diff := cmp.Diff(c.want, j.sizes()); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
	j := training("a")
	j.Bounds = Bounds{}
	if n := len(j.sizes()); n > 40 || n < 20 {
		t.Errorf("%d sizes without bounds", n)
	}
}
