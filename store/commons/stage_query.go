package commons

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/stage"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

const (
	// MaxStageModels bounds the models of one answer, and those that are kept ready. The
	// largest that is accepted takes some milliseconds to make and 3 MB.
	MaxStageModels = 8
	// maxStageScanned bounds the records that are read for one answer, of up to 256 KB
	// each.
	maxStageScanned = 64
)

// StageModel is a general predictor of stages that somebody shares, and where it comes
// from.
type StageModel struct {
	ID     ID
	Topic  model.Topic
	Author peer.ID
	// Organisation is the display name that the author claims.
	Organisation string
	// General is nil where Err says why the model cannot be used.
	General *stage.General
	Err     error
}

// StageModels answers which stage models are shared, and keeps those that it made. It is
// safe for concurrent use.
type StageModels struct {
	db *DB
	// Near, if set, says which authors this node is connected to: their models come first,
	// since a connection costs more than a record.
	Near func(peer.ID) bool

	mu    sync.Mutex
	built map[ID]*StageModel
}

// NewStageModels reads from a database.
func NewStageModels(db *DB) *StageModels { return &StageModels{db: db} }

// For returns the models for a framework that others than self share: those of the
// infrastructures that are named first, in their order, then those of others, whose levels
// need not be alike. Of each author one counts, so that none has two voices. What cannot be
// used is returned apart, with the reason. Both are in the order of [RuntimeModels.For]: those that
// the node is connected to first, then by a hash of self and author.
func (q *StageModels) For(framework string, infrastructures []string, self Writer) (usable, skipped []StageModel, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	next := make(map[ID]*StageModel)
	heard := make(map[peer.ID]bool)
	scanned := 0
	for _, m := range q.ranked(framework, infrastructures, self) {
		if heard[m.author] {
			continue
		}
		if scanned++; len(usable) == MaxStageModels || scanned > maxStageScanned {
			skipped = append(skipped, StageModel{
				ID: m.id, Topic: m.topic, Author: m.author, Organisation: m.organisation,
				Err: fmt.Errorf("%w: at most %d count", ErrManyModels, MaxStageModels),
			})
			continue
		}
		s := q.built[m.id]
		if s == nil {
			r, err := q.db.Get(m.id)
			if errors.Is(err, ErrNotFound) {
				continue // replaced meanwhile
			}
			if err != nil {
				return nil, nil, err
			}
			s = &StageModel{ID: r.ID, Topic: r.Topic, Author: r.Author, Organisation: r.Organisation}
			s.General, s.Err = DecodeStageModel(r)
		}
		next[m.id] = s
		if s.Err != nil {
			skipped = append(skipped, *s)
			continue
		}
		heard[m.author] = true
		usable = append(usable, *s)
	}
	q.built = next
	return usable, skipped, nil
}

// ranked lists the records of stage models for a framework in the order in which they count.
func (q *StageModels) ranked(framework string, infrastructures []string, self Writer) []*meta {
	q.db.mu.RLock()
	metas := q.db.current(func(t model.Topic) bool {
		return t == StageTopic(t.Infrastructure, framework)
	}, usable)
	q.db.mu.RUnlock()
	metas = slices.DeleteFunc(metas, func(m *meta) bool {
		return m.kind != karasuv1.RecordKind_RECORD_KIND_STAGE_MODEL || m.author == self.Organisation && m.writer == self.Name
	})
	rank := make(map[peer.ID][]byte)
	for _, m := range metas {
		if rank[m.author] == nil {
			rank[m.author] = rankAuthor(q.Near, self.Organisation, m.author)
		}
	}
	place := func(m *meta) int {
		if i := slices.Index(infrastructures, m.topic.Infrastructure); i >= 0 {
			return i
		}
		return len(infrastructures)
	}
	slices.SortStableFunc(metas, func(a, b *meta) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), bytes.Compare(rank[a.author], rank[b.author]))
	})
	return metas
}

// rankAuthor orders authors: those near first, the others by a hash that differs from node
// to node.
func rankAuthor(near func(peer.ID) bool, self, author peer.ID) []byte {
	far := byte(1)
	if near != nil && near(author) {
		far = 0
	}
	h := sha256.Sum256([]byte(string(self) + "\x00" + string(author)))
	return append([]byte{far}, h[:]...)
}
