package elastic

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// silent is how old the last report may be: about a job that says nothing, nothing is
// known.
const silent = 10 * time.Minute

// size changes the number of workers towards the target of the joint allocation, where
// that pays for the pause.
func (d *draft) size(c *candidate, free Cluster, waiting int) {
	s := d.s
	switch {
	case s.Last == nil || len(s.Speeds) == 0:
		d.none("no speed was reported yet")
	case since(d.now, s.Last.Time) > silent:
		d.none("no report since %s", round(d.now.Sub(s.Last.Time)))
	case c.target > c.at:
		d.grow(c, free)
	case c.target < c.at:
		d.shrink(c, waiting)
	default:
		d.none("%s is the size that pays", workers(s.sizes[c.at]))
	}
}

// change is what a resize would bring.
type change struct {
	from, to           int // rungs
	gain               float64
	gainSD             float64
	j                  float64 // gain of ln speed - kappa ln size
	before, after      float64 // seconds left
	elasticity         float64
	known              bool
	fromUnits, toUnits float64
}

func (d *draft) change(c *candidate, to int) change {
	s := d.s
	ladder, b := s.rungs(), s.posterior()
	x := change{from: c.at, to: to, fromUnits: ladder.Units[c.at], toUnits: ladder.Units[to]}
	log := s.log(to) - s.log(c.at)
	_, sd := b.LogSpeedup(x.fromUnits, x.toUnits)
	x.gain, x.gainSD = math.Expm1(log), sd
	x.j = log - d.policy.Kappa*math.Log(x.toUnits/x.fromUnits)
	x.before, x.known = s.secondsLeft(d.now, c.at)
	x.after = x.before / math.Exp(log)
	x.elasticity = ladder.Elasticity(b, to)
	return x
}

// evidence of a resize.
func (x change) evidence(s *running) []Evidence {
	b := s.posterior()
	knee, sd := b.LogKnee()
	out := []Evidence{
		{"speed-up", math.Exp(math.Log1p(x.gain)), ""}, {"speed-up, standard deviation of the logarithm", x.gainSD, ""},
		{"time left before", x.before, "s"}, {"time left after", x.after, "s"},
		{"units before", x.fromUnits, "units"}, {"units after", x.toUnits, "units"},
		{"elasticity of speed at the new size", x.elasticity, ""},
		{"knee", math.Exp(knee), "units"}, {"knee, standard deviation of the logarithm", sd, ""},
	}
	if log, sd, ok := b.LogCap(); ok {
		out = append(out, Evidence{"most pushes a second at any size", math.Exp(log), "pushes/s"}, Evidence{"most pushes, standard deviation of the logarithm", sd, ""})
	}
	for _, v := range s.Speeds {
		out = append(out, Evidence{fmt.Sprintf("measured at %s over %.0f min", workers(v.Workers), v.Minutes), math.Exp(v.Log), "pushes/s"})
	}
	return out
}

func (d *draft) grow(c *candidate, free Cluster) {
	s, p := d.s, d.policy
	wait := p.Cooldown
	if s.Changes == 0 {
		wait = p.FirstCooldown
	}
	target := s.fits(c.at, c.target, free)
	if d.now.Before(s.CeilingUntil) {
		for target > c.at && s.sizes[target] > s.Ceiling {
			target--
		}
	}
	switch {
	case since(d.now, s.LastChange) < wait:
		d.none("the last change was %s ago, the next may come after %s", round(since(d.now, s.LastChange)), wait)
		return
	case since(d.now, s.Evicted) < p.Cooldown:
		d.none("pods were evicted %s ago: no time to ask for more", round(since(d.now, s.Evicted)))
		return
	case target == c.at && c.target > c.at:
		d.none("%s would pay, but the cluster has no room", workers(s.sizes[c.target]))
		return
	}
	x := d.change(c, target)
	from, to := s.sizes[c.at], s.sizes[target]
	saves := x.before - x.after
	switch {
	case x.gain < p.GrowGain:
		d.none("%s would be %.0f%% faster; %.0f%% pay for a change", workers(to), 100*x.gain, 100*p.GrowGain)
	case saves < p.GrowSaves.Seconds():
		d.none("%s would save %.0f s; %.0f pay for a change", workers(to), saves, p.GrowSaves.Seconds())
	case x.toUnits/x.fromUnits-1 < p.GrowSize:
		d.none("%s are too few more to pay for a change", workers(to))
	case x.j < p.GrowJ:
		d.none("%s would be %.0f%% faster, but for too many cores", workers(to), 100*x.gain)
	case !d.again(from, to):
	default:
		d.resize(Grow, to, fmt.Sprintf("%s instead of %d: %.0f%% faster, saves %s", workers(to), from, 100*x.gain, round(seconds(saves))), x.evidence(s)...)
	}
}

// fits is the largest rung up to the target whose additional pods have room.
func (s *running) fits(at, target int, free Cluster) int {
	for target > at {
		more := s.sizes[target] - s.Plan.Workers.Replicas
		if s.cores(more) <= free.CPU && float64(more)*s.Plan.Workers.Pod.Memory <= free.Memory {
			break
		}
		target--
	}
	return target
}

func (d *draft) shrink(c *candidate, waiting int) {
	s, p := d.s, d.policy
	x := d.change(c, c.target)
	from, to := s.sizes[c.at], s.sizes[c.target]
	starved := waiting > 0 && x.toUnits <= p.ShrinkStarved*x.fromUnits
	pays := x.j >= p.GrowJ+p.ShrinkPause.Seconds()/max(x.before, 1) && x.fromUnits/x.toUnits >= p.ShrinkSize && -x.gain <= p.ShrinkLoss
	switch {
	case since(d.now, s.LastChange) < p.ShrinkCooldown:
		d.none("the last change was %s ago, the next may come after %s", round(since(d.now, s.LastChange)), p.ShrinkCooldown)
	case x.known && x.before <= p.ShrinkLeft.Seconds():
		d.none("%s left: too little to change anything", round(seconds(x.before)))
	case !starved && !pays:
		d.none("%s would do, but do not pay for a change", workers(to))
	case !d.again(from, to):
	case starved:
		d.resize(Shrink, to, fmt.Sprintf("%s instead of %d make room for %d that wait: %.0f%% slower", workers(to), from, waiting, -100*x.gain), x.evidence(s)...)
	default:
		d.resize(Shrink, to, fmt.Sprintf("%s instead of %d: only %.0f%% slower", workers(to), from, -100*x.gain), x.evidence(s)...)
	}
}

func seconds(s float64) time.Duration {
	return time.Duration(min(s, maxSeconds) * float64(time.Second))
}

// again says whether a resize may be decided: the first time always, the next times only
// with new reports and after twice as long as the time before. So the number of resizes
// of a job grows with the logarithm of its time, whatever it reports.
func (d *draft) again(from, to int) bool {
	s := d.s
	i := slices.IndexFunc(s.Tried, func(t Tried) bool { return t.From == from && t.To == to })
	if i < 0 {
		if len(s.Tried) >= maxTried {
			d.none("%d resizes were tried: no more follow", len(s.Tried))
			return false
		}
		return true
	}
	t := s.Tried[i]
	wait := d.policy.Cooldown << min(t.Times, maxDoublings)
	if since(d.now, t.Last) < wait || s.Reports <= t.Reports {
		d.none("going from %d to %d was decided %s ago: not again on the same evidence before %s", from, to, round(since(d.now, t.Last)), wait)
		return false
	}
	return true
}

// maxDoublings of the time between equal resizes: 600 s x 2^16 is more than a year.
const maxDoublings = 16

// resize ends the draft with another number of workers.
func (d *draft) resize(k Kind, to int, reason string, evidence ...Evidence) {
	s := d.s
	from := s.Plan.Workers.Replicas
	d.plan.Workers.Replicas = to
	i := slices.IndexFunc(s.Tried, func(t Tried) bool { return t.From == from && t.To == to })
	if i < 0 && len(s.Tried) < maxTried {
		s.Tried = append(s.Tried, Tried{From: from, To: to})
		i = len(s.Tried) - 1
	}
	if i >= 0 {
		s.Tried[i].Times++
		s.Tried[i].Last, s.Tried[i].Reports = d.now, s.Reports
	}
	s.LastChange = d.now
	s.Changes++
	d.decide(k, reason, evidence...)
}
