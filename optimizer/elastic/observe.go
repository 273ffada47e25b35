package elastic

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model/throughput"
)

// Bounds of what one report can say.
const (
	// maxWindow of one report's speed, in minutes.
	maxWindow = 5
	// spike is how far a log speed may be off the mean of its size, twice the noise of a
	// minute; further ones count as so far. One wrong report must not move a job.
	spike = 2 * throughput.SampleSD
	// calm is the minutes after which the mean counts as known.
	calm = 2
)

// observe takes a valid report that is newer than all before.
func (s *running) observe(p Policy, r Report) {
	first := s.Last == nil
	minutes := 1.
	if !first {
		minutes = r.Time.Sub(s.Last.Time).Minutes()
	}
	window := minutes
	if r.Seconds > 0 {
		window = r.Seconds / 60
	}
	// Where the size changed since the last report, the window may hold both.
	steady := (first || r.Workers == s.Last.Workers && r.Servers == s.Last.Servers) &&
		(r.Servers == 0 || r.Servers == s.Plan.Servers.Replicas)
	if r.StepsPerSecond > 0 && steady {
		s.speed(r, min(window, minutes, maxWindow))
	}
	s.pace(r, min(minutes, maxWindow)*60)
	s.use(r)
	s.suspect(p, r)
	if !s.Pending.IsZero() && r.Workers >= s.Plan.Workers.Replicas && (r.Servers == 0 || r.Servers >= s.Plan.Servers.Replicas) {
		s.Pending = time.Time{} // all pods run
	}
	s.Reports++
	r.Pods = nil
	s.Last = &r
}

// speed adds a measured speed to those of its size.
func (s *running) speed(r Report, minutes float64) {
	if minutes <= 0 {
		return
	}
	log := math.Log(s.pushes(r))
	i := slices.IndexFunc(s.Speeds, func(v Speed) bool { return v.Workers == r.Workers })
	if i < 0 {
		if len(s.Speeds) >= maxSpeeds { // the size that was measured least tells least
			least := slices.MinFunc(s.Speeds, func(a, b Speed) int { return cmp.Compare(a.Minutes, b.Minutes) })
			s.Speeds = slices.DeleteFunc(s.Speeds, func(v Speed) bool { return v == least })
		}
		s.Speeds = append(s.Speeds, Speed{Workers: r.Workers, Minutes: minutes, Log: log})
		return
	}
	v := &s.Speeds[i]
	if v.Minutes >= calm {
		log = min(max(log, v.Log-spike), v.Log+spike)
	}
	v.Minutes = min(v.Minutes+minutes, maxMinutes)
	v.Log += (log - v.Log) * minutes / v.Minutes
}

// pushes a second of a report; rounds a second where workers share a kept batch.
func (s *running) pushes(r Report) float64 {
	if s.Job.GlobalBatch > 0 {
		return r.StepsPerSecond
	}
	return s.Job.Mode.Pushes(r.StepsPerSecond, r.Workers)
}

// pace counts pushes against progress, so that the work left is known in pushes.
func (s *running) pace(r Report, seconds float64) {
	progress, ok := s.progress(r)
	if !ok {
		return
	}
	if s.Last == nil || progress < s.FirstProgress { // begins, or begins again
		s.FirstProgress, s.Pushes = progress, 0
		return
	}
	if r.StepsPerSecond > 0 {
		s.Pushes += s.pushes(r) * seconds
	}
}

// progress is the share of the job that is done; false where its length is unknown.
// Samples that a report does not tell follow from its steps.
func (s *running) progress(r Report) (float64, bool) {
	j := s.Job
	switch {
	case j.TotalSamples > 0 && r.Samples > 0:
		return min(r.Samples/j.TotalSamples, 1), true
	case j.TotalSteps > 0:
		return min(float64(r.Step)/float64(j.TotalSteps), 1), true
	case j.TotalSamples > 0 && j.batch() > 0:
		samples := float64(r.Step) * j.batch()
		if j.Mode != Async && j.GlobalBatch == 0 {
			samples *= float64(max(r.Workers, 1))
		}
		return min(samples/j.TotalSamples, 1), true
	}
	return 0, false
}

// use takes the memory that pods used.
func (s *running) use(r Report) {
	x, ok := s.progress(r)
	if !ok {
		x = float64(r.Step)
	}
	for _, role := range []Role{Worker, Server} {
		var most float64
		for _, p := range r.Pods {
			if p.Role == role {
				most = max(most, p.Memory)
			}
		}
		if most > 0 {
			s.memory(role).Use.Observe(x, most)
		}
	}
}

// suspect counts hot servers and stragglers. A report that does not name a pod clears
// it.
func (s *running) suspect(p Policy, r Report) {
	if len(r.Pods) == 0 {
		return
	}
	var steps []float64
	for _, u := range r.Pods {
		if u.Role == Worker && u.StepSeconds > 0 {
			steps = append(steps, u.StepSeconds)
		}
	}
	slices.Sort(steps)
	hot, slow := s.Hot, s.Slow
	s.Hot, s.Slow = nil, nil
	for _, u := range r.Pods {
		if u.Role == Server && u.CPULimit > 0 && u.CPU >= p.HotShare*u.CPULimit {
			s.Hot = append(s.Hot, counted(hot, u.Name, u.CPU/u.CPULimit))
		}
		if len(steps) >= minStragglers && u.Role == Worker {
			if times := u.StepSeconds / steps[len(steps)/2]; times >= p.StragglerFactor {
				s.Slow = append(s.Slow, counted(slow, u.Name, times))
			}
		}
	}
	byName := func(a, b Suspect) int { return strings.Compare(a.Pod, b.Pod) }
	slices.SortFunc(s.Hot, byName)
	slices.SortFunc(s.Slow, byName)
}

// minStragglers: with fewer workers the median says little.
const minStragglers = 3

// counted is the pod with one more time.
func counted(before []Suspect, pod string, value float64) Suspect {
	i := slices.IndexFunc(before, func(v Suspect) bool { return v.Pod == pod })
	if i < 0 {
		return Suspect{Pod: pod, Times: 1, Value: value}
	}
	return Suspect{Pod: pod, Times: before[i].Times + 1, Value: value}
}

// notice takes a valid event that was not taken before.
func (s *running) notice(e Event) {
	if len(s.Events) >= maxEvents {
		s.Events = slices.Delete(s.Events, 0, 1)
	}
	s.Events = append(s.Events, e)
	switch e.Kind {
	case OutOfMemory:
		s.outOfMemory(e)
	case Evicted:
		if e.Time.After(s.Evicted) {
			s.Evicted = e.Time
		}
	case Pending:
		if s.Pending.IsZero() && e.Time.After(s.LastChange) {
			s.Pending = e.Time
		}
	case Restarted:
		// Counters may start again: what was counted against progress no longer fits.
		s.FirstProgress, s.Pushes = 1, 0
	}
}
