package main

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/api"
	"github.com/karasu-project/karasu/store/private"
	"github.com/karasu-project/karasu/store/wire"
)

// Runs with the longest names and arguments that they may have go into requests that
// the daemon takes and the store keeps in one transaction.
func TestImportRequests(t *testing.T) {
	long := strings.Repeat("x", model.MaxArgumentText)
	var arguments model.Arguments
	for i := range model.MaxArguments {
		arguments = append(arguments, model.Argument{Name: fmt.Sprintf("%02d%s", i, long[2:]), Text: long})
	}
	slug := strings.Repeat("s", model.MaxSlug)
	large := model.Run{
		Workload: model.Workload{
			Infrastructure: slug, Framework: slug, Algorithm: slug,
			Job: strings.Repeat("j", model.MaxName), Dataset: strings.Repeat("d", model.MaxName), Arguments: arguments,
		},
		Configuration: model.Configuration{MachineType: "m4.xlarge"}, RuntimeSeconds: 1, Outcome: model.OK,
	}
	named := large
	named.Workload.Arguments = nil
	small := named
	small.Workload.Job, small.Workload.Dataset = "j", ""
	for _, c := range []struct {
		name     string
		of       model.Run
		n, least int
	}{{"small", small, importBatch + 1, 2}, {"long names", named, 1000, 2}, {"long arguments", large, 100, 2}} {
		t.Run(c.name, func(t *testing.T) {
			db, err := private.OpenDB(t.TempDir(), private.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}()
			var runs []model.Run
			for i := range c.n {
				r := c.of
				r.Configuration.ScaleOut = i + 1
				runs = append(runs, r)
			}
			requests, total := 0, 0
			for req := range importRequests(runs) {
				var batch []model.Run
				for _, m := range req.GetRuns() {
					r, err := wire.ToRun(m)
					if err != nil {
						t.Fatal(err)
					}
					batch = append(batch, r)
				}
				added, _, err := db.AddRuns(t.Context(), batch)
				if err != nil {
					t.Fatal(err)
				}
				if n := proto.Size(req); n > api.MaxRequestBytes {
					t.Errorf("a request of %d bytes", n)
				}
				requests, total = requests+1, total+added
			}
			if total != c.n || requests < c.least {
				t.Errorf("%d runs in %d requests, want %d in at least %d", total, requests, c.n, c.least)
			}
		})
	}
	for range importRequests(nil) {
		t.Error("a request without runs")
	}
}
