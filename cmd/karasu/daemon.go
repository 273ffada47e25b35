package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/store/private"
)

// stopTimeout bounds how long a stopping daemon waits for running requests.
const stopTimeout = 20 * time.Second

type daemonCmd struct {
	LogLevel  *slog.Level     `help:"DEBUG, INFO, WARN or ERROR. Default: that of config.toml." placeholder:"LEVEL"`
	LogFormat *node.LogFormat `help:"text or json. Default: that of config.toml." placeholder:"FORMAT"`
}

// Help implements kong's interface for examples.
func (daemonCmd) Help() string {
	return `Logs to standard error. SIGTERM or Ctrl-C stops it cleanly; a second one at once.

Example:

  karasu daemon --log-level DEBUG`
}

// Run starts the node and waits for the end of the context.
func (c daemonCmd) Run(a *app) error {
	keepPrivate()
	h, err := a.home()
	if err != nil {
		return err
	}
	config, err := node.LoadConfig(h)
	if err != nil {
		return err
	}
	logger := c.logger(a, config.Log)
	app, err := node.New(a.ctx, h, config, node.Options{Version: version(), Logger: logger})
	if errors.Is(err, private.ErrInUse) {
		return fmt.Errorf("%w; does a daemon run on this home already?", err)
	}
	if err != nil {
		return err
	}
	if err := app.Start(a.ctx); err != nil {
		return errors.Join(fmt.Errorf("start: %w", err), c.stop(app))
	}
	logger.InfoContext(a.ctx, "ready", "organisation", config.Organisation, "peer", app.Network().ID().String(), "socket", h.Socket(), "version", version())
	<-a.ctx.Done()
	logger.Info("stopping")
	if err := c.stop(app); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	logger.Info("stopped")
	return nil
}

// stop shuts down first and cancels afterwards: running requests may end.
func (daemonCmd) stop(app *node.App) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return app.Stop(ctx)
}

func (c daemonCmd) logger(a *app, config node.LogConfig) *slog.Logger {
	if c.LogLevel != nil {
		config.Level = *c.LogLevel
	}
	if c.LogFormat != nil {
		config.Format = *c.LogFormat
	}
	options := &slog.HandlerOptions{Level: config.Level}
	if config.Format == node.LogJSON {
		return slog.New(slog.NewJSONHandler(a.stderr, options))
	}
	return slog.New(slog.NewTextHandler(a.stderr, options))
}
