package share

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/model/runtime/structured"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

const (
	// MinimumContexts is how many contexts (machine type, input size and arguments) a
	// topic needs before a general model of it leaves: with one or two, the points that
	// lie between contexts would tell their runtimes.
	MinimumContexts = 3
	// maxContexts bounds what is trained on: the model itself uses 1,000 medians.
	maxContexts = 1000
)

// runtimeTrainer makes general models of topics. It keeps each for as long as what it
// was trained on is the same: training takes a second or two.
type runtimeTrainer struct {
	made map[model.Topic]trained
}

type trained struct {
	// of is a hash of all that the outcome depends on.
	of    [sha256.Size]byte
	draft Draft
	err   error
}

// prepare returns the models that the policy lets out, one a topic, and the topics of
// which none can leave. The error is the context's.
func (t *runtimeTrainer) prepare(ctx context.Context, runs []model.Run, policy Policy, p Pseudonymizer, lookup MachineLookup) ([]Draft, []Withheld, error) {
	if t.made == nil {
		t.made = make(map[model.Topic]trained)
	}
	t.forget(runs)
	var drafts []Draft
	var withheld []Withheld
	for _, g := range groupTopics(runs, policy.sharesRuntimes) {
		topic := g.Workload.Topic()
		guarded, left := withEnough(g.Runs, policy.MinimumRuns, lookup)
		history, _ := predict.Histories(guarded, func(infrastructure, machineType string) (model.Resources, bool) {
			r, _, ok := lookup(infrastructure, machineType)
			return r, ok
		})
		history = predict.Thin(history, maxContexts)
		contexts, observed := len(history), observations(history)
		if contexts < MinimumContexts {
			withheld = append(withheld, Withheld{Workload: g.Workload, Reason: fmt.Sprintf(
				"runtime model: %d contexts (machine type, input size and arguments) and %d completed runs on known machine types, beside %d of workloads with fewer than %d; it takes %d contexts",
				contexts, observed, left, policy.MinimumRuns, MinimumContexts)})
			continue
		}
		blur(history, topic, p, policy.NoiseScale())
		of := fingerprint(history)
		m, ok := t.made[topic]
		if !ok || m.of != of {
			m = trained{of: of}
			m.draft, m.err = trainRuntime(ctx, topic, history)
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		t.made[topic] = m
		if m.err != nil {
			err := m.err
			if policy.Epsilon > 0 && errors.Is(err, predict.ErrWeights) {
				err = fmt.Errorf("noise of epsilon %g is too large for %d contexts, or the runs are not of one algorithm; raise share.epsilon (0 is no noise) or wait for more runs: %w", policy.Epsilon, contexts, err)
			}
			withheld = append(withheld, unfit(g.Workload, fmt.Errorf("its runtime model cannot be made: %w", err)))
			continue
		}
		drafts = append(drafts, m.draft)
	}
	return drafts, withheld, nil
}

// withEnough returns the runs of the workloads that have at least so many completed
// ones on known machine types, as summaries need them, and how many runs like that the
// others have.
func withEnough(runs []model.Run, minimum int, lookup MachineLookup) (kept []model.Run, left int) {
	counts := func(r model.Run) bool {
		_, _, known := lookup(r.Workload.Infrastructure, r.Configuration.MachineType)
		return known && r.Outcome == model.OK
	}
	observed := make(map[string]int)
	for _, r := range runs {
		if counts(r) {
			observed[r.Workload.Identity()]++
		}
	}
	for _, r := range runs {
		switch {
		case !counts(r):
		case observed[r.Workload.Identity()] >= minimum:
			kept = append(kept, r)
		default:
			left++
		}
	}
	return kept, left
}

// forget drops the models of topics without runs.
func (t *runtimeTrainer) forget(runs []model.Run) {
	known := make(map[model.Topic]bool)
	for _, r := range runs {
		known[r.Workload.Topic()] = true
	}
	maps.DeleteFunc(t.made, func(topic model.Topic, _ trained) bool { return !known[topic] })
}

// trainRuntime fits the default model and makes sure that peers can use it.
func trainRuntime(ctx context.Context, topic model.Topic, history []predict.History) (Draft, error) {
	general, err := structured.New("default", structured.Options{}).Fit(ctx, history)
	if err != nil {
		return Draft{}, err
	}
	weights, err := general.Weights()
	if err != nil {
		return Draft{}, err
	}
	m, err := commons.EncodeRuntimeModel(weights)
	if err != nil {
		return Draft{}, err
	}
	if _, err := commons.GeneralOf(weights); err != nil {
		return Draft{}, fmt.Errorf("peers would refuse it: %w", err)
	}
	d := Draft{
		Topic: topic, Kind: karasuv1.RecordKind_RECORD_KIND_RUNTIME_MODEL,
		Key: commons.RuntimeKey(weights.Family), Runtime: m,
	}
	if err := d.encode(m); err != nil {
		return Draft{}, err
	}
	if len(d.Body) > maxBody {
		return Draft{}, errors.New("it is larger than a record")
	}
	return d, nil
}

// groupTopics splits the runs of the topics that are wanted, in order of the topics.
// The workloads have no names.
func groupTopics(runs []model.Run, wanted func(model.Topic) bool) []Group {
	byTopic := make(map[model.Topic][]model.Run)
	for _, r := range runs {
		if t := r.Workload.Topic(); wanted(t) {
			byTopic[t] = append(byTopic[t], r)
		}
	}
	groups := make([]Group, 0, len(byTopic))
	for t, runs := range byTopic {
		groups = append(groups, Group{Workload: topicWorkload(t), Runs: runs})
	}
	slices.SortFunc(groups, func(a, b Group) int { return slot{topic: a.Workload.Topic()}.compare(slot{topic: b.Workload.Topic()}) })
	return groups
}

// topicWorkload stands for all workloads of a topic.
func topicWorkload(t model.Topic) model.Workload {
	return model.Workload{Infrastructure: t.Infrastructure, Framework: t.Framework, Algorithm: t.Algorithm}
}

func observations(history []predict.History) int {
	n := 0
	for _, h := range history {
		n += len(h.Runs)
	}
	return n
}

// fingerprint hashes a history: contexts and medians, in order.
func fingerprint(history []predict.History) [sha256.Size]byte {
	h := sha256.New()
	for _, c := range history {
		h.Write(fmt.Appendf(nil, "%+v", c.Context))
		for _, s := range predict.Summarise(c.Runs) {
			b := binary.BigEndian.AppendUint64(nil, uint64(s.ScaleOut))
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(s.MedianSeconds))
			h.Write(binary.BigEndian.AppendUint64(b, uint64(s.Repeats)))
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}
