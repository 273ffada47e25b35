package node

import (
	"net"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/brain"
)

// newBrain builds what DLRover masters ask, where the configuration asks for it.
func (a *App) newBrain() *brain.Server {
	if a.config.Elastic.Brain == "" {
		return nil
	}
	return brain.NewServer(a.config.Elastic.Brain, brain.New(brain.Options{
		Jobs: a.elastic, Now: time.Now, Logger: a.logger.With("component", "brain"),
		Alias: func(name string) string {
			return a.publisher.Pseudonyms.Workload(model.Workload{Job: name})
		},
	}))
}

// BrainAddr is where DLRover masters are served; nil where they are not.
func (a *App) BrainAddr() net.Addr {
	if a.brain == nil {
		return nil
	}
	return a.brain.Addr()
}
