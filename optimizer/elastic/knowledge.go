package elastic

import (
	"fmt"
	"math"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/throughput"
)

// Knowledge is what is known of other jobs when one starts.
type Knowledge struct {
	// Jobs that ran, own ones and peers'.
	Jobs []Summary `json:"jobs,omitempty"`
	// Factors of machine types, by which caps carry over from one to the other, one list
	// an author. Those that the caps of Jobs tell are found without.
	Factors [][]throughput.Factor `json:"factors,omitempty"`
}

// Summary is what a job leaves behind: descriptors and coefficients, no names.
type Summary struct {
	// Own says that it was a job of this organisation.
	Own         bool            `json:"own,omitempty"`
	Topic       model.Topic     `json:"topic"`
	MachineType string          `json:"machine_type,omitempty"`
	Mode        throughput.Mode `json:"mode"`
	Batch       int             `json:"batch,omitempty"`
	GlobalBatch int             `json:"global_batch,omitempty"`
	// WorkerCores is the cores of one worker.
	WorkerCores float64 `json:"worker_cores,omitempty"`
	// Knee is where the speed-up bends, in units of 8 worker cores, and KneeSD the
	// standard deviation of its logarithm; 0 is unknown.
	Knee   float64 `json:"knee,omitempty"`
	KneeSD float64 `json:"knee_sd,omitempty"`
	// Cap is the most pushes a second that one parameter server would take, and CapSD
	// the standard deviation of its logarithm; 0 is unknown.
	Cap   float64 `json:"cap,omitempty"`
	CapSD float64 `json:"cap_sd,omitempty"`
	// WorkerMemory and ServerMemory are the most that one pod used, in bytes.
	WorkerMemory float64 `json:"worker_memory,omitempty"`
	ServerMemory float64 `json:"server_memory,omitempty"`
	// Workers that it ended with, and Servers.
	Workers int `json:"workers,omitempty"`
	Servers int `json:"servers,omitempty"`
	// Reports that it rests on.
	Reports int `json:"reports,omitempty"`
}

// Validate says which field cannot be.
func (s Summary) Validate() error {
	if err := s.Topic.Validate(); err != nil {
		return fmt.Errorf("summary of a job: %w: %w", err, ErrInvalid)
	}
	if err := s.Mode.Validate(); err != nil {
		return fmt.Errorf("summary of a job: %w: %w", err, ErrInvalid)
	}
	if len(s.MachineType) > model.MaxName {
		return fmt.Errorf("summary of a job: machine type is longer than %d bytes: %w", model.MaxName, ErrInvalid)
	}
	for _, f := range []struct {
		name        string
		value, most float64
	}{
		{"batch", float64(s.Batch), math.MaxInt32}, {"global_batch", float64(s.GlobalBatch), math.MaxInt32},
		{"worker_cores", s.WorkerCores, MaxCores}, {"knee", s.Knee, 1e6}, {"knee_sd", s.KneeSD, 100},
		{"cap", s.Cap, maxStepsPerSecond}, {"cap_sd", s.CapSD, 100},
		{"worker_memory", s.WorkerMemory, MaxBytes}, {"server_memory", s.ServerMemory, MaxBytes},
		{"workers", float64(s.Workers), MaxReplicas}, {"servers", float64(s.Servers), MaxReplicas},
		{"reports", float64(s.Reports), math.MaxInt32},
	} {
		if !(f.value >= 0 && f.value <= f.most) {
			return fmt.Errorf("summary of a job: %s must be between 0 and %g: %g: %w", f.name, f.most, f.value, ErrInvalid)
		}
	}
	return nil
}
