package commons

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Why a model that can be used was left out.
var (
	// ErrManyModels says that there are enough others.
	ErrManyModels = errors.New("enough other models")
	// ErrUnguarded says that there are others whose weights can be checked.
	ErrUnguarded = errors.New("nobody can tell its weights from random ones, and there are others")
)

const (
	// MaxRuntimeModels bounds the models of one answer: making one takes tens of
	// milliseconds and 0.3 MB, of the largest that is accepted a third of a second.
	MaxRuntimeModels = 32
	// maxScanned bounds the records that are looked at for one answer, without making
	// their models.
	maxScanned = 4096
	// maxBuilt bounds the models that are kept ready.
	maxBuilt = 2 * MaxRuntimeModels
)

// RuntimeModel is a general model that somebody shares, and where it comes from.
type RuntimeModel struct {
	ID     ID
	Topic  model.Topic
	Author peer.ID
	// Organisation is the display name that the author claims.
	Organisation string
	// Weights may be nil where Err says why.
	Weights *predict.Weights
	// General is nil where Err says why the model cannot be used.
	General predict.General
	Err     error
}

// RuntimeModels answers which general models are shared. It keeps those that it made,
// since that takes longer than to use one. It is safe for concurrent use.
type RuntimeModels struct {
	db *DB
	// Near, if set, says which authors this node is connected to: their models come
	// first, since a connection costs more than a record.
	Near func(peer.ID) bool

	mu    sync.Mutex
	built map[ID]*RuntimeModel
}

// NewRuntimeModels reads from a database.
func NewRuntimeModels(db *DB) *RuntimeModels {
	return &RuntimeModels{db: db, built: make(map[ID]*RuntimeModel)}
}

// For returns the models of a topic's algorithm that others than self share: those of
// the topic itself first, then those of the same framework and algorithm on other
// infrastructures, whose levels need not be alike. Of each author one counts, so that
// none has two voices: of the topic itself before others, of the family that this
// version prefers. Models that cannot be told from random ones count only where a topic
// has no others. What cannot be used is returned apart, with the reason, which may be
// that of fits: models that do not suit the question, such as for arguments that it
// lacks, take no place of others. A nil fits takes all. Both are in order of whom the
// node is connected to, then of a hash of self and author: who makes many records does not
// come before others.
func (q *RuntimeModels) For(topic model.Topic, self Writer, fits func(*predict.Weights) error) (usable, skipped []RuntimeModel, err error) {
	records, err := q.db.all(func(t model.Topic) bool {
		return t.Framework == topic.Framework && t.Algorithm == topic.Algorithm
	}, func(m *meta) bool {
		return m.kind == karasuv1.RecordKind_RECORD_KIND_RUNTIME_MODEL && (m.author != self.Organisation || m.writer != self.Name)
	})
	if err != nil {
		return nil, nil, err
	}
	rank := make(map[peer.ID][]byte)
	for _, r := range records {
		if rank[r.Author] == nil {
			rank[r.Author] = rankAuthor(q.Near, self.Organisation, r.Author)
		}
	}
	slices.SortStableFunc(records, func(a, b *Record) int {
		return cmp.Or(cmp.Compare(elsewhere(a, topic), elsewhere(b, topic)), bytes.Compare(rank[a.Author], rank[b.Author]), cmp.Compare(preference(a), preference(b)))
	})
	if len(records) > maxScanned {
		records = records[:maxScanned]
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.built) > maxBuilt {
		clear(q.built)
	}
	heard := make(map[peer.ID]bool)
	for _, r := range records {
		if heard[r.Author] {
			continue
		}
		if len(usable) == MaxRuntimeModels {
			skipped = append(skipped, RuntimeModel{
				ID: r.ID, Topic: r.Topic, Author: r.Author, Organisation: r.Organisation,
				Err: fmt.Errorf("%w: at most %d count", ErrManyModels, MaxRuntimeModels),
			})
			continue
		}
		m := q.built[r.ID]
		if m == nil && fits != nil {
			if w, err := DecodeRuntimeModel(r); err == nil {
				if err := fits(w); err != nil {
					skipped = append(skipped, RuntimeModel{ID: r.ID, Topic: r.Topic, Author: r.Author, Organisation: r.Organisation, Weights: w, Err: err})
					continue
				}
			}
		}
		if m == nil {
			m = build(r)
			q.built[r.ID] = m
		}
		if m.Err != nil {
			skipped = append(skipped, *m)
			continue
		}
		if fits != nil {
			if err := fits(m.Weights); err != nil {
				unfit := *m
				unfit.General, unfit.Err = nil, err
				skipped = append(skipped, unfit)
				continue
			}
		}
		heard[r.Author] = true
		usable = append(usable, *m)
	}
	usable, unguarded := guard(usable)
	return usable, append(skipped, unguarded...), nil
}

// guard takes out the models that cannot be checked from topics that have others.
func guard(models []RuntimeModel) (kept, left []RuntimeModel) {
	guarded := func(m RuntimeModel) bool { return runtimeFamilies[familyIndex(m.Weights.Family)].guarded }
	has := make(map[model.Topic]bool)
	for _, m := range models {
		has[m.Topic] = has[m.Topic] || guarded(m)
	}
	for _, m := range models {
		if has[m.Topic] && !guarded(m) {
			m.General, m.Err = nil, ErrUnguarded
			left = append(left, m)
			continue
		}
		kept = append(kept, m)
	}
	return kept, left
}

func build(r *Record) *RuntimeModel {
	m := &RuntimeModel{ID: r.ID, Topic: r.Topic, Author: r.Author, Organisation: r.Organisation}
	if m.Weights, m.Err = DecodeRuntimeModel(r); m.Err == nil {
		m.General, m.Err = GeneralOf(m.Weights)
	}
	return m
}

// elsewhere is 0 for a record of the topic and 1 for one of another.
func elsewhere(r *Record, topic model.Topic) int {
	if r.Topic == topic {
		return 0
	}
	return 1
}

// preference orders an author's records: by family, unknown ones last.
func preference(r *Record) int {
	for i, f := range runtimeFamilies {
		if r.Key == RuntimeKey(f.name) {
			return i
		}
	}
	return len(runtimeFamilies)
}
