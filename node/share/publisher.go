package share

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// renewAfter is the share of its lifetime after which an unchanged record is signed
// anew, so that a daemon that runs at all keeps its records alive.
const renewAfter = 0.5

// Commons is what the publisher needs of the store of shared records.
type Commons interface {
	All(match func(model.Topic) bool) ([]*commons.Record, error)
	NextRevision(by commons.Writer, topic model.Topic, key string) uint64
	SigningRevision(next uint64) uint64
	Source() ([]byte, error)
	SetSource(source []byte) error
}

// Publisher signs what the policy lets out and keeps the commons in step with the
// private runs. It is safe for concurrent use.
type Publisher struct {
	Signer       *commons.Signer
	Organisation string
	Policy       Policy
	Pseudonyms   Pseudonymizer
	Lookup       MachineLookup
	// Stages is what stage models are trained on; nil makes none.
	Stages  StageSource
	Commons Commons
	// Publish stores own records in the commons and gossips them.
	Publish func(ctx context.Context, records []*commons.Record) error
	Now     func() time.Time
	// Logger is told what cannot be shared; nil is silence.
	Logger *slog.Logger

	mu sync.Mutex
	// trainer and stages keep the models that were trained last.
	trainer runtimeTrainer
	stages  stageTrainer
	// said has what was logged of each workload at the last refresh.
	said map[string]string
	// saidLost is set once it was logged that the private database is another one.
	saidLost bool
}

// Preview is what leaves now, and what does not.
type Preview struct {
	// Policy is what it is under.
	Policy   Policy
	Records  []PreviewedRecord
	Withheld []Withheld
}

// PreviewedRecord is a record as it is, or would be, signed.
type PreviewedRecord struct {
	Draft  Draft
	Record *commons.Record
	// Wire is the record's decoded form.
	Wire *karasuv1.Record
	// Shared says that the commons holds exactly this body.
	Shared bool
}

// Trial changes the policy of a preview. The zero value changes nothing.
type Trial struct {
	// Mode becomes that of every topic.
	Mode Mode
	// Runtimes shares runtime models, Stages stage models, too.
	Runtimes, Stages bool
	// Epsilon above 0 replaces that of the policy.
	Epsilon float64
}

// Preview shows exactly the records that leave for these runs, or those that would
// leave under another policy. It stores nothing.
func (p *Publisher) Preview(ctx context.Context, runs []model.Run, trial Trial) (*Preview, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	policy := p.Policy
	if trial.Mode != "" {
		policy.Mode = trial.Mode
		policy.Overrides = slices.DeleteFunc(slices.Clone(policy.Overrides), func(o Override) bool { return !o.Retraction })
	}
	policy.Runtimes, policy.Stages = policy.Runtimes || trial.Runtimes, policy.Stages || trial.Stages
	if trial.Epsilon != 0 {
		policy.Epsilon = trial.Epsilon
	}
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	drafts, withheld := Prepare(runs, policy, p.Pseudonyms, p.Lookup)
	models, none, err := p.trainer.prepare(ctx, runs, policy, p.Pseudonyms, p.Lookup)
	if err != nil {
		return nil, err
	}
	drafts, withheld = append(drafts, models...), append(withheld, none...)
	if models, none, err = p.stages.prepare(ctx, runs, policy, p.Stages); err != nil {
		return nil, err
	}
	drafts, withheld = append(drafts, models...), append(withheld, none...)
	current, err := p.current()
	if err != nil {
		return nil, err
	}
	workloads := p.workloads(runs)
	out := &Preview{Policy: policy, Withheld: withheld}
	for _, d := range drafts {
		if r, ok := current[slot{d.Topic, d.Key}]; ok && bytes.Equal(r.Body, d.Body) {
			out.Records = append(out.Records, PreviewedRecord{Draft: d, Record: r, Wire: wireOf(r), Shared: true})
			continue
		}
		r, err := p.sign(d)
		if err != nil {
			out.Withheld = append(out.Withheld, unfit(d.workload(workloads), err))
			continue
		}
		out.Records = append(out.Records, PreviewedRecord{Draft: d, Record: r, Wire: wireOf(r)})
	}
	return out, nil
}

// Refreshed counts the records that a refresh published; of a batch with an error none
// counts.
type Refreshed struct {
	// Shared are new or renewed records, Withdrawn the retractions of others.
	Shared, Withdrawn int
}

// Refresh makes the commons hold what the policy lets out for these runs: it
// retracts what may no longer be shared, then publishes what changed and renews what
// grows old. What cannot be shared is logged and keeps nothing else from it; the error
// is about records that were to be published.
func (p *Publisher) Refresh(ctx context.Context, runs []model.Run) (Refreshed, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	current, err := p.current()
	if err != nil {
		return Refreshed{}, err
	}
	former, formerErr := p.withdrawFormer(ctx)
	lost, err := p.lost(ctx, current)
	if err != nil {
		return Refreshed{}, err
	}
	// Runtime and stage models take long to train, so they come last.
	runtimes := p.take(current, karasuv1.RecordKind_RECORD_KIND_RUNTIME_MODEL)
	stages := p.take(current, karasuv1.RecordKind_RECORD_KIND_STAGE_MODEL)
	workloads := p.workloads(runs)
	drafts, withheld := Prepare(runs, p.Policy, p.Pseudonyms, p.Lookup)
	done, unsigned, err := p.replace(ctx, current, drafts, lost, workloads)
	withheld, errs := append(withheld, unsigned...), []error{formerErr, err}
	done.Withdrawn += former

	trained := func(current map[slot]*commons.Record, models []Draft, none []Withheld, err error) {
		withheld, errs = append(withheld, none...), append(errs, err)
		if err == nil {
			more, unsigned, err := p.replace(ctx, current, models, lost, workloads)
			withheld, errs = append(withheld, unsigned...), append(errs, err)
			done.Shared, done.Withdrawn = done.Shared+more.Shared, done.Withdrawn+more.Withdrawn
		}
	}
	models, none, err := p.trainer.prepare(ctx, runs, p.Policy, p.Pseudonyms, p.Lookup)
	trained(runtimes, models, none, err)
	models, none, err = p.stages.prepare(ctx, runs, p.Policy, p.Stages)
	trained(stages, models, none, err)
	p.report(ctx, withheld)
	return done, errors.Join(errs...)
}

// take moves the records of a kind that may leave out of the current ones.
func (p *Publisher) take(current map[slot]*commons.Record, kind karasuv1.RecordKind) map[slot]*commons.Record {
	out := make(map[slot]*commons.Record)
	for s, r := range current {
		if r.Kind == kind && p.Policy.allows(s.topic, r.Kind) {
			out[s] = r
			delete(current, s)
		}
	}
	return out
}

// replace makes the commons hold the drafts in place of the current records, except
// for those that stay as the private database is another one. It returns the drafts
// that could not be signed.
func (p *Publisher) replace(
	ctx context.Context, current map[slot]*commons.Record, drafts []Draft, lost bool, workloads map[string]model.Workload,
) (Refreshed, []Withheld, error) {
	wanted := make(map[slot]bool, len(drafts))
	for _, d := range drafts {
		wanted[slot{d.Topic, d.Key}] = true
	}
	for s, r := range current {
		if lost && p.Policy.allows(s.topic, r.Kind) {
			wanted[s] = true
		}
	}
	retracted, err := p.retract(ctx, current, wanted)
	errs := []error{err}

	var records []*commons.Record
	var withheld []Withheld
	for _, d := range drafts {
		r, exists := current[slot{d.Topic, d.Key}]
		if exists && bytes.Equal(r.Body, d.Body) && !p.old(r) {
			continue
		}
		signed, err := p.sign(d)
		if err != nil {
			withheld = append(withheld, unfit(d.workload(workloads), err))
			continue
		}
		records = append(records, signed)
	}
	shared, err := p.publish(ctx, records)
	return Refreshed{Shared: shared, Withdrawn: retracted}, withheld, errors.Join(append(errs, err)...)
}

// lost says whether the current records are from another private database than the
// one at hand: then that they have no runs does not mean that they were deleted, and
// only the policy withdraws them. Once there are none left the one at hand takes over.
func (p *Publisher) lost(ctx context.Context, current map[slot]*commons.Record) (bool, error) {
	here := p.Pseudonyms.Source()
	source, err := p.Commons.Source()
	switch {
	case err != nil:
		return false, err
	case bytes.Equal(source, here):
		return false, nil
	case source == nil || len(current) == 0:
		return false, p.Commons.SetSource(here)
	}
	if !p.saidLost && p.Logger != nil {
		p.Logger.ErrorContext(ctx, "the private database is not the one whose runs were shared, so nothing of it is retracted: "+
			"restore it from a backup, or start once with policy = \"off\" under [share], which withdraws all", "records", len(current))
	}
	p.saidLost = true
	return true, nil
}

// retract withdraws the current records that are not wanted, in order, before and
// apart from all else: nothing must keep a withdrawal from leaving.
func (p *Publisher) retract(ctx context.Context, current map[slot]*commons.Record, wanted map[slot]bool) (int, error) {
	return p.retractAs(ctx, p.Signer, current, wanted)
}

func (p *Publisher) retractAs(ctx context.Context, signer *commons.Signer, current map[slot]*commons.Record, wanted map[slot]bool) (int, error) {
	var records []*commons.Record
	var errs []error
	for _, s := range slices.SortedFunc(maps.Keys(current), slot.compare) {
		if wanted[s] {
			continue
		}
		r, err := p.signAs(signer, Draft{Topic: s.topic, Key: s.key, Kind: karasuv1.RecordKind_RECORD_KIND_RETRACTION})
		if err != nil {
			errs = append(errs, fmt.Errorf("retract %s: %w", s.key, err))
			continue
		}
		records = append(records, r)
	}
	n, err := p.publish(ctx, records)
	return n, errors.Join(append(errs, err)...)
}

// publish returns how many records that was.
func (p *Publisher) publish(ctx context.Context, records []*commons.Record) (int, error) {
	if len(records) == 0 {
		return 0, nil
	}
	if err := p.Publish(ctx, records); err != nil {
		return 0, err
	}
	return len(records), nil
}

// workloads finds a workload by its pseudonym.
func (p *Publisher) workloads(runs []model.Run) map[string]model.Workload {
	out := make(map[string]model.Workload)
	for _, r := range runs {
		out[p.Pseudonyms.Workload(r.Workload)] = r.Workload
	}
	return out
}

// report logs what cannot be shared, each time for another reason once. Names of jobs
// are for the preview.
func (p *Publisher) report(ctx context.Context, withheld []Withheld) {
	said := make(map[string]string)
	for _, w := range withheld {
		if w.Err == nil {
			continue
		}
		who := p.Pseudonyms.Workload(w.Workload)
		said[who] = w.Reason
		if p.Logger != nil && p.said[who] != w.Reason {
			p.Logger.ErrorContext(ctx, "workload cannot be shared; karasu share preview names it", "workload", who, "topic", w.Workload.Topic().String(), "error", w.Err)
		}
	}
	p.said = said
}

type slot struct {
	topic model.Topic
	key   string
}

func (s slot) compare(o slot) int {
	return cmp.Or(cmp.Compare(s.topic.String(), o.topic.String()), cmp.Compare(s.key, o.key))
}

// current returns the own records that count, by where they stand.
func (p *Publisher) current() (map[slot]*commons.Record, error) {
	return p.currentOf(p.Signer.Writer())
}

// withdrawFormer retracts what this host shared as an organisation of its own, before it
// signed for another: what counts twice would weigh twice.
func (p *Publisher) withdrawFormer(ctx context.Context) (int, error) {
	if p.Signer.Delegation() == nil {
		return 0, nil
	}
	former, err := p.currentOf(p.Signer.Own().Writer())
	if err != nil || len(former) == 0 {
		return 0, err
	}
	return p.retractAs(ctx, p.Signer.Own(), former, nil)
}

func (p *Publisher) currentOf(by commons.Writer) (map[slot]*commons.Record, error) {
	records, err := p.Commons.All(func(model.Topic) bool { return true })
	if err != nil {
		return nil, err
	}
	current := make(map[slot]*commons.Record)
	for _, r := range records {
		if r.By() == by && shareable(r.Kind) {
			current[slot{r.Topic, r.Key}] = r
		}
	}
	return current, nil
}

// shareable says whether records of a kind follow the private runs: not what says who
// is in a circle, whose a host is or what a node serves.
func shareable(kind karasuv1.RecordKind) bool {
	switch kind {
	case karasuv1.RecordKind_RECORD_KIND_MEMBERSHIP, karasuv1.RecordKind_RECORD_KIND_ANNOUNCEMENT, karasuv1.RecordKind_RECORD_KIND_DELEGATION:
		return false
	}
	return true
}

// old says whether a record is past half of its life, and a new one would live longer: a
// delegation may not let it.
func (p *Publisher) old(r *commons.Record) bool {
	life := r.NotAfter.Sub(r.Created)
	next := p.Signer.Until(p.today().Add(p.Policy.ValidFor))
	return p.Now().After(r.Created.Add(time.Duration(renewAfter*float64(life)))) && next.Sub(r.NotAfter) >= 24*time.Hour
}

// today is the time that records are created at: rounded to the day, so that a record
// does not tell when a job ran. A day's start is never in the future.
func (p *Publisher) today() time.Time { return p.Now().UTC().Truncate(24 * time.Hour) }

func (p *Publisher) sign(d Draft) (*commons.Record, error) { return p.signAs(p.Signer, d) }

func (p *Publisher) signAs(signer *commons.Signer, d Draft) (*commons.Record, error) {
	created := p.today()
	if g := signer.Delegation(); g != nil && p.Now().After(g.NotAfter) {
		return nil, fmt.Errorf("%w: the delegation of this host ended on %s; get a new one, beginning with: karasu org request",
			commons.ErrDelegation, g.NotAfter.Format(time.DateOnly))
	}
	until := signer.Until(created.Add(p.Policy.ValidFor))
	if d.Kind == karasuv1.RecordKind_RECORD_KIND_RETRACTION {
		// A retraction has to outlive what it withdraws, or a peer that missed it
		// could bring that back.
		until = created.Add(maxValidFor)
	}
	return signer.Seal(&karasuv1.Record{
		Topic: d.Topic.String(), Kind: d.Kind, Key: d.Key,
		Revision: p.Commons.SigningRevision(p.Commons.NextRevision(signer.Writer(), d.Topic, d.Key)),
		Created:  created.Unix(), NotAfter: until.Unix(),
		Organisation: p.Organisation, Body: d.Body,
	})
}

func wireOf(r *commons.Record) *karasuv1.Record {
	w := &karasuv1.Record{
		Major: commons.Major, Minor: commons.Minor,
		Topic: r.Topic.String(), Kind: r.Kind, Key: r.Key, Revision: r.Revision,
		Created: r.Created.Unix(), NotAfter: r.NotAfter.Unix(),
		Organisation: r.Organisation, Body: r.Body,
	}
	if r.Delegation != nil {
		w.Delegation = r.Delegation.Envelope
	}
	return w
}
