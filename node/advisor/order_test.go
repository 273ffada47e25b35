package advisor_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/advisor"
	"github.com/karasu-project/karasu/node/share"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// TestEqualDataEqualAnswers: nothing depends on the secret that pseudonyms and names of
// one's own machine types are hashed with.
func TestEqualDataEqualAnswers(t *testing.T) {
	var runs []model.Run
	for job, base := range []float64{600, 900, 700, 2000, 1100, 500, 800} {
		for i, machine := range []string{"small", "mid", "noprice"} {
			for _, n := range []int{1, 2, 4, 8} {
				runs = append(runs, model.Run{
					Workload:       model.Workload{Infrastructure: "lab", Framework: "spark", Algorithm: "pagerank", Job: string(rune('a' + job))},
					Configuration:  model.Configuration{MachineType: machine, ScaleOut: n},
					RuntimeSeconds: base/float64(n*(1+i)) + 13*float64((job*n+i)%5), Outcome: model.OK,
				})
			}
		}
	}
	for _, method := range []string{"evidence", "karasu", "karasu-trees"} {
		var first *karasuv1.Suggestion
		for secret := range byte(4) {
			f := newFixture(t, func(o *advisor.Options) {
				o.Catalog = labCatalog(t)
				o.Lookup = func(infrastructure, name string) (model.Resources, bool, bool) {
					m, err := o.Catalog.Lookup(infrastructure, name)
					return m.Resources, false, err == nil
				}
				o.Pseudonyms = share.NewPseudonymizer([]byte{secret})
			})
			if _, _, err := f.runs.AddRuns(t.Context(), runs); err != nil {
				t.Fatal(err)
			}
			s := labSearch("job", "small", "mid")
			s.Method, s.TargetSeconds = method, 400
			if _, err := f.Start(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Report(t.Context(), report("job", "small", 4, 300, ok)); err != nil {
				t.Fatal(err)
			}
			state, err := f.Report(t.Context(), report("job", "mid", 8, 90, ok))
			if err != nil {
				t.Fatal(err)
			}
			got := state.GetNext()
			got.Milliseconds = 0
			for _, w := range got.GetWeights() {
				w.Workload = ""
			}
			if first == nil {
				first = got
			} else if !proto.Equal(first, got) {
				t.Errorf("%s: with another secret\n%v\nnot\n%v", method, got, first)
			}
		}
	}
}
