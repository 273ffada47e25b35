package brain

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/karasu-project/karasu/model"
	optimizer "github.com/karasu-project/karasu/optimizer/elastic"
)

const (
	// maxDescribed jobs are remembered; those unheard of for longest are forgotten. One
	// takes some hundred bytes, 10 KiB at most: names of 512 bytes.
	maxDescribed = 4096
	// Bounds that the master keeps to whatever it is told (NodeResourceLimit of dlrover
	// 0.6), where nobody set others.
	masterMaxWorkers = 60
	masterMaxServers = 15
	// masterInfrastructure and masterFramework are what a master without settings runs on:
	// it asks a Brain only for jobs with parameter servers, which are of TensorFlow.
	masterInfrastructure = "kubernetes"
	masterFramework      = "tensorflow"
	// aliasDigits of the hash of a job's name stand for its training model.
	aliasDigits = 12
)

// description is what a master told of a job besides its reports and events.
type description struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
	// Batch is the samples of a worker's step, Steps the job's global steps.
	Batch int64 `json:"batch,omitempty"`
	Steps int64 `json:"steps,omitempty"`
	// Epochs over a data set of Samples.
	Epochs  int64 `json:"epochs,omitempty"`
	Samples int64 `json:"samples,omitempty"`
	// ModelBytes of all variables together.
	ModelBytes int64 `json:"model_bytes,omitempty"`
	// Asked for by the user.
	Asked optimizer.Plan `json:"asked"`
	// Settings of this package, see settings.go.
	Settings settings `json:"settings"`

	// told is the plan that the master was told last.
	told optimizer.Plan
	// heard orders descriptions by when they were last used.
	heard uint64
}

// planned is what the job will run on, as far as known: what the user asks for, which the
// master keeps to, or what the master was told.
func (d description) planned() optimizer.Plan {
	if d.Asked.Workers.Replicas > 0 {
		return d.Asked
	}
	return d.told
}

// job is the job that a description is of, running on so many workers and servers of a plan
// or, if it has none, on what was asked for.
func (d description) job(id string, running optimizer.Plan, alias func(string) string) optimizer.Job {
	s := d.Settings
	j := optimizer.Job{
		ID: id, Mode: cmp.Or(s.Mode, optimizer.Async), MachineType: s.MachineType,
		Topic: model.Topic{
			Infrastructure: cmp.Or(s.Infrastructure, masterInfrastructure), Framework: cmp.Or(s.Framework, masterFramework), Algorithm: s.Algorithm,
		},
		Batch: int(d.Batch), TotalSteps: d.Steps, TotalSamples: float64(d.Epochs) * float64(d.Samples),
		Current: d.Asked,
	}
	if j.Topic.Algorithm == "" {
		hash := alias(cmp.Or(d.Name, id))
		j.Topic.Algorithm = "job-" + hash[:min(len(hash), aliasDigits)]
	}
	if running.Workers.Replicas > 0 {
		j.Current.Workers.Replicas, j.Current.Servers.Replicas = running.Workers.Replicas, running.Servers.Replicas
	}
	j.Bounds = optimizer.Bounds{
		MinWorkers: s.MinWorkers, MaxWorkers: cmp.Or(s.MaxWorkers, max(masterMaxWorkers, s.MinWorkers, j.Current.Workers.Replicas)),
		MinServers: s.MinServers, MaxServers: cmp.Or(s.MaxServers, max(masterMaxServers, s.MinServers, j.Current.Servers.Replicas)),
	}
	if !j.Mode.Servers() {
		j.Current.Servers, j.Bounds.MinServers, j.Bounds.MaxServers = optimizer.Group{}, 0, 0
	}
	return j
}

// descriptions by job. The zero value is empty.
type descriptions struct {
	mu    sync.Mutex
	jobs  map[string]description
	clock uint64
}

// get returns what is known of a job; ok is false where that is nothing.
func (s *descriptions) get(id string) (d description, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok = s.jobs[id]
	return d, ok
}

// update changes a description. It is as before where change fails.
func (s *descriptions) update(id string, change func(*description) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.jobs[id]
	if err := change(&d); err != nil {
		return err
	}
	if s.jobs == nil {
		s.jobs = map[string]description{}
	}
	if !ok && len(s.jobs) >= maxDescribed {
		s.forgetOld()
	}
	s.clock++
	d.heard = s.clock
	s.jobs[id] = d
	return nil
}

// forgetOld makes room: the older half goes, so that it is rarely needed.
func (s *descriptions) forgetOld() {
	ids := slices.SortedFunc(maps.Keys(s.jobs), func(a, b string) int { return cmp.Compare(s.jobs[a].heard, s.jobs[b].heard) })
	for _, id := range ids[:len(ids)/2] {
		delete(s.jobs, id)
	}
}

func (s *descriptions) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.jobs, id)
}
