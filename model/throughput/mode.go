package throughput

import (
	"errors"
	"fmt"
)

// ErrInvalid is wrapped by every error about a value that cannot be.
var ErrInvalid = errors.New("invalid")

// Mode says how workers agree on the parameters. Speeds of different modes are never
// compared: their steps are different things.
type Mode string

// Modes of training.
const (
	// Sync: parameter servers wait for all workers; the global step counts rounds.
	Sync Mode = "sync"
	// Async: parameter servers take pushes as they come; the global step counts pushes.
	Async Mode = "async"
	// AllReduce: no parameter servers; the global step counts rounds.
	AllReduce Mode = "allreduce"
)

// Validate names the modes there are.
func (m Mode) Validate() error {
	switch m {
	case Sync, Async, AllReduce:
		return nil
	}
	return fmt.Errorf("mode must be %s, %s or %s: %q: %w", Sync, Async, AllReduce, m, ErrInvalid)
}

// Servers says whether the mode has parameter servers.
func (m Mode) Servers() bool { return m != AllReduce }

// Pushes turns the rate of the global step into pushes a second of workers.
func (m Mode) Pushes(stepsPerSecond float64, workers int) float64 {
	if m == Async {
		return stepsPerSecond
	}
	return stepsPerSecond * float64(workers)
}
