package stage

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
)

// diamond of four stages: 0 and 1 before 2, which is before 3.
func diamond(slots int) *compiled {
	c, err := compile(&Job{Slots: slots, Graph: model.StageGraph{Stages: []model.Stage{
		{ID: 0}, {ID: 1}, {ID: 2, Parents: []int{0, 1}}, {ID: 3, Parents: []int{2}},
	}}})
	if err != nil {
		panic(err)
	}
	return c
}

func TestSchedule(t *testing.T) {
	for name, c := range map[string]struct {
		slots int
		work  []work
		now   float64
		want  []float64
	}{
		"critical path": {0, []work{{duration: 10}, {duration: 20}, {duration: 5}, {duration: 1}}, 0,
			[]float64{10, 20, 25 + submitSeconds, 26 + 2*submitSeconds}},
		"slots are few": {2, []work{{taskSeconds: 10}, {taskSeconds: 10}, {taskSeconds: 2}, {taskSeconds: 2}}, 0,
			[]float64{5, 10, 11 + submitSeconds, 12 + 2*submitSeconds}},
		"narrow stages run beside each other": {4, []work{{taskSeconds: 10, width: 1}, {taskSeconds: 30}, {}, {}}, 0,
			[]float64{10, 10, 10 + submitSeconds, 10 + 2*submitSeconds}},
		"finished stages stay": {2, []work{{done: true, end: 3}, {done: true, end: 4}, {duration: 7, taskSeconds: 14}, {}}, 6,
			[]float64{3, 4, 13, 13 + submitSeconds}},
	} {
		t.Run(name, func(t *testing.T) {
			got := diamond(c.slots).schedule(c.work, c.now)
			for i, want := range c.want {
				if math.Abs(got.end[i]-want) > 1e-9 {
					t.Errorf("stage %d ends at %g, want %g", i, got.end[i], want)
				}
			}
		})
	}
}

// However much there is to do: nothing ends before its parents, and the slots are not
// used more than they can be.
func TestScheduleProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		slots := rapid.IntRange(1, 10).Draw(t, "slots")
		job := Job{Slots: slots}
		var w []work
		var total float64
		for i := range n {
			s := model.Stage{ID: i}
			for p := range i {
				if rapid.IntRange(0, 5).Draw(t, "edge") == 0 {
					s.Parents = append(s.Parents, p)
				}
			}
			job.Graph.Stages = append(job.Graph.Stages, s)
			w = append(w, work{duration: rapid.Float64Range(0, 100).Draw(t, "duration"),
				taskSeconds: rapid.Float64Range(0, 1000).Draw(t, "task"), width: rapid.IntRange(0, 20).Draw(t, "width")})
			total += w[i].taskSeconds
		}
		c, err := compile(&job)
		if err != nil {
			t.Fatal(err)
		}
		got := c.schedule(w, 0)
		var last float64
		for i := range w {
			last = max(last, got.queued[i])
			if got.end[i] < got.start[i] || got.end[i] < got.critical[i] || got.end[i] < got.queued[i] {
				t.Fatalf("stage %d from %g to %g, critical path %g, queue %g", i, got.start[i], got.end[i], got.critical[i], got.queued[i])
			}
			for _, p := range c.parents[i] {
				if got.queued[i] < got.queued[p] || got.critical[i] < got.critical[p] {
					t.Fatalf("stage %d ends before its parent %d", i, p)
				}
			}
		}
		if last < total/float64(slots)-1e-6 {
			t.Fatalf("%g s of tasks end on %d slots at %g s", total, slots, last)
		}
	})
}
