package stage

import (
	"slices"
)

// Task times are easier to predict than durations, which also hold the time that tasks
// wait for slots. So durations are predicted last, with what the predicted task times and
// outputs say: how long a stage takes in a queue for the slots, and what else runs then.

// chainWidth is the number of features that duration has besides the others.
const chainWidth = 6

// chain returns n x chainWidth. task are seconds, output bytes by position.
func (c *compiled) chain(task, output []float64) []float64 {
	n := len(c.stages)
	w := make([]work, n)
	var total float64
	for i := range w {
		w[i] = work{duration: task[i] / float64(max(1, c.Slots)), taskSeconds: task[i], width: c.stages[i].Tasks}
		total += task[i]
	}
	t := c.schedule(w, 0)
	for i := range t.start { // in the queue, a stage starts when its parents have ended
		t.start[i] = 0
		for _, p := range c.parents[i] {
			t.start[i] = max(t.start[i], t.queued[p])
		}
	}
	started, ended := sums(t.start, task), sums(t.queued, task)
	x := make([]float64, 0, n*chainWidth)
	for i := range w {
		var read float64
		for _, p := range c.shuffles[i] {
			read += output[p]
		}
		beside := max(0, started.below(t.queued[i])-ended.below(t.start[i])-task[i])
		x = append(x, logAmount(read), logAmount(1000*task[i]), logAmount(output[i]),
			logAmount(1000*(t.queued[i]-t.start[i])), logAmount(1000*beside), logAmount(total))
	}
	return x
}

// cumulated amounts by rising time.
type cumulated struct{ at, sum []float64 }

func sums(at, amount []float64) cumulated {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case at[a] < at[b]:
			return -1
		case at[a] > at[b]:
			return 1
		}
		return 0
	})
	c := cumulated{sum: []float64{0}}
	for k, i := range order {
		c.at = append(c.at, at[i])
		c.sum = append(c.sum, c.sum[k]+amount[i])
	}
	return c
}

// below is the sum of amounts whose time is before that.
func (c cumulated) below(time float64) float64 {
	k, _ := slices.BinarySearch(c.at, time)
	return c.sum[k]
}

// beside appends columns to a table of n rows.
func beside(a []float64, da int, b []float64, db int) []float64 {
	n := len(a) / da
	out := make([]float64, 0, len(a)+len(b))
	for i := range n {
		out = append(out, a[i*da:(i+1)*da]...)
		out = append(out, b[i*db:(i+1)*db]...)
	}
	return out
}
