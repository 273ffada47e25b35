package node

import (
	"context"
	"time"

	"github.com/karasu-project/karasu/node/elastic"
)

// newElastic builds what decides for training jobs, with those that the private store keeps,
// and where it is asked for the endpoint that they report to.
func (a *App) newElastic(ctx context.Context) (err error) {
	logger := a.logger.With("component", "elastic")
	a.elastic, err = elastic.New(ctx, elastic.Options{
		Store: a.private, Cluster: a.config.Elastic.cluster(), Now: time.Now, Logger: logger,
	})
	if err == nil && a.config.Elastic.HTTP != "" {
		a.elasticHTTP = elastic.NewServer(a.config.Elastic.HTTP, a.elastic, logger)
	}
	return err
}

// Elastic decides for training jobs.
func (a *App) Elastic() *elastic.Service { return a.elastic }
