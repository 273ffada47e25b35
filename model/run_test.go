package model_test

import (
	"testing"
	"time"

	"github.com/karasu-project/karasu/model"
)

// TestRunID pins IDs: databases and searches hold them.
func TestRunID(t *testing.T) {
	r := model.Run{
		Workload:      model.Workload{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "sort", Job: "etl", InputBytes: 1e9},
		Configuration: model.Configuration{MachineType: "m4.xlarge", ScaleOut: 8}, RuntimeSeconds: 100, Outcome: model.OK,
		Start: time.UnixMilli(1_700_000_000_000),
	}
	if got, want := r.ID(), "dd8b1a559032a1de0d8df34d11112d9e"; got != want {
		t.Errorf("ID %s, want %s", got, want)
	}
	r.Origin = "spark/app-1/1"
	id := r.ID()
	if id != model.OriginID(r.Origin) {
		t.Errorf("ID %s of a run with an origin, want %s", id, model.OriginID(r.Origin))
	}
	r.Workload.Job, r.RuntimeSeconds = "other", 50
	if r.ID() != id {
		t.Error("a run with an origin changes its ID with its name")
	}
	r.Origin = "spark/app-1/2"
	if r.ID() == id {
		t.Error("two origins have one ID")
	}
}
