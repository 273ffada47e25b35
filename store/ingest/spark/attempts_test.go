package spark

import (
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/modeltest"
)

func TestMarkSuperseded(t *testing.T) {
	var list []*model.Execution
	for l, err := range FindPath(t.Context(), modeltest.Data(t, "spark-events/v3.3-attempts")) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := l.Read(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	other := &model.Execution{Framework: "spark", ApplicationID: "local-1", Outcome: model.OK}
	list = append(list, other)
	if changed := MarkSuperseded(list); len(changed) != 3 {
		t.Errorf("%d changed, want 3", len(changed))
	}
	for _, e := range list {
		if last := e.Attempt == "4" || e == other; (e.Outcome == model.OK) != last {
			t.Errorf("attempt %s: %s", e.Attempt, e.Outcome)
		}
	}
}
