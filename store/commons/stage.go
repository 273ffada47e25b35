package commons

import (
	"errors"
	"fmt"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/stage"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// stageAlgorithm stands for all algorithms in the topics of stage models: a predictor for
// jobs never seen learns from all that an organisation runs on a framework.
const stageAlgorithm = "stages"

// StageTopic is the topic of the stage models of an infrastructure and a framework.
func StageTopic(infrastructure, framework string) model.Topic {
	return model.Topic{Infrastructure: infrastructure, Framework: framework, Algorithm: stageAlgorithm}
}

// StageKey is the key under which an organisation shares its stage model of a topic: one
// a family.
func StageKey(family string) string { return "stage/" + family }

// EncodeStageModel returns the body of a stage model. Jobs and stages are rounded to
// powers of two. The error wraps [ErrMalformed] where no node would accept it.
func EncodeStageModel(w *stage.Weights) (*karasuv1.StageModel, error) {
	if _, err := stage.FromWeights(w); err != nil {
		return nil, fmt.Errorf("%w: stage model: %w", ErrMalformed, err)
	}
	m := &karasuv1.StageModel{
		Family: w.Family, Operators: w.Operators, End: encodeForest(&w.End), Blend: w.Blend, Shift: w.Shift,
		JobsLog2: roundLog2(w.Jobs), StagesLog2: roundLog2(w.Stages),
	}
	for i := range w.Forests {
		m.Forests = append(m.Forests, encodeForest(&w.Forests[i]))
	}
	return m, nil
}

func encodeForest(f *stage.WeightForest) *karasuv1.StageForest {
	m := &karasuv1.StageForest{
		Trees: uint32(f.Trees), Features: make([]uint32, len(f.Features)), Values: f.Values,
		Factor: f.Factor, Floor: f.Floor,
	}
	for i, c := range f.Features {
		m.Features[i] = uint32(c + 1)
	}
	return m
}

// Bounds of a stage model beside those of [stage.FromWeights].
const (
	// stageForests are the forests that a family has.
	stageForests = 6
	// maxTrainedLog2 bounds the jobs and stages that weights may claim.
	maxTrainedLog2 = 30
	// maxStageTrees and maxStageFeature bound what is converted to an int.
	maxStageTrees   = 1 << 20
	maxStageFeature = 1 << 20
)

// DecodeStageModel returns the model that a record's body holds. Its jobs and stages are
// the author's word. The error wraps [ErrKind] or [ErrMalformed], with stage.ErrWeights
// where the weights cannot be used. A family, or an operator, that this version does not
// know is [ErrFamily]. It takes a time that is linear in the record's size.
func DecodeStageModel(r *Record) (*stage.General, error) {
	m, err := decodeStageBody(r)
	if err != nil {
		return nil, err
	}
	return generalOf(m)
}

// decodeStageBody parses a body. Forests are counted before, since an empty one of two
// bytes would become a hundred in memory.
func decodeStageBody(r *Record) (*karasuv1.StageModel, error) {
	const forestsField = 3
	if r.Kind == karasuv1.RecordKind_RECORD_KIND_STAGE_MODEL {
		if n := countField(r.Body, forestsField); n > stageForests {
			return nil, fmt.Errorf("%w: stage model: more than %d forests", ErrMalformed, stageForests)
		}
	}
	m := &karasuv1.StageModel{}
	return m, decode(r, karasuv1.RecordKind_RECORD_KIND_STAGE_MODEL, m)
}

// generalOf checks what a message holds and makes a model of it.
func generalOf(m *karasuv1.StageModel) (*stage.General, error) {
	switch {
	case m.GetFamily() == "" || len(StageKey(m.GetFamily())) > MaxKey || !validKey(m.GetFamily()):
		return nil, fmt.Errorf("%w: stage model: family must be 1 to %d of a-z, 0-9, '.', '-' and '/': %q",
			ErrMalformed, MaxKey-len(StageKey("")), model.Clip(m.GetFamily()))
	case m.GetJobsLog2() > maxTrainedLog2 || m.GetStagesLog2() > maxTrainedLog2:
		return nil, fmt.Errorf("%w: stage model: of 2^%d jobs and 2^%d stages, at most 2^%d each",
			ErrMalformed, m.GetJobsLog2(), m.GetStagesLog2(), maxTrainedLog2)
	case m.GetFamily() != stage.Family:
		return nil, fmt.Errorf("%w: %q, known is %q", ErrFamily, model.Clip(m.GetFamily()), stage.Family)
	}
	w := &stage.Weights{
		Family: m.GetFamily(), Operators: m.GetOperators(), Blend: m.GetBlend(), Shift: m.GetShift(),
		Jobs: 1 << m.GetJobsLog2(), Stages: 1 << m.GetStagesLog2(),
	}
	w.Forests = make([]stage.WeightForest, len(m.GetForests()))
	for i, f := range m.GetForests() {
		if err := decodeForest(f, &w.Forests[i]); err != nil {
			return nil, fmt.Errorf("%w: stage model: forest %d: %w", ErrMalformed, i, err)
		}
	}
	if err := decodeForest(m.GetEnd(), &w.End); err != nil {
		return nil, fmt.Errorf("%w: stage model: correction of ends: %w", ErrMalformed, err)
	}
	g, err := stage.FromWeights(w)
	switch {
	case errors.Is(err, stage.ErrNewer):
		return nil, fmt.Errorf("%w: %w", ErrFamily, err)
	case err != nil:
		return nil, fmt.Errorf("%w: stage model: %w", ErrMalformed, err)
	}
	return g, nil
}

func decodeForest(m *karasuv1.StageForest, f *stage.WeightForest) error {
	if m.GetTrees() > maxStageTrees {
		return fmt.Errorf("%w: %d trees", stage.ErrWeights, m.GetTrees())
	}
	f.Factor, f.Floor = m.GetFactor(), m.GetFloor()
	f.Trees, f.Values = int(m.GetTrees()), m.GetValues()
	f.Features = make([]int32, len(m.GetFeatures()))
	for i, c := range m.GetFeatures() {
		if c > maxStageFeature {
			return fmt.Errorf("%w: node %d has feature %d", stage.ErrWeights, i, c)
		}
		f.Features[i] = int32(c) - 1
	}
	return nil
}

// validateStage checks a record of the kind; one of an unknown family by its key.
func validateStage(r *Record) error {
	if want := StageTopic(r.Topic.Infrastructure, r.Topic.Framework); r.Topic != want {
		return fmt.Errorf("%w: stage model: its topic is %s, must be %s", ErrMalformed, r.Topic, want)
	}
	m, err := decodeStageBody(r)
	if err != nil {
		return err
	}
	if _, err := generalOf(m); err != nil && !errors.Is(err, ErrFamily) {
		return err
	}
	return matchKey(r, StageKey(m.GetFamily()))
}
