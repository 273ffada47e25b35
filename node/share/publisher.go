package share

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// Wire version of the records that this node signs.
const (
	wireMajor = 1
	wireMinor = 0
)

// renewAfter is the share of its lifetime after which an unchanged record is signed
// anew, so that a daemon that runs at all keeps its records alive.
const renewAfter = 0.5

// Commons is what the publisher needs of the store of shared records.
type Commons interface {
	All(match func(model.Topic) bool) ([]*commons.Record, error)
	NextRevision(author peer.ID, topic model.Topic, key string) uint64
}

// Publisher signs what the policy lets out and keeps the commons in step with the
// private runs. It is safe for concurrent use.
type Publisher struct {
	Key          crypto.PrivKey
	Organisation string
	Policy       Policy
	Pseudonyms   Pseudonymizer
	Lookup       MachineLookup
	Commons      Commons
	// Publish stores own records in the commons and gossips them.
	Publish func(ctx context.Context, records []*commons.Record) error
	Now     func() time.Time

	mu sync.Mutex
}

// Preview is what leaves now, and what does not.
type Preview struct {
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

// Preview shows exactly the records that leave for these runs. It stores nothing.
func (p *Publisher) Preview(runs []model.Run) (*Preview, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	drafts, withheld, err := Prepare(runs, p.Policy, p.Pseudonyms, p.Lookup)
	if err != nil {
		return nil, err
	}
	current, err := p.current()
	if err != nil {
		return nil, err
	}
	out := &Preview{Withheld: withheld}
	for _, d := range drafts {
		if r, ok := current[slot{d.Topic, d.Key}]; ok && bytes.Equal(r.Body, d.Body) {
			out.Records = append(out.Records, PreviewedRecord{Draft: d, Record: r, Wire: wireOf(r), Shared: true})
			continue
		}
		r, err := p.sign(d)
		if err != nil {
			return nil, err
		}
		out.Records = append(out.Records, PreviewedRecord{Draft: d, Record: r, Wire: wireOf(r)})
	}
	return out, nil
}

// Refresh makes the commons hold what the policy lets out for these runs: it
// publishes what changed, renews what grows old and retracts what may no longer be
// shared. It returns the number of records signed.
func (p *Publisher) Refresh(ctx context.Context, runs []model.Run) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	drafts, _, err := Prepare(runs, p.Policy, p.Pseudonyms, p.Lookup)
	if err != nil {
		return 0, err
	}
	current, err := p.current()
	if err != nil {
		return 0, err
	}
	var records []*commons.Record
	sign := func(d Draft) error {
		r, err := p.sign(d)
		records = append(records, r)
		return err
	}
	for _, d := range drafts {
		s := slot{d.Topic, d.Key}
		r, exists := current[s]
		delete(current, s)
		if exists && bytes.Equal(r.Body, d.Body) && !p.old(r) {
			continue
		}
		if err := sign(d); err != nil {
			return 0, err
		}
	}
	for s := range current {
		if err := sign(Draft{Topic: s.topic, Key: s.key, Kind: karasuv1.RecordKind_RECORD_KIND_RETRACTION}); err != nil {
			return 0, err
		}
	}
	if len(records) == 0 {
		return 0, nil
	}
	return len(records), p.Publish(ctx, records)
}

type slot struct {
	topic model.Topic
	key   string
}

// current returns the own records that count, by where they stand.
func (p *Publisher) current() (map[slot]*commons.Record, error) {
	self, err := peer.IDFromPrivateKey(p.Key)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	records, err := p.Commons.All(func(model.Topic) bool { return true })
	if err != nil {
		return nil, err
	}
	current := make(map[slot]*commons.Record)
	for _, r := range records {
		if r.Author == self {
			current[slot{r.Topic, r.Key}] = r
		}
	}
	return current, nil
}

func (p *Publisher) old(r *commons.Record) bool {
	life := r.NotAfter.Sub(r.Created)
	return p.Now().After(r.Created.Add(time.Duration(renewAfter * float64(life))))
}

func (p *Publisher) sign(d Draft) (*commons.Record, error) {
	self, err := peer.IDFromPrivateKey(p.Key)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	// Times are rounded to the day, so that a record does not tell when a job ran.
	// A day's start is never in the future.
	created := p.Now().UTC().Truncate(24 * time.Hour)
	life := p.Policy.ValidFor
	if d.Kind == karasuv1.RecordKind_RECORD_KIND_RETRACTION {
		// A retraction has to outlive what it withdraws, or a peer that missed it
		// could bring that back.
		life = maxValidFor
	}
	return commons.Seal(p.Key, &karasuv1.Record{
		Major: wireMajor, Minor: wireMinor,
		Topic: d.Topic.String(), Kind: d.Kind, Key: d.Key,
		Revision: p.Commons.NextRevision(self, d.Topic, d.Key),
		Created:  created.Unix(), NotAfter: created.Add(life).Unix(),
		Organisation: p.Organisation, Body: d.Body,
	})
}

func wireOf(r *commons.Record) *karasuv1.Record {
	return &karasuv1.Record{
		Major: wireMajor, Minor: wireMinor,
		Topic: r.Topic.String(), Kind: r.Kind, Key: r.Key, Revision: r.Revision,
		Created: r.Created.Unix(), NotAfter: r.NotAfter.Unix(),
		Organisation: r.Organisation, Body: r.Body,
	}
}
