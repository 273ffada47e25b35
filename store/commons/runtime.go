package commons

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/model/runtime/bellamy"
	"github.com/karasu-project/karasu/model/runtime/structured"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// runtimeFamily is a kind of general model that this version knows.
type runtimeFamily struct {
	name string
	// guarded says that build refuses models that contradict themselves, such as those
	// with random weights.
	guarded bool
	// check looks at shapes and ranges, in a time linear in the values.
	check func(*predict.Weights) error
	// build makes the model, in a time that the check bounds.
	build func(*predict.Weights) (predict.General, error)
}

// runtimeFamilies has the preferred one first.
var runtimeFamilies = []runtimeFamily{
	{structured.Family, true, structured.CheckWeights, func(w *predict.Weights) (predict.General, error) {
		g, err := structured.FromWeights(w, structured.Options{})
		return general(g, err)
	}},
	{bellamy.Family, false, func(w *predict.Weights) error {
		_, err := bellamy.FromWeights(w, bellamy.FullUnfreeze)
		return err
	}, func(w *predict.Weights) (predict.General, error) {
		g, err := bellamy.FromWeights(w, bellamy.FullUnfreeze)
		return general(g, err)
	}},
}

// general returns nothing beside an error.
func general(g predict.General, err error) (predict.General, error) {
	if err != nil {
		return nil, err
	}
	return g, nil
}

// familyIndex is the place of a family in the order of preference; -1 is unknown.
func familyIndex(name string) int {
	return slices.IndexFunc(runtimeFamilies, func(f runtimeFamily) bool { return f.name == name })
}

// RuntimeKey is the key under which an organisation shares its general model of a
// topic: one a family, whatever the number of workloads.
func RuntimeKey(family string) string { return "runtime/" + family }

// EncodeRuntimeModel returns the body of a general model. Values lose what a 32-bit
// number does not hold; contexts and runs are rounded to powers of two. What no node
// would accept is refused: the error wraps [ErrMalformed] or [ErrFamily].
func EncodeRuntimeModel(w *predict.Weights) (*karasuv1.RuntimeModel, error) {
	if err := w.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	m := &karasuv1.RuntimeModel{
		Family: w.Family, ContextsLog2: roundLog2(w.Contexts), RunsLog2: roundLog2(w.Runs),
		Values: make([]float32, len(w.Values)),
	}
	for _, a := range w.Arguments {
		m.Arguments = append(m.Arguments, &karasuv1.RuntimeArgument{Name: a.Name, Text: a.Text, Optional: a.Optional})
	}
	for _, s := range w.Sizes {
		m.Sizes = append(m.Sizes, uint32(s))
	}
	for i, v := range w.Values {
		m.Values[i] = float32(v)
	}
	_, err := weightsOf(m)
	return m, err
}

func roundLog2(n int) uint32 { return uint32(math.Round(math.Log2(float64(n)))) }

// Bounds of counts: 2^20 contexts and 2^30 runs are what weights may claim.
const (
	maxContextsLog2 = 20
	maxRunsLog2     = 30
)

// DecodeRuntimeModel returns the weights that a record's body holds, checked for
// shapes and ranges. [GeneralOf] makes a model of them. Contexts and runs are the
// author's word. The error wraps [ErrKind] or [ErrMalformed],
// with predict.ErrWeights where the weights cannot be used. A family that this version
// does not know is [ErrFamily].
func DecodeRuntimeModel(r *Record) (*predict.Weights, error) {
	m, err := decodeRuntimeBody(r)
	if err != nil {
		return nil, err
	}
	return weightsOf(m)
}

// GeneralOf returns the model that weights describe. The error wraps
// predict.ErrWeights, also where the weights contradict each other, or [ErrFamily].
func GeneralOf(w *predict.Weights) (predict.General, error) {
	i := familyIndex(w.Family)
	if i < 0 {
		return nil, unknownFamily(w.Family)
	}
	return runtimeFamilies[i].build(w)
}

// decodeRuntimeBody parses a body. Arguments are counted before, since an empty one of
// two bytes would become a hundred in memory.
func decodeRuntimeBody(r *Record) (*karasuv1.RuntimeModel, error) {
	const argumentsField = 2
	if r.Kind == karasuv1.RecordKind_RECORD_KIND_RUNTIME_MODEL {
		if n := countField(r.Body, argumentsField); n > predict.MaxArguments {
			return nil, fmt.Errorf("%w: more than %d arguments", ErrMalformed, predict.MaxArguments)
		}
	}
	m := &karasuv1.RuntimeModel{}
	return m, decode(r, karasuv1.RecordKind_RECORD_KIND_RUNTIME_MODEL, m)
}

// countField counts a field of an encoded message, up to where it does not parse.
func countField(body []byte, field protowire.Number) int {
	count := 0
	for len(body) > 0 {
		number, _, n := protowire.ConsumeField(body)
		if n < 0 {
			break
		}
		if number == field {
			count++
		}
		body = body[n:]
	}
	return count
}

// weightsOf checks and returns what a message holds.
func weightsOf(m *karasuv1.RuntimeModel) (*predict.Weights, error) {
	malformed := func(format string, args ...any) (*predict.Weights, error) {
		return nil, fmt.Errorf("%w: runtime model: %w", ErrMalformed, fmt.Errorf(format, args...))
	}
	switch {
	case m.GetFamily() == "" || len(RuntimeKey(m.GetFamily())) > MaxKey || !validKey(m.GetFamily()):
		return malformed("family must be 1 to %d of a-z, 0-9, '.', '-' and '/': %q", MaxKey-len(RuntimeKey("")), model.Clip(m.GetFamily()))
	case m.GetContextsLog2() > maxContextsLog2 || m.GetRunsLog2() > maxRunsLog2 || m.GetRunsLog2() < m.GetContextsLog2():
		return malformed("of 2^%d contexts and 2^%d runs; at most 2^%d and 2^%d, and a run a context",
			m.GetContextsLog2(), m.GetRunsLog2(), maxContextsLog2, maxRunsLog2)
	case len(m.GetSizes()) > predict.MaxSizes:
		return malformed("%d sizes, at most %d", len(m.GetSizes()), predict.MaxSizes)
	case len(m.GetValues()) > predict.MaxWeights:
		return malformed("%d values, at most %d", len(m.GetValues()), predict.MaxWeights)
	}
	w := &predict.Weights{
		Family: m.GetFamily(), Contexts: 1 << m.GetContextsLog2(), Runs: 1 << m.GetRunsLog2(),
		Values: make([]float64, len(m.GetValues())),
	}
	for _, a := range m.GetArguments() {
		if err := (model.Argument{Name: a.GetName()}).Validate(); err != nil {
			return malformed("%w", err)
		}
		w.Arguments = append(w.Arguments, predict.WeightArgument{Name: a.GetName(), Text: a.GetText(), Optional: a.GetOptional()})
	}
	for _, s := range m.GetSizes() {
		w.Sizes = append(w.Sizes, int(s))
	}
	for i, v := range m.GetValues() {
		w.Values[i] = float64(v)
	}
	if err := w.Validate(); err != nil {
		return malformed("%w", err)
	}
	i := familyIndex(w.Family)
	if i < 0 {
		return nil, unknownFamily(w.Family)
	}
	if err := runtimeFamilies[i].check(w); err != nil {
		return malformed("%w", err)
	}
	return w, nil
}

func unknownFamily(name string) error {
	return fmt.Errorf("%w: %q, known are %q and %q", ErrFamily, model.Clip(name), runtimeFamilies[0].name, runtimeFamilies[1].name)
}

// validateRuntime checks a record of the kind; one of an unknown family by its key.
func validateRuntime(r *Record) error {
	m, err := decodeRuntimeBody(r)
	if err != nil {
		return err
	}
	if _, err := weightsOf(m); err != nil && !errors.Is(err, ErrFamily) {
		return err
	}
	return matchKey(r, RuntimeKey(m.GetFamily()))
}
