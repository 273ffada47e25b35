package elastic

import "time"

// Kind of a decision.
type Kind string

// Kinds of decisions.
const (
	Start  Kind = "start"
	Grow   Kind = "grow"
	Shrink Kind = "shrink"
	// Memory changes the memory of pods, before or after they run out of it.
	Memory Kind = "memory"
	// HotServer gives an overloaded parameter server more cores, or adds one.
	HotServer Kind = "hot-server"
	// AskLess asks for no more than the cluster has room for.
	AskLess Kind = "pending"
	// Replace starts stragglers again elsewhere.
	Replace Kind = "replace"
	// None leaves everything as it is; its reason says why.
	None Kind = "none"
)

// Decision is a whole plan, why, and from what.
type Decision struct {
	Job string `json:"job"`
	// Number counts the job's decisions that changed something, from 1 at its start.
	Number int       `json:"number"`
	Time   time.Time `json:"time"`
	Kind   Kind      `json:"kind"`
	// Plan is everything that the job should run on from now, Before what it should
	// until now.
	Plan   Plan `json:"plan"`
	Before Plan `json:"before"`
	// Reason is one sentence for people.
	Reason string `json:"reason"`
	// Evidence are the figures that the reason rests on, in the order of their weight.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Changes says whether the plan differs from what the job should run on until now.
func (d Decision) Changes() bool { return d.Kind != None }

// Evidence is one figure behind a decision.
type Evidence struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// Unit is empty for shares and counts.
	Unit string `json:"unit,omitempty"`
}

// Cluster is what is left of a cluster for the jobs of one controller.
type Cluster struct {
	// CPU (cores) and Memory (bytes) that the controller's jobs may use together,
	// including what they use now; 0 is no limit.
	CPU    float64 `json:"cpu,omitempty"`
	Memory float64 `json:"memory,omitempty"`
	// Waiting jobs could not start for want of room: those that run should make some.
	Waiting int `json:"waiting,omitempty"`
}
