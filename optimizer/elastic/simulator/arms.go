package simulator

import (
	"github.com/karasu-project/karasu/optimizer/elastic"
)

// Arms, in the order of the report.
const (
	Manual         = "manual"
	ManualInformed = "manual-informed"
	ManualOver     = "manual-over"
	ManualUnder    = "manual-under"
	Oracle         = "oracle"
	DLRover        = "dlrover-rules"
	DLRoverNoisy   = "dlrover-rules-noisy"
	KarasuAlone    = "karasu-alone"
	KarasuOthers   = "karasu-others"
	KarasuNoCaps   = "karasu-peers-no-caps"
	KarasuPeers    = "karasu-peers"
	KarasuOwn      = "karasu-own"
)

// Arms lists all of them:
//
//   - manual: what users of a real cluster request, whatever the job;
//     manual-informed: the best static size times the spread of these requests;
//     manual-over and manual-under: twice and half of that
//   - oracle: the best static size and the memory needed, known beforehand
//   - dlrover-rules: seeing the servers' use as it is; noisy: a share of it
//   - karasu-alone: knows of no other job; karasu-others: of other networks only;
//     karasu-peers: of peers' jobs, also of the same network, but none of it on the
//     machine type in question; no-caps: without the caps, from which machine types'
//     factors come; karasu-own: of own jobs, but not of the very job
var Arms = []string{Manual, ManualInformed, ManualOver, ManualUnder, Oracle, DLRover, DLRoverNoisy, KarasuAlone, KarasuOthers, KarasuNoCaps, KarasuPeers, KarasuOwn}

// newArm makes an arm for one simulation.
func newArm(name string, curves []*truth) (arm, error) {
	switch name {
	case Manual:
		return static{func(j *job) int { return j.asked }, asksMemory}, nil
	case ManualInformed:
		return static{func(j *job) int { return j.informed }, asksMemory}, nil
	case ManualOver:
		return static{func(j *job) int { return j.over }, asksMemory}, nil
	case ManualUnder:
		return static{func(j *job) int { return j.under }, asksMemory}, nil
	case Oracle:
		return static{func(j *job) int { return j.oracle }, knowsMemory}, nil
	case DLRover, DLRoverNoisy:
		return newRules(name == DLRoverNoisy), nil
	}
	return newControlled(knowing(name, curves))
}

// knowing returns what an arm knows when a job of a curve starts.
func knowing(name string, curves []*truth) func(*truth) elastic.Knowledge {
	all := make([]elastic.Summary, len(curves))
	for i, t := range curves {
		all[i] = summarise(t, name == KarasuOwn)
		if name == KarasuNoCaps {
			all[i].Cap, all[i].CapSD = 0, 0
		}
	}
	known := map[*truth]elastic.Knowledge{}
	for _, t := range curves {
		var k elastic.Knowledge
		for i, o := range curves {
			if tells(name, t, o) {
				k.Jobs = append(k.Jobs, all[i])
			}
		}
		known[t] = k
	}
	return func(t *truth) elastic.Knowledge { return known[t] }
}

// tells says whether an arm knows of the other job when one starts.
func tells(name string, t, other *truth) bool {
	same := t.Network == other.Network
	switch name {
	case KarasuOthers:
		return !same
	case KarasuPeers, KarasuNoCaps:
		return !same || t.MachineType != other.MachineType
	case KarasuOwn:
		return t != other
	}
	return false
}
