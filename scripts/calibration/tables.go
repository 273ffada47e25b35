package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
	"github.com/karasu-project/karasu/optimizer/search/replay"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/runtable"
)

// table is one run table to replay.
type table struct {
	name       string
	runs       []model.Run
	candidates []search.Candidate
}

func load(ctx context.Context, scout, c3o string) ([]table, error) {
	runs, err := readScout(ctx, scout)
	if err != nil {
		return nil, err
	}
	tables := []table{{name: "scout", runs: runs}}
	if c3o != "" {
		if runs, err = readC3O(c3o); err != nil {
			return nil, err
		}
		tables = append(tables, table{name: "c3o", runs: runs})
	}
	for i := range tables {
		if tables[i].candidates, err = candidates(tables[i].runs); err != nil {
			return nil, err
		}
	}
	return tables, nil
}

func (t table) outcomes(ctx context.Context, scenarios []replay.Scenario, seed uint64, sets int) (*replay.Outcomes, error) {
	return replay.RunOutcomes(ctx, replay.Config{
		Runs: t.runs, Candidates: t.candidates, Scenarios: scenarios, Seed: seed, SeedSets: sets,
		Methods:  []replay.Method{{Name: "evidence", New: func() search.Method { return search.NewEvidence() }}},
		Baseline: replay.Method{Name: "cherrypick", New: func() search.Method { return search.NewCherryPick() }},
	})
}

func readScout(ctx context.Context, path string) ([]model.Run, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	report, err := ingest.Collect(ctx, runtable.New(f, runtable.Options{
		Name: path, Defaults: map[string]string{"infrastructure": "aws-ec2"},
	}))
	if err != nil {
		return nil, err
	}
	return report.Runs, report.Err()
}

// readC3O reads the five jobs of the C3O tables. A context is all columns that say
// neither what ran nor how long.
func readC3O(dir string) ([]model.Run, error) {
	var runs []model.Run
	for _, job := range []string{"grep", "kmeans", "pagerank", "sgd", "sort"} {
		path := filepath.Join(dir, job+".tsv")
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		reader := csv.NewReader(f)
		reader.Comma = '\t'
		rows, err := reader.ReadAll()
		_ = f.Close() // it was only read
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for i, row := range rows[min(1, len(rows)):] {
			r, err := c3oRun(job, rows[0], row)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, i+2, err)
			}
			runs = append(runs, r)
		}
	}
	return runs, nil
}

func c3oRun(job string, header, row []string) (model.Run, error) {
	r := model.Run{Workload: model.Workload{Infrastructure: "aws-emr", Framework: "spark", Algorithm: job}, Outcome: model.OK}
	var described []string
	for k, name := range header {
		var err error
		switch name {
		case "machine_type":
			r.Configuration.MachineType = row[k]
			continue
		case "slots", "memory":
			continue
		case "instance_count":
			r.Configuration.ScaleOut, err = strconv.Atoi(row[k])
		case "gross_runtime":
			r.RuntimeSeconds, err = strconv.ParseFloat(row[k], 64)
		case "data_size_MB":
			r.Workload.InputBytes, err = strconv.ParseFloat(row[k], 64)
			r.Workload.InputBytes *= 1e6
			described = append(described, name+"="+row[k])
		default:
			described = append(described, name+"="+row[k])
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
	}
	slices.Sort(described)
	r.Workload.Dataset = strings.Join(described, " ")
	return r, r.Validate()
}

// candidates are the configurations of a table with what the catalog knows of them.
func candidates(runs []model.Run) ([]search.Candidate, error) {
	known := catalog.Builtin()
	seen := map[model.Configuration]bool{}
	var out []search.Candidate
	for _, r := range runs {
		if seen[r.Configuration] {
			continue
		}
		seen[r.Configuration] = true
		m, err := known.Lookup(r.Workload.Infrastructure, r.Configuration.MachineType)
		if err != nil {
			return nil, err
		}
		out = append(out, search.NewCandidate(r.Configuration, m))
	}
	return out, nil
}
