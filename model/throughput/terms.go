package throughput

import (
	"fmt"
	"math"
)

// Term is a part of the time of a worker's step. Times add up in their squares,
//
//	T^2 = sum of coefficient x feature,
//
// which fits measured parameter-server training better than their plain sum, a line or
// the universal scalability law: the parts overlap, and the largest one rules.
type Term int

// Terms, after Wang et al. (DLRover, arXiv 2304.01468, section 4.2), with w workers and
// p servers; what is unknown counts as 1.
const (
	// Constant: 1.
	Constant Term = iota
	// Compute: (samples of a worker's step / cores of a worker)^2.
	Compute
	// Update of the parameters: (w / (p x cores of a server))^2; without servers (w - 1)^2,
	// the latency of a ring.
	Update
	// Synchronisation: (w / p x seconds to send the model)^2; without servers
	// (2 (w - 1) / w x seconds to send the model)^2.
	Synchronisation
	// Embedding look-up: (w x samples / p x seconds to send one sample's rows)^2.
	Embedding
	Terms = 5
)

// String names the term.
func (t Term) String() string {
	switch t {
	case Constant:
		return "constant"
	case Compute:
		return "compute"
	case Update:
		return "update"
	case Synchronisation:
		return "synchronisation"
	case Embedding:
		return "embedding look-up"
	}
	return fmt.Sprintf("term %d", int(t))
}

// Setting is what a job runs on, as far as speed depends on it. 0 is unknown.
type Setting struct {
	Workers, Servers int
	// WorkerCores and ServerCores of one pod.
	WorkerCores, ServerCores float64
	// Batch is the samples of a worker's step.
	Batch float64
	// ModelBytes are sent by a push, EmbeddingBytes are looked up for one sample.
	ModelBytes, EmbeddingBytes float64
	// Bandwidth in bytes a second.
	Bandwidth float64
}

// Validate says which field cannot be.
func (s Setting) Validate() error {
	if s.Workers < 1 || s.Servers < 0 {
		return fmt.Errorf("setting: workers must be at least 1 and servers not negative: %d and %d: %w", s.Workers, s.Servers, ErrInvalid)
	}
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"worker cores", s.WorkerCores}, {"server cores", s.ServerCores}, {"batch", s.Batch},
		{"model bytes", s.ModelBytes}, {"embedding bytes", s.EmbeddingBytes}, {"bandwidth", s.Bandwidth},
	} {
		if !(f.value >= 0 && f.value <= 1e18) {
			return fmt.Errorf("setting: %s must be between 0 and 1e18: %g: %w", f.name, f.value, ErrInvalid)
		}
	}
	return nil
}

// features of the setting, by Term.
func (m Mode) features(s Setting) [Terms]float64 {
	w, p := float64(s.Workers), float64(max(s.Servers, 1))
	batch, width := known(s.Batch), known(s.Bandwidth)
	var f [Terms]float64
	f[Constant] = 1
	f[Compute] = batch / known(s.WorkerCores)
	if m.Servers() {
		f[Update] = w / (p * known(s.ServerCores))
		f[Synchronisation] = w / p * known(s.ModelBytes) / width
		f[Embedding] = w * batch / p * known(s.EmbeddingBytes) / width
	} else {
		f[Update] = w - 1
		f[Synchronisation] = 2 * (w - 1) / w * known(s.ModelBytes) / width
	}
	for i := range f {
		f[i] *= f[i]
	}
	return f
}

func known(v float64) float64 {
	if v == 0 {
		return 1
	}
	return v
}

// stepSeconds for coefficients in squared seconds.
func stepSeconds(c, f [Terms]float64) float64 {
	var sum float64
	for i := range c {
		sum += c[i] * f[i]
	}
	return math.Sqrt(sum)
}
