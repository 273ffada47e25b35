package main

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model/runtime/replay"
)

type benchPredictCmd struct {
	Data      string   `help:"Folder with c3o/*.tsv and bell/*.csv." placeholder:"DIR" type:"path" required:""`
	Models    []string `help:"Models to measure; the default is always among them. Default: all." placeholder:"NAME"`
	Protocols []string `help:"Of c3o-full, c3o-filtered, c3o-shared, c3o-peers, bell, c3o-splits and c3o-points. Default: all." placeholder:"NAME"`
	Contexts  int      `help:"Predict at most so many contexts of a table; 0 is all." default:"0"`
	Seed      uint64   `help:"Seed of everything random." default:"1"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (benchPredictCmd) Help() string {
	return `Predicts runtimes in contexts that were left out, after n runs there, with every model.
Errors are in percent of the runtime.

Examples:

  karasu bench predict --data measurements
  karasu bench predict --data measurements --protocols c3o-full --models ernest,bell --contexts 10`
}

// Run replays and prints the tables.
func (c benchPredictCmd) Run(a *app) error {
	config, err := c.config(a)
	if err != nil {
		return err
	}
	report, err := replay.Run(a.ctx, config)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(a.stdout, report)
	}
	return report.WriteTable(a.stdout)
}

func (c benchPredictCmd) config(a *app) (replay.Config, error) {
	config := replay.Config{Models: replay.Models(), Protocols: c.Protocols, Contexts: c.Contexts, Seed: c.Seed, Progress: progress(a, "contexts")}
	if c.Contexts < 0 {
		return config, usagef("--contexts must be 0 or more: %d", c.Contexts)
	}
	for _, p := range c.Protocols {
		if !slices.Contains(replay.Protocols, p) {
			return config, usagef("--protocols: %q, want one of %s", p, strings.Join(replay.Protocols, ", "))
		}
	}
	if err := c.choose(&config); err != nil {
		return config, err
	}
	var err error
	if config.C3O, err = replay.LoadC3O(c.Data); err != nil {
		return config, missingData(err)
	}
	if config.Bell, err = replay.LoadBell(c.Data); err != nil {
		return config, missingData(err)
	}
	return config, nil
}

// choose keeps the models asked for, and the default, which is the first.
func (c benchPredictCmd) choose(config *replay.Config) error {
	if len(c.Models) == 0 {
		return nil
	}
	var names []string
	for _, m := range config.Models {
		names = append(names, m.Learner.Name())
	}
	for _, name := range c.Models {
		if !slices.Contains(names, name) {
			return usagef("--models: %q, want one of %s", name, strings.Join(names, ", "))
		}
	}
	first := names[0]
	config.Models = slices.DeleteFunc(config.Models, func(m replay.Model) bool {
		return m.Learner.Name() != first && !slices.Contains(c.Models, m.Learner.Name())
	})
	return nil
}

func missingData(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("--data: %w", err)
	}
	return err
}
