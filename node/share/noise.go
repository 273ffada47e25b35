package share

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
)

// NoiseScale is the scale of the Laplace noise on every shared log runtime: ln 2 over
// epsilon; 0 is none.
//
// What is shared of a configuration is the median of its log runtimes. A run that took
// up to twice or half as long moves that median by at most ln 2, which is its
// sensitivity, and no other median. So what leaves is at most e^epsilon times as likely
// for one runtime as for the other: metric differential privacy (Chatzikokolakis et al.
// 2013), where a factor of f between runtimes counts as log2 f of these steps. Centring,
// the level and the support model are made of the noisy medians and cost nothing more.
//
// It is a promise about one value in one revision, and no more than that:
//
//   - A median that changed is drawn anew, so k revisions spend k epsilon. One that did
//     not keeps its draw: publishing it again tells nothing.
//   - A runtime model has draws of its own, and spends epsilon once more.
//   - A workload's runs together are spread over its configurations; that all of them
//     took longer is hidden by the shape, which has no level, and not by the noise.
//   - Which configurations ran, how often and with what outcome, input sizes, arguments
//     and days carry no noise. That a run exists is therefore not hidden. Utilisation
//     does not leave at all while epsilon is above 0.
func (p Policy) NoiseScale() float64 {
	if p.Epsilon == 0 {
		return 0
	}
	return math.Ln2 / p.Epsilon
}

// laplace returns a draw of the unit Laplace distribution that is always the same
// for the same labels, so that republishing does not average the noise away.
func (p Pseudonymizer) laplace(labels ...string) float64 {
	bits := binary.BigEndian.Uint64(p.mac(append([]string{"noise"}, labels...)...)[:8]) >> 11
	u := (float64(bits)+0.5)/(1<<53) - 0.5 // uniform in (-1/2, 1/2)
	return -math.Copysign(math.Log1p(-2*math.Abs(u)), u)
}

// noise returns the noise for a log runtime. Its draw depends on all that it is for: the
// scale, or two policies would tell the value by the ratio of their noise; and the value
// itself, or two values would tell their difference exactly. Values count as equal to
// six digits, so that the last digit of a sum draws no new noise.
func (p Pseudonymizer) noise(scale, logRuntime float64, labels ...string) float64 {
	return scale * p.laplace(append(labels, fmt.Sprintf("%.9g %.6f", scale, logRuntime))...)
}

// addNoise adds the policy's noise to every log runtime and centres again.
func addNoise(s *model.Summary, p Pseudonymizer, scale float64) {
	if scale == 0 {
		return
	}
	s.NoiseScale = scale
	for i := range s.Points {
		if pt := &s.Points[i]; pt.Observed() {
			counts := fmt.Sprint(pt.OK, " ", pt.Timeout)
			pt.LogRuntime += p.noise(scale, s.Level+pt.LogRuntime, s.Pseudonym, pt.Configuration.String(), counts)
		}
	}
	center(s)
}

// blur replaces the runs of each context and scale-out by their median with the
// policy's noise on its logarithm, as many as there were. The same runs always get
// the same noise. Without noise nothing changes.
func blur(history []predict.History, topic model.Topic, p Pseudonymizer, scale float64) {
	if scale == 0 {
		return
	}
	low, high := math.Log(model.MinRuntime.Seconds()), math.Log(model.MaxRuntime.Seconds())
	for i, h := range history {
		var runs []predict.Observation
		for _, s := range predict.Summarise(h.Runs) {
			log := math.Log(s.MedianSeconds)
			log += p.noise(scale, log, "runtime", topic.String(), fmt.Sprintf("%+v", h.Context), fmt.Sprint(s.ScaleOut, " ", s.Repeats))
			seconds := math.Exp(min(max(log, low), high))
			for range s.Repeats {
				runs = append(runs, predict.Observation{ScaleOut: s.ScaleOut, RuntimeSeconds: seconds})
			}
		}
		history[i].Runs = runs
	}
}
