package share

import (
	"cmp"
	"errors"
	"fmt"
	"math"

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
	// Body is the deterministic encoding of Summary, Model, Runtime or Stage.
	Body []byte
	// Exactly one is set.
	Summary *karasuv1.RunSummary
	Model   *karasuv1.SupportModel
	Runtime *karasuv1.RuntimeModel
	Stage   *karasuv1.StageModel
}

// Withheld is a workload of which nothing leaves, or less than the policy allows. One
// without a job stands for all of its topic.
type Withheld struct {
	Workload model.Workload
	Reason   string
	// Err is why it could not be made ready; nil where the policy keeps it.
	Err error
}

// Prepare applies the policy to all runs of the organisation. Both results are in
// the order of the workloads. It depends on nothing but its arguments. Each workload
// stands for itself: one that cannot leave keeps no other from leaving.
func Prepare(runs []model.Run, policy Policy, p Pseudonymizer, lookup MachineLookup) ([]Draft, []Withheld) {
	var drafts []Draft
	var withheld []Withheld
	for _, g := range GroupRuns(runs) {
		mode := policy.ModeFor(g.Workload.Topic())
		if mode == Off {
			withheld = append(withheld, Withheld{Workload: g.Workload, Reason: "the policy for its topic is off"})
			continue
		}
		summary, ok := Summarize(g, p, lookup)
		if n := observedRuns(summary); !ok || n < policy.MinimumRuns {
			reason := fmt.Sprintf("%d runs with a runtime on known machine types; the policy asks for %d", n, policy.MinimumRuns)
			withheld = append(withheld, Withheld{Workload: g.Workload, Reason: reason})
			continue
		}
		made, err := draft(summary, mode, policy, p)
		if err != nil {
			withheld = append(withheld, unfit(g.Workload, err))
		}
		drafts = append(drafts, made...)
	}
	return drafts, withheld
}

// unfit withholds a workload for an error.
func unfit(w model.Workload, err error) Withheld {
	return Withheld{Workload: w, Reason: err.Error(), Err: err}
}

// draft returns what can leave of a workload. An error says what cannot.
func draft(s model.Summary, mode Mode, policy Policy, p Pseudonymizer) ([]Draft, error) {
	addNoise(&s, p, policy.NoiseScale())
	if policy.Epsilon > 0 {
		dropMetrics(&s)
	}
	fit(&s)
	// A level that no node would accept stays here; the shape is as good as ever.
	if !policy.Absolute || !(math.Abs(s.Level) <= model.MaxLevel) {
		s.Absolute, s.Level = false, 0
	}
	if !policy.ExactSizes {
		s.ExactInputBytes = 0
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("its summary would be refused: %w", err)
	}
	var out []Draft
	var errs []error
	if mode.summaries() {
		d := Draft{Topic: s.Topic, Kind: karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY, Key: commons.SummaryKey(s.Pseudonym), Summary: commons.EncodeSummary(s)}
		if err := d.encode(d.Summary); err != nil {
			errs = append(errs, fmt.Errorf("its summary cannot be encoded: %w", err))
		} else {
			out = append(out, d)
		}
	}
	if mode.models() && distinctObserved(s) >= DefaultMinimumRuns {
		d, err := draftModel(s)
		if err != nil {
			errs = append(errs, fmt.Errorf("its model cannot be made: %w", err))
		} else {
			out = append(out, d)
		}
	}
	return out, errors.Join(errs...)
}

func draftModel(s model.Summary) (Draft, error) {
	weights, err := gp.TrainSupport(s.Points)
	if err != nil {
		return Draft{}, err
	}
	d := Draft{
		Topic: s.Topic, Kind: karasuv1.RecordKind_RECORD_KIND_SUPPORT_MODEL, Key: commons.ModelKey(s.Pseudonym),
		Model: commons.EncodeModel(s.Pseudonym, s.InputSizeLog2, s.ExactInputBytes, weights),
	}
	return d, d.encode(d.Model)
}

// workload that the draft is of, by pseudonym; of a runtime or stage model, that of the topic.
func (d *Draft) workload(known map[string]model.Workload) model.Workload {
	if d.Runtime != nil || d.Stage != nil {
		return topicWorkload(d.Topic)
	}
	return known[cmp.Or(d.Summary.GetWorkload(), d.Model.GetWorkload())]
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
