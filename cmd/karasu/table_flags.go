package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/runtable"
)

// tableFlags say how to read a run table where it is not imported, as those of import
// csv do.
type tableFlags struct {
	Infrastructure string   `help:"Value for a table without that column." placeholder:"SLUG"`
	Framework      string   `help:"Value for a table without that column." placeholder:"SLUG"`
	Algorithm      string   `help:"Value for a table without that column." placeholder:"SLUG"`
	Job            string   `help:"Value for a table without that column." placeholder:"NAME"`
	Dataset        string   `help:"Value for a table without that column." placeholder:"NAME"`
	Map            []string `help:"A column of the table and the documented one that it is, such as node_count=nodes (see: karasu import csv --help)." placeholder:"THEIRS=OURS"`
	Preset         string   `help:"scout for the public scout table, none to recognise nothing. Default: by the header." placeholder:"NAME"`
}

// defaults are the values of columns that the table lacks.
func (f tableFlags) defaults() map[string]string {
	out := map[string]string{}
	for column, value := range map[string]string{
		"infrastructure": f.Infrastructure, "framework": f.Framework, "algorithm": f.Algorithm, "job": f.Job, "dataset": f.Dataset,
	} {
		if value != "" {
			out[column] = value
		}
	}
	return out
}

// given names the flags that were given.
func (f tableFlags) given() []string {
	var out []string
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"--infrastructure", f.Infrastructure != ""}, {"--framework", f.Framework != ""}, {"--algorithm", f.Algorithm != ""}, {"--job", f.Job != ""},
		{"--dataset", f.Dataset != ""}, {"--map", len(f.Map) > 0}, {"--preset", f.Preset != ""},
	} {
		if flag.given {
			out = append(out, flag.name)
		}
	}
	return out
}

// read reads all runs of a table; any bad row is an error.
func (f tableFlags) read(a *app, path string) ([]model.Run, error) {
	mapping, err := runtable.ParseMap(f.Map)
	if err != nil {
		return nil, usagef("--map: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, usagef("--runs must name a table, which %s is not: it is a folder", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, usagef("--runs: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	known := catalog.Builtin()
	report, err := ingest.Collect(a.ctx, runtable.New(file, runtable.Options{
		Name: path, Map: mapping, Defaults: f.defaults(), Preset: f.Preset,
		CheckMachine: func(infrastructure, machineType string) error {
			_, err := known.Lookup(infrastructure, machineType)
			return err
		},
	}))
	switch {
	case errors.Is(err, runtable.ErrOptions):
		return nil, &usageError{err}
	case err != nil:
		return nil, err
	case len(report.Runs) == 0 && report.Bad == 0:
		return nil, fmt.Errorf("%s holds no run", path)
	}
	return report.Runs, report.Err()
}
