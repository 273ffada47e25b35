package share

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/stage"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

const (
	// MinimumQueries is how many queries, or programs where there is no SQL, a stage model
	// needs: its errors are measured on queries that it did not learn from, in five parts.
	MinimumQueries = 5
	// maxStageJobs bounds the executions that are read for one model, the latest first;
	// it learns from at most [stage.MaxStages] stages of them.
	maxStageJobs = 2000
)

// StageSource reads the executions that runs were made of.
type StageSource interface {
	// Executions returns, by the ID of the run, what changes whenever its execution does.
	Executions(ctx context.Context) (map[string]string, error)
	// StageJob returns the stages of a run's execution. It wraps [stage.ErrInput] where
	// there are none.
	StageJob(ctx context.Context, runID string) (stage.Job, error)
}

// stageTrainer makes stage models, one of each infrastructure and framework: a predictor
// for queries never seen needs many queries, so one of a single algorithm would know too
// little and tell too much of it. It keeps each for as long as what it was trained on is
// the same.
type stageTrainer struct {
	made map[model.Topic]stageTrained
}

type stageTrained struct {
	// of is a hash of all that the outcome depends on.
	of [sha256.Size]byte
	// reason is why there is no draft.
	reason string
	draft  Draft
	err    error
}

// prepare returns the models that the policy lets out, and the topics of which none can
// leave. The error is the context's, or the source's.
func (t *stageTrainer) prepare(ctx context.Context, runs []model.Run, policy Policy, source StageSource) ([]Draft, []Withheld, error) {
	if !policy.Stages || source == nil {
		return nil, nil, nil
	}
	versions, err := source.Executions(ctx)
	if err != nil {
		return nil, nil, err
	}
	byTopic := make(map[model.Topic][]model.Run)
	for _, r := range runs {
		topic := commons.StageTopic(r.Workload.Infrastructure, r.Workload.Framework)
		if versions[r.ID()] != "" && r.Outcome == model.OK && policy.sharesStages(r.Workload.Topic()) && policy.sharesStages(topic) {
			byTopic[topic] = append(byTopic[topic], r)
		}
	}
	if t.made == nil {
		t.made = make(map[model.Topic]stageTrained)
	}
	maps.DeleteFunc(t.made, func(topic model.Topic, _ stageTrained) bool { return byTopic[topic] == nil })
	var drafts []Draft
	var withheld []Withheld
	for _, topic := range slices.SortedFunc(maps.Keys(byTopic), func(a, b model.Topic) int { return cmp.Compare(a.String(), b.String()) }) {
		m, err := t.train(ctx, topic, byTopic[topic], versions, policy, source)
		switch {
		case err != nil:
			return nil, nil, err
		case m.err != nil:
			withheld = append(withheld, unfit(topicWorkload(topic), fmt.Errorf("its stage model cannot be made: %w", m.err)))
		case m.reason != "":
			withheld = append(withheld, Withheld{Workload: topicWorkload(topic), Reason: "stage model: " + m.reason})
		default:
			drafts = append(drafts, m.draft)
		}
	}
	return drafts, withheld, nil
}

// train makes the model of a topic from its completed runs, unless it is made already.
func (t *stageTrainer) train(
	ctx context.Context, topic model.Topic, runs []model.Run, versions map[string]string, policy Policy, source StageSource,
) (stageTrained, error) {
	slices.SortFunc(runs, func(a, b model.Run) int { return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID(), b.ID())) })
	runs = runs[max(0, len(runs)-maxStageJobs):]
	h := sha256.New()
	h.Write(fmt.Appendf(nil, "%d %g\n", policy.MinimumRuns, policy.Epsilon))
	for _, r := range runs {
		h.Write(fmt.Appendf(nil, "%s %q %q\n", r.ID(), r.Workload.Identity(), versions[r.ID()]))
	}
	of := [sha256.Size]byte(h.Sum(nil))
	if m, ok := t.made[topic]; ok && m.of == of {
		return m, nil
	}
	m := stageTrained{of: of}
	if policy.Epsilon > 0 {
		m.reason = "its leaves would leave without the noise that share.epsilon asks for"
	} else {
		jobs, left, err := stageJobs(ctx, runs, policy.MinimumRuns, source)
		if err != nil {
			return m, err
		}
		if n := queries(jobs); n < MinimumQueries {
			m.reason = fmt.Sprintf("%d applications of %d queries with stages, beside %d of workloads with fewer than %d; it takes %d queries",
				len(jobs), n, left, policy.MinimumRuns, MinimumQueries)
		} else if m.draft, err = trainStages(ctx, topic, jobs); errors.Is(err, stage.ErrNoHistory) {
			m.reason = err.Error()
		} else {
			m.err = err
		}
	}
	if err := ctx.Err(); err != nil {
		return m, err
	}
	t.made[topic] = m
	return m, nil
}

// stageJobs reads the stages behind runs, which are the oldest first, of workloads that
// have at least so many with stages, and counts those of the others. Names are left out.
func stageJobs(ctx context.Context, runs []model.Run, minimum int, source StageSource) (jobs []stage.Job, left int, err error) {
	type one struct {
		job      stage.Job
		identity string
	}
	var read []one
	counts := make(map[string]int)
	stages := 0
	for _, r := range slices.Backward(runs) {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		j, err := source.StageJob(ctx, r.ID())
		if errors.Is(err, stage.ErrInput) {
			continue // it tells nothing of stages
		}
		if err != nil {
			return nil, 0, err
		}
		if len(j.Graph.Stages) > stage.MaxStages {
			continue // a stream of weeks, which would be all that counts
		}
		if stages += len(j.Graph.Stages); stages > stage.MaxStages {
			break
		}
		for i := range j.Graph.Stages {
			j.Graph.Stages[i].Name, j.Graph.Stages[i].Details = "", ""
		}
		read = append(read, one{j, r.Workload.Identity()})
		counts[r.Workload.Identity()]++
	}
	for _, o := range slices.Backward(read) {
		if counts[o.identity] < minimum {
			left++
			continue
		}
		jobs = append(jobs, o.job)
	}
	stage.FillSlots(jobs)
	return jobs, left, nil
}

// queries counts the groups of jobs.
func queries(jobs []stage.Job) int {
	groups := make(map[string]bool)
	for _, j := range jobs {
		groups[j.Group] = true
	}
	return len(groups)
}

// trainStages fits a model and makes sure that peers can use it.
func trainStages(ctx context.Context, topic model.Topic, jobs []stage.Job) (Draft, error) {
	general, err := stage.Fit(ctx, jobs, stage.Options{})
	if err != nil {
		return Draft{}, err
	}
	weights, err := general.Weights()
	if err != nil {
		return Draft{}, err
	}
	m, err := commons.EncodeStageModel(weights)
	if err != nil {
		return Draft{}, fmt.Errorf("peers would refuse it: %w", err)
	}
	d := Draft{
		Topic: topic, Kind: karasuv1.RecordKind_RECORD_KIND_STAGE_MODEL,
		Key: commons.StageKey(weights.Family), Stage: m,
	}
	if err := d.encode(m); err != nil {
		return Draft{}, err
	}
	if len(d.Body) > maxBody {
		return Draft{}, errors.New("it is larger than a record")
	}
	return d, nil
}
