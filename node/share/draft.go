package share

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/gp"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// Draft is a record that the policy lets out, before it is signed.
type Draft struct {
	Topic model.Topic
	Kind  karasuv1.RecordKind
	Key   string
	// Body is the deterministic encoding of Summary or Model.
	Body []byte
	// Exactly one is set.
	Summary *karasuv1.RunSummary
	Model   *karasuv1.SupportModel
}

// Withheld is a workload of which nothing leaves.
type Withheld struct {
	Workload model.Workload
	Reason   string
}

// Prepare applies the policy to all runs of the organisation. Both results are in
// the order of the workloads. It depends on nothing but its arguments.
func Prepare(runs []model.Run, policy Policy, p Pseudonymizer, lookup MachineLookup) ([]Draft, []Withheld, error) {
	var drafts []Draft
	var withheld []Withheld
	for _, g := range GroupRuns(runs) {
		mode := policy.ModeFor(g.Workload.Topic())
		if mode == Off {
			withheld = append(withheld, Withheld{g.Workload, "the policy for its topic is off"})
			continue
		}
		summary, ok := Summarize(g, p, lookup)
		if n := observedRuns(summary); !ok || n < policy.MinimumRuns {
			reason := fmt.Sprintf("%d runs with a runtime on known machine types; the policy asks for %d", n, policy.MinimumRuns)
			withheld = append(withheld, Withheld{g.Workload, reason})
			continue
		}
		made, err := draft(summary, mode, policy, p)
		if err != nil {
			return nil, nil, fmt.Errorf("prepare what workload %s shares: %w", summary.Pseudonym, err)
		}
		drafts = append(drafts, made...)
	}
	return drafts, withheld, nil
}

func draft(s model.Summary, mode Mode, policy Policy, p Pseudonymizer) ([]Draft, error) {
	addNoise(&s, p, policy.noiseScale())
	if policy.Epsilon > 0 {
		for i := range s.Points {
			s.Points[i].Metrics = model.Metrics{}
		}
	}
	if !policy.Absolute {
		s.Absolute, s.Level = false, 0
	}
	var out []Draft
	if mode.summaries() {
		body := commons.EncodeSummary(s)
		d := Draft{Topic: s.Topic, Kind: karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY, Key: s.Pseudonym + "/summary", Summary: body}
		if err := d.encode(body); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	if mode.models() && distinctObserved(s) >= DefaultMinimumRuns {
		weights, err := gp.TrainSupport(s.Points)
		if err != nil {
			return nil, err
		}
		body := commons.EncodeModel(s.Pseudonym, s.InputSizeLog2, weights)
		d := Draft{Topic: s.Topic, Kind: karasuv1.RecordKind_RECORD_KIND_SUPPORT_MODEL, Key: s.Pseudonym + "/model", Model: body}
		if err := d.encode(body); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

func (d *Draft) encode(m proto.Message) (err error) {
	d.Body, err = proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return err
}

func observedRuns(s model.Summary) int {
	n := 0
	for _, p := range s.Points {
		n += p.OK + p.Timeout
	}
	return n
}

func distinctObserved(s model.Summary) int {
	n := 0
	for _, p := range s.Points {
		if p.Observed() {
			n++
		}
	}
	return n
}
