package commons

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/gp"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/internal/measure"
)

// ErrKind says that a record is of another kind than the one asked for.
var ErrKind = errors.New("another kind of record")

// Model is a decoded support model.
type Model struct {
	Topic     model.Topic
	Pseudonym string
	// InputSizeLog2 is the shared bucket of the input size; 0 is unknown.
	InputSizeLog2 int
	// ExactInputBytes is the input size where it is shared exactly; 0 is not.
	ExactInputBytes float64
	Weights         *gp.Weights
}

// SummaryKey is the key under which a workload's summary is shared.
func SummaryKey(pseudonym string) string { return pseudonym + "/summary" }

// ModelKey is the key under which a workload's support model is shared.
func ModelKey(pseudonym string) string { return pseudonym + "/model" }

// EncodeSummary returns the body of a summary. The topic is the record's.
func EncodeSummary(s model.Summary) *karasuv1.RunSummary {
	m := &karasuv1.RunSummary{
		Workload:       s.Pseudonym,
		InputSizeLog2:  uint32(s.InputSizeLog2),
		Configurations: make([]*karasuv1.ConfigurationSummary, 0, len(s.Points)),
		NoiseScale:     s.NoiseScale,
	}
	if s.Absolute {
		m.Level = proto.Float64(s.Level)
	}
	if s.ExactInputBytes > 0 {
		m.InputBytes = proto.Float64(s.ExactInputBytes)
	}
	for _, p := range s.Points {
		m.Configurations = append(m.Configurations, &karasuv1.ConfigurationSummary{
			MachineType: p.Configuration.MachineType, ScaleOut: uint32(p.Configuration.ScaleOut),
			Vcpus: p.Resources.VCPUs, MemoryGib: p.Resources.MemoryGiB, LogRuntime: p.LogRuntime,
			OkRuns: uint32(p.OK), FailedRuns: uint32(p.Failed), TimeoutRuns: uint32(p.Timeout),
			Metrics: measure.ToProto(p.Metrics),
		})
	}
	return m
}

// DecodeSummary returns the summary that a record's body holds. The error wraps
// [ErrKind] or [ErrMalformed], and model.ErrInvalid where a number is out of range.
func DecodeSummary(r *Record) (model.Summary, error) {
	var m karasuv1.RunSummary
	if err := decode(r, karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY, &m); err != nil {
		return model.Summary{}, err
	}
	s := model.Summary{
		Topic: r.Topic, Pseudonym: m.GetWorkload(), InputSizeLog2: int(m.GetInputSizeLog2()), ExactInputBytes: m.GetInputBytes(),
		Absolute: m.Level != nil, Level: m.GetLevel(), NoiseScale: m.GetNoiseScale(),
	}
	if n := len(m.GetConfigurations()); n > model.MaxPoints {
		return model.Summary{}, fmt.Errorf("%w: %d configurations, at most %d", ErrMalformed, n, model.MaxPoints)
	}
	for _, c := range m.GetConfigurations() {
		s.Points = append(s.Points, model.Point{
			Configuration: model.Configuration{MachineType: c.GetMachineType(), ScaleOut: int(c.GetScaleOut())},
			Resources:     model.Resources{VCPUs: c.GetVcpus(), MemoryGiB: c.GetMemoryGib()},
			LogRuntime:    c.GetLogRuntime(),
			OK:            int(c.GetOkRuns()), Failed: int(c.GetFailedRuns()), Timeout: int(c.GetTimeoutRuns()),
			Metrics: measure.FromProto(c.GetMetrics()),
		})
	}
	if err := s.Validate(); err != nil {
		return model.Summary{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return s, nil
}

// EncodeModel returns the body of a support model. The topic is the record's.
// inputBytes is 0 where the size is not shared exactly.
func EncodeModel(pseudonym string, inputSizeLog2 int, inputBytes float64, w *gp.Weights) *karasuv1.SupportModel {
	m := &karasuv1.SupportModel{
		Workload: pseudonym, Family: gp.Family,
		InputSizeLog2: uint32(inputSizeLog2), Dimensions: uint32(w.Dimensions),
		Inputs: w.Inputs, Targets: w.Targets, LengthScales: w.LengthScales,
		SignalSd: w.SignalSD, NoiseSd: w.NoiseSD,
	}
	if inputBytes > 0 {
		m.InputBytes = proto.Float64(inputBytes)
	}
	return m
}

// DecodeModel returns the support model that a record's body holds. The error
// wraps [ErrKind] or [ErrMalformed], and gp.ErrWeights where the weights are not
// usable. A family that this version does not know is [ErrFamily].
func DecodeModel(r *Record) (Model, error) {
	var m karasuv1.SupportModel
	if err := decode(r, karasuv1.RecordKind_RECORD_KIND_SUPPORT_MODEL, &m); err != nil {
		return Model{}, err
	}
	if err := model.ValidatePseudonym(m.GetWorkload()); err != nil {
		return Model{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if err := model.ValidateSharedSize(int(m.GetInputSizeLog2()), m.GetInputBytes()); err != nil {
		return Model{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if m.GetFamily() != gp.Family {
		return Model{}, fmt.Errorf("%w: %q, known is %q", ErrFamily, model.Clip(m.GetFamily()), gp.Family)
	}
	w := &gp.Weights{
		Dimensions: int(m.GetDimensions()), Inputs: m.GetInputs(), Targets: m.GetTargets(),
		LengthScales: m.GetLengthScales(), SignalSD: m.GetSignalSd(), NoiseSD: m.GetNoiseSd(),
	}
	if err := w.Validate(); err != nil {
		return Model{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return Model{
		Topic: r.Topic, Pseudonym: m.GetWorkload(), InputSizeLog2: int(m.GetInputSizeLog2()), ExactInputBytes: m.GetInputBytes(), Weights: w,
	}, nil
}

// ErrFamily says that a support or runtime model is of a family that this version does not
// know. It is not the sender's fault: the record is carried and not used.
var ErrFamily = errors.New("unknown family of models")

// ValidateBody checks what a record holds: that its body decodes, is within the
// bounds of its kind, and belongs to its key. A body of an unknown kind, or a
// model of an unknown family, passes: it is carried for those who know it. The
// error wraps [ErrMalformed], or [ErrDelegation] where the host may not say that.
func ValidateBody(r *Record) error {
	if err := validateControl(r); err != nil {
		return err
	}
	switch r.Kind {
	case karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY:
		s, err := DecodeSummary(r)
		if err != nil {
			return err
		}
		return matchKey(r, SummaryKey(s.Pseudonym))
	case karasuv1.RecordKind_RECORD_KIND_SUPPORT_MODEL:
		m, err := DecodeModel(r)
		switch {
		case errors.Is(err, ErrFamily):
			return nil
		case err != nil:
			return err
		}
		return matchKey(r, ModelKey(m.Pseudonym))
	case karasuv1.RecordKind_RECORD_KIND_RUNTIME_MODEL:
		return validateRuntime(r)
	case karasuv1.RecordKind_RECORD_KIND_STAGE_MODEL:
		return validateStage(r)
	case karasuv1.RecordKind_RECORD_KIND_ANNOUNCEMENT:
		return validateAnnouncement(r)
	}
	return nil
}

func matchKey(r *Record, want string) error {
	if r.Key != want {
		return fmt.Errorf("%w: key is %q, but the body belongs to %q", ErrMalformed, model.Clip(r.Key), want)
	}
	return nil
}

// decode parses a body and bounds what this version does not know of it.
func decode(r *Record, kind karasuv1.RecordKind, m proto.Message) error {
	if r.Kind != kind {
		return fmt.Errorf("%w: %s, want %s", ErrKind, r.Kind, kind)
	}
	if err := proto.Unmarshal(r.Body, m); err != nil {
		return fmt.Errorf("%w: body: %w", ErrMalformed, err)
	}
	if n := unknownBytes(m.ProtoReflect()); n > maxUnknown {
		return fmt.Errorf("%w: body holds %d bytes of unknown fields, at most %d", ErrMalformed, n, maxUnknown)
	}
	return nil
}

// unknownBytes counts the bytes of unknown fields of a message and all below it.
func unknownBytes(m protoreflect.Message) int {
	n := len(m.GetUnknown())
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				n += unknownBytes(v.List().Get(i).Message())
			}
		default:
			n += unknownBytes(v.Message())
		}
		return true
	})
	return n
}
