package stage

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model"
)

// query makes a job of two scans, a join and an aggregate. Task time is bytes over a rate,
// durations are task time over the slots plus a part that is fixed.
func query(i int, random *rand.Rand) Job {
	const slots = 8
	j := Job{Slots: slots, Hosts: 2, Group: fmt.Sprint("q", i), Estimates: map[int]Estimate{}}
	noise := func() float64 { return math.Exp(.05 * random.NormFloat64()) }
	var now float64
	add := func(operators []string, parents []int, in, out float64) {
		id := len(j.Graph.Stages)
		s := model.Stage{
			ID: id, Operators: operators, Parents: parents, Name: "secret plan " + fmt.Sprint(i),
			TaskSeconds: (.5 + in/50e6) * noise(), ShuffleWriteBytes: out, StartSeconds: now,
		}
		if len(parents) == 0 {
			s.InputBytes = in
			j.Estimates[id] = Estimate{Bytes: in, Rows: in / 100}
		} else {
			s.ShuffleReadBytes = in
		}
		now += .2 + s.TaskSeconds/slots
		s.EndSeconds = now
		j.Graph.Stages = append(j.Graph.Stages, s)
	}
	a, b := math.Exp(18+4*random.Float64()), math.Exp(16+4*random.Float64())
	add([]string{"FilterExec", "FileSourceScanExec", "AcmeSecretExec"}, nil, a, a/4*noise())
	add([]string{"FileSourceScanExec"}, nil, b, b/2*noise())
	add([]string{"SortMergeJoinExec"}, []int{0, 1}, a/4+b/2, (a/4+b/2)/10*noise())
	add([]string{"HashAggregateExec"}, []int{2}, (a/4+b/2)/10, 0)
	return j
}

func queries(n int) []Job {
	random := rand.New(rand.NewPCG(4, 2))
	jobs := make([]Job, n)
	for i := range jobs {
		jobs[i] = query(i, random)
	}
	return jobs
}

func TestJobErrors(t *testing.T) {
	stages := func(list ...model.Stage) Job { return Job{Graph: model.StageGraph{Stages: list}} }
	cycle := stages(model.Stage{ID: 0}, model.Stage{ID: 1, Parents: []int{0}})
	cycle.Broadcasts = map[int][]int{0: {1}}
	absent := stages(model.Stage{ID: 0})
	absent.Broadcasts = map[int][]int{0: {7}}
	estimate := stages(model.Stage{ID: 0})
	estimate.Estimates = map[int]Estimate{0: {Bytes: math.NaN()}}
	slots := stages(model.Stage{ID: 0})
	slots.Slots = -1
	for name, c := range map[string]struct {
		job  Job
		want string
	}{
		"no stages": {Job{}, "no stages"},
		"parent":    {stages(model.Stage{ID: 0, Parents: []int{3}}), "3"},
		"cycle":     {cycle, "cycle"},
		"broadcast": {absent, "stage 0 waits for stage 7"},
		"estimate":  {estimate, "estimate of stage 0"},
		"slots":     {slots, "-1 slots"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Fit(t.Context(), []Job{c.job}, Options{})
			if !errors.Is(err, ErrInput) || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%v, want ErrInput with %q", err, c.want)
			}
		})
	}
}

func TestEstimateSlots(t *testing.T) {
	job := Job{Graph: model.StageGraph{Stages: []model.Stage{
		{ID: 0, EndSeconds: 20, TaskSeconds: 150},
		{ID: 1, EndSeconds: 1, TaskSeconds: 100}, // too short to tell
	}}}
	if n := EstimateSlots([]Job{job}); n != 8 {
		t.Errorf("%d slots, want 8", n)
	}
	if n := EstimateSlots(nil); n != 0 {
		t.Errorf("%d slots without jobs, want 0", n)
	}
}

func TestFillSlots(t *testing.T) {
	on := func(hosts, slots int, tasks float64) Job {
		return Job{Hosts: hosts, Slots: slots, Graph: model.StageGraph{Stages: []model.Stage{{EndSeconds: 10, TaskSeconds: 10 * tasks}}}}
	}
	jobs := []Job{on(2, 0, 5), on(2, 0, 8), on(4, 0, 16), on(4, 99, 1), on(0, 0, 0)}
	FillSlots(jobs)
	for i, want := range []int{8, 8, 16, 99, 0} {
		if jobs[i].Slots != want {
			t.Errorf("job %d: %d slots, want %d", i, jobs[i].Slots, want)
		}
	}
}

func TestFromExecution(t *testing.T) {
	graph := queries(1)[0].Graph
	e := &model.Execution{
		Origin: "spark/a/1", Graph: &graph, MainClass: "com.example.Job", InputBytes: 7e9,
		Cluster: model.Cluster{Hosts: 3, MaxExecutors: 6, ExecutorCores: 4},
	}
	j, err := FromExecution(e)
	if err != nil {
		t.Fatal(err)
	}
	if j.Slots != 24 || j.Hosts != 3 || j.DataSize != 7e9 || j.Group == "" || len(j.Graph.Stages) != 4 {
		t.Errorf("%+v", j)
	}
	e.Graph = nil
	if _, err := FromExecution(e); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "spark/a/1") {
		t.Errorf("without stages: %v", err)
	}
}
