package node

import (
	"context"
	"time"

	"github.com/karasu-project/karasu/node/elastic"
)

// newElastic returns what decides for training jobs, with those that the private store keeps.
func (a *App) newElastic(ctx context.Context) (*elastic.Service, error) {
	return elastic.New(ctx, elastic.Options{
		Store: a.private, Cluster: a.config.Elastic.cluster(), Now: time.Now, Logger: a.logger.With("component", "elastic"),
	})
}

// Elastic decides for training jobs.
func (a *App) Elastic() *elastic.Service { return a.elastic }
