package ingest_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
)

func TestProblemSaysWhere(t *testing.T) {
	for want, p := range map[string]ingest.Problem{
		"a.csv:3: nodes is missing": {File: "a.csv", Line: 3, Field: "nodes", Text: "is missing"},
		"a.csv:3: has 2 fields":     {File: "a.csv", Line: 3, Text: "has 2 fields"},
		"a.csv: is empty":           {File: "a.csv", Text: "is empty"},
		"nodes is missing":          {Field: "nodes", Text: "is missing"},
	} {
		if got := p.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// list is a source of what it holds.
type list []error

func (l list) Runs(context.Context) iter.Seq2[model.Run, error] {
	return func(yield func(model.Run, error) bool) {
		for _, err := range l {
			if !yield(model.Run{}, err) {
				return
			}
		}
	}
}

func TestCollect(t *testing.T) {
	bad, broken := &ingest.Problem{Line: 2, Text: "is bad"}, errors.New("broken")
	rep, err := ingest.Collect(t.Context(), list{nil, bad, nil, bad})
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Runs) != 2 || rep.Bad != 2 {
		t.Errorf("%+v", rep)
	}
	if d := cmp.Diff([]*ingest.Problem{bad, bad}, rep.Problems); d != "" {
		t.Error(d)
	}
	if rep, err := ingest.Collect(t.Context(), list{nil, broken}); rep != nil || !errors.Is(err, broken) {
		t.Error(rep, err)
	}
	if rep, err := ingest.Collect(t.Context(), list{nil}); err != nil || rep.Err() != nil {
		t.Error(rep, err)
	}
}
