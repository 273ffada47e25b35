package main

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/spark"
)

type importSparkCmd struct {
	Paths []string `arg:"" name:"path" help:"Event logs, or folders with them and all below." placeholder:"PATH"`
	importFlags
}

// Help implements kong's interface for examples.
func (importSparkCmd) Help() string {
	return `Reads event logs of Spark 1.2 to 4.x: plain, gzip, zstd, lz4, snappy and lzf; one
file or rolled; also of applications that still run. Each application is stored once, by
its id and attempt, wherever its log lies. Read again, it is updated if its log tells
more now.

What job an application is says a rule in config.toml ([[workload]]); what none matches
is stored and not shared. The machine type is the log's where it tells (Databricks), else
the rule's. A file for --machine-map holds lines such as:

  ^ip-10-1-   m5.xlarge

Examples:

  karasu import spark /var/log/spark --machine-type m5.xlarge --infrastructure aws-emr
  karasu import spark application_1700000000000_0001.zstd --dry-run`
}

// Run reads the logs and sends what they tell to the daemon.
func (c importSparkCmd) Run(a *app) error {
	if err := checkPaths(c.Paths); err != nil {
		return err
	}
	return c.importExecutions(a, sparkLogs, false, paths(c.Paths, func(path string) iter.Seq2[importItem, error] {
		return func(yield func(importItem, error) bool) {
			for l, err := range spark.FindPath(a.ctx, path) {
				item := importItem{name: l.Name, bytes: l.Bytes, read: func(ctx context.Context, progress func(int)) ([]model.Execution, error) {
					return one(l.Read(ctx, spark.Options{Progress: progress}))
				}}
				if !yield(item, err) {
					return
				}
			}
		}
	}))
}

// checkPaths refuses what names no file; addresses are those of services that are read.
func checkPaths(paths []string, addresses ...string) error {
	for _, p := range paths {
		if p == "" {
			return usagef("a path is empty; is a variable of the shell unset?")
		}
		if strings.Contains(p, "://") && !slices.ContainsFunc(addresses, func(a string) bool { return strings.HasPrefix(p, a) }) {
			return usagef("%s cannot be read: name a file or folder%s", clean(p), orAddress(addresses))
		}
	}
	return nil
}

func orAddress(addresses []string) string {
	if len(addresses) == 0 {
		return ""
	}
	return ", or an address that begins with " + strings.Join(addresses, " or ")
}

// one makes a list of what was read.
func one(e *model.Execution, err error) ([]model.Execution, error) {
	if err != nil {
		return nil, err
	}
	return []model.Execution{*e}, nil
}

// paths joins what is found at each path. A path that is not there is named and the rest
// is read.
func paths(paths []string, find func(path string) iter.Seq2[importItem, error]) iter.Seq2[importItem, error] {
	return func(yield func(importItem, error) bool) {
		for _, path := range paths {
			for item, err := range find(path) {
				var at *fs.PathError
				var p *ingest.Problem
				if errors.As(err, &at) && !errors.As(err, &p) {
					err = &ingest.Problem{File: path, Text: "cannot be read: " + at.Err.Error()}
				}
				if !yield(item, err) {
					return
				}
			}
		}
	}
}
