package checkpoint_test

import (
	"errors"
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/checkpoint"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// FuzzFollow gives the advisor executions and goals from outside: it answers with finite
// numbers, or says what is wrong with the input.
func FuzzFollow(f *testing.F) {
	for _, req := range []*karasuv1.FollowCheckpointRequest{
		{Execution: at(chain(5, 1), 50)},
		{Execution: at(chain(5, 2), 250), Goal: &karasuv1.CheckpointGoal{Objective: "restart", Cuts: 3, DurableBytes: new(0.0)}},
		{Execution: at(chain(5, .1), 450), Goal: &karasuv1.CheckpointGoal{Objective: "mix", Hotspots: []string{"h"}}, Committed: []*karasuv1.CheckpointCut{{Before: []uint32{0}, Persist: []uint32{0}}}},
	} {
		raw, err := proto.Marshal(req)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	a := over(f, chain(1, 1), chain(2, 1.3))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var req karasuv1.FollowCheckpointRequest
		if len(raw) > 1<<16 || proto.Unmarshal(raw, &req) != nil {
			return
		}
		res, err := a.Follow(t.Context(), &req)
		if err != nil {
			if !errors.Is(err, model.ErrInvalid) && !errors.Is(err, checkpoint.ErrNoStages) && !errors.Is(err, checkpoint.ErrNoPredictor) {
				t.Errorf("an error of no kind: %v", err)
			}
			return
		}
		w, p := res.GetWorth(), res.GetPlanned()
		for _, v := range []float64{res.GetNowSeconds(), res.GetJobSeconds(), w.GetFreedByteSeconds(), w.GetLostSeconds(), w.GetRestartSeconds(), p.GetDurableBytes(), p.GetSeconds()} {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Errorf("answers %g: %v", v, res)
			}
		}
	})
}
