package main

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest/flink"
	"github.com/karasu-project/karasu/store/ingest/hadoop"
)

type importHadoopCmd struct {
	Paths []string `arg:"" name:"path" help:"Job histories (.jhist), or folders with them and all below." placeholder:"PATH"`
	importFlags
}

// Help implements kong's interface for examples.
func (importHadoopCmd) Help() string {
	return `Reads the histories that MapReduce jobs leave, with the job's configuration where
job_..._conf.xml lies beside it. Rules in config.toml say which workload a job is, as for
karasu import spark.

Example:

  karasu import hadoop /mr-history/done --machine-type m5.xlarge --infrastructure aws-emr`
}

// Run reads the histories and sends what they tell to the daemon.
func (c importHadoopCmd) Run(a *app) error {
	if err := checkPaths(c.Paths); err != nil {
		return err
	}
	return c.importExecutions(a, hadoopHistory, false, paths(c.Paths, func(path string) iter.Seq2[importItem, error] {
		return func(yield func(importItem, error) bool) {
			for f, err := range hadoop.FindPath(a.ctx, path) {
				item := importItem{name: f.Name, bytes: f.Bytes, read: func(ctx context.Context, _ func(int)) ([]model.Execution, error) {
					return one(f.Read(ctx, hadoop.Options{}))
				}}
				if !yield(item, err) {
					return
				}
			}
		}
	}))
}

type importFlinkCmd struct {
	Paths  []string   `arg:"" name:"path" help:"Job details or archives, folders with them, or the address of a job manager or history server." placeholder:"PATH-OR-URL"`
	Header []httpLine `help:"Sent with every request to a server." placeholder:"NAME: VALUE" sep:"none"`
	importFlags
}

// Help implements kong's interface for examples.
func (importFlinkCmd) Help() string {
	return `Reads jobs that have ended: answers of Flink's REST API in files, archives of its history
server, or the API itself, of which only jobs that are not stored yet are asked for.
Rules in config.toml say which workload a job is, as for karasu import spark.

Examples:

  karasu import flink /flink/completed-jobs --infrastructure on-premises
  karasu import flink http://jobmanager:8081`
}

// Run reads the jobs and sends what they tell to the daemon.
func (c importFlinkCmd) Run(a *app) error {
	if err := checkPaths(c.Paths, "http://", "https://"); err != nil {
		return err
	}
	for _, p := range c.Paths {
		if isURL(p) {
			if _, err := flink.NewClient(p, flink.ClientOptions{}); err != nil {
				return &usageError{err}
			}
		}
	}
	return c.importStream(a, flinkJobs, slices.ContainsFunc(c.Paths, isURL), paths(c.Paths, func(path string) iter.Seq2[importItem, error] {
		if isURL(path) {
			return c.server(a, path)
		}
		return func(yield func(importItem, error) bool) {
			for f, err := range flink.FindPath(a.ctx, path) {
				item := importItem{name: f.Name, bytes: f.Bytes, read: func(ctx context.Context, _ func(int)) ([]model.Execution, error) {
					return one(f.Read(ctx))
				}}
				if !yield(item, err) {
					return
				}
			}
		}
	}))
}

func (c importFlinkCmd) server(a *app, address string) iter.Seq2[importItem, error] {
	known, err := c.known(a)
	var client *flink.Client
	if err == nil {
		client, err = flink.NewClient(address, flink.ClientOptions{Header: headers(c.Header), Known: known})
	}
	if err != nil {
		return func(yield func(importItem, error) bool) { yield(importItem{}, err) }
	}
	return executions(address, client.Executions(a.ctx))
}

func isURL(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}
