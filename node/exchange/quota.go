package exchange

import (
	"fmt"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"golang.org/x/time/rate"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// Defaults of [Quotas].
const (
	// DefaultRecordsPerAuthor: two records a workload, so 4,096 recurring jobs.
	DefaultRecordsPerAuthor = 8192
	// DefaultBytesPerAuthor is 4 KB for each of these records on average.
	DefaultBytesPerAuthor = 32 << 20
	// DefaultTopicsPerAuthor: an organisation's algorithms on its infrastructures. Half
	// of what a node joins, so that no author can fill that.
	DefaultTopicsPerAuthor = 128
	// DefaultAuthors bounds how many authors an open network may bring.
	DefaultAuthors = 16384
	// DefaultTotalBytes bounds the commons as a whole.
	DefaultTotalBytes = 2 << 30
	// DefaultBurst and DefaultRecordsPerSecond bound what one author may gossip: all
	// it has when it starts, then a record every other second. What is above comes
	// by reconciliation, where only the newest revision of each key counts.
	DefaultBurst            = 1024
	DefaultRecordsPerSecond = 0.5
)

const (
	// usageInterval is how often usage is counted anew. In between it only grows,
	// so that a revision that replaces another counts twice for that long.
	usageInterval = 30 * time.Second
	// bucketIdle is when an author's rate is forgotten: a bucket is full by then.
	bucketIdle = 2 * DefaultBurst / DefaultRecordsPerSecond * time.Second
)

// Quotas bound what is taken from others. Zero fields take the defaults.
type Quotas struct {
	// RecordsPerAuthor and BytesPerAuthor bound what is held of one author.
	RecordsPerAuthor int
	BytesPerAuthor   int64
	// TopicsPerAuthor bounds the topics of one author's records.
	TopicsPerAuthor int
	// Authors and TotalBytes bound what is held of all.
	Authors    int
	TotalBytes int64
	// Burst and RecordsPerSecond bound what one author may gossip.
	Burst            int
	RecordsPerSecond float64
}

func (q Quotas) withDefaults() (Quotas, error) {
	if q.RecordsPerAuthor < 0 || q.BytesPerAuthor < 0 || q.TopicsPerAuthor < 0 || q.Authors < 0 || q.TotalBytes < 0 || q.Burst < 0 || !(q.RecordsPerSecond >= 0) {
		return q, fmt.Errorf("%w: quotas must not be negative: %+v", ErrOptions, q)
	}
	if q.RecordsPerAuthor == 0 {
		q.RecordsPerAuthor = DefaultRecordsPerAuthor
	}
	if q.BytesPerAuthor == 0 {
		q.BytesPerAuthor = DefaultBytesPerAuthor
	}
	if q.TopicsPerAuthor == 0 {
		q.TopicsPerAuthor = DefaultTopicsPerAuthor
	}
	if q.Authors == 0 {
		q.Authors = DefaultAuthors
	}
	if q.TotalBytes == 0 {
		q.TotalBytes = DefaultTotalBytes
	}
	if q.Burst == 0 {
		q.Burst = DefaultBurst
	}
	if q.RecordsPerSecond == 0 {
		q.RecordsPerSecond = DefaultRecordsPerSecond
	}
	return q, nil
}

// usage keeps account of what is held of each author. It is safe for concurrent
// use.
type usage struct {
	quotas Quotas
	store  Store
	// self is the author whose records are this node's own.
	self commons.Writer

	mu      sync.Mutex
	authors map[peer.ID]*account
	total   int64
	counted time.Time
	dirty   bool
}

type account struct {
	records int
	bytes   int64
	// topics are those of what is held; nil is none.
	topics map[model.Topic]struct{}
	bucket *rate.Limiter
	used   time.Time
}

// has says whether a topic takes no place: the control topic never does.
func (a *account) has(t model.Topic) bool {
	_, ok := a.topics[t]
	return ok || t == commons.ControlTopic()
}

func (a *account) add(t model.Topic) {
	if a.has(t) {
		return
	}
	if a.topics == nil {
		a.topics = make(map[model.Topic]struct{})
	}
	a.topics[t] = struct{}{}
}

func newUsage(q Quotas, store Store, self commons.Writer) *usage {
	return &usage{quotas: q, store: store, self: self, authors: make(map[peer.ID]*account), dirty: true}
}

// check says whether one more record fits. Gossip also takes from the author's
// rate. What the others bring is no reason to refuse this node's own records, which
// are only held to what other nodes hold each author to. A retraction of something
// that is held always fits: it frees more than it takes, and works once a record.
func (u *usage) check(r *commons.Record, gossip bool, now time.Time) *RefusalError {
	replaces := u.store.NextRevision(r.By(), r.Topic, r.Key) > 1
	withdraws := r.Kind == karasuv1.RecordKind_RECORD_KIND_RETRACTION && u.store.Withdrawable(r.By(), r.Topic, r.Key)
	own := r.By() == u.self
	u.mu.Lock()
	defer u.mu.Unlock()
	u.recount(now)
	size := int64(len(r.Envelope))
	a := u.authors[r.Author]
	if a == nil {
		if !own && len(u.authors) >= u.quotas.Authors {
			return ignore(QuotaAuthor, nil)
		}
		a = &account{}
		u.authors[r.Author] = a
	}
	a.used = now
	switch {
	case withdraws:
		return nil
	case a.records >= u.quotas.RecordsPerAuthor && !replaces:
		return ignore(QuotaCount, nil)
	case !a.has(r.Topic) && len(a.topics) >= u.quotas.TopicsPerAuthor:
		return ignore(QuotaTopics, nil)
	case a.bytes+size > u.quotas.BytesPerAuthor:
		return ignore(QuotaBytes, nil)
	case !own && u.total+size > u.quotas.TotalBytes:
		return ignore(QuotaTotal, nil)
	}
	// Taken now, so that the rest of a batch is judged by it; counting anew corrects it.
	a.add(r.Topic)
	if own || !gossip {
		return nil
	}
	if a.bucket == nil {
		a.bucket = rate.NewLimiter(rate.Limit(u.quotas.RecordsPerSecond), u.quotas.Burst)
	}
	if !a.bucket.AllowN(now, 1) {
		return ignore(Rate, nil)
	}
	return nil
}

// stored notes a record that is now held.
func (u *usage) stored(r *commons.Record) {
	u.mu.Lock()
	defer u.mu.Unlock()
	a := u.authors[r.Author]
	if a == nil {
		a = &account{}
		u.authors[r.Author] = a
	}
	a.records++
	a.add(r.Topic)
	a.bytes += int64(len(r.Envelope))
	u.total += int64(len(r.Envelope))
	u.dirty = true
}

// prepare counts what is held.
func (u *usage) prepare(now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.recount(now)
}

// recount replaces the estimates by what the store says, now and then. The caller
// holds the lock.
func (u *usage) recount(now time.Time) {
	if !u.dirty && len(u.authors) < u.quotas.Authors || now.Sub(u.counted) < usageInterval {
		return
	}
	u.counted, u.dirty, u.total = now, false, 0
	held := u.store.Authors()
	for id, a := range u.authors {
		a.records, a.bytes = 0, 0
		clear(a.topics)
		if _, ok := held[id]; !ok && now.Sub(a.used) > bucketIdle {
			delete(u.authors, id)
		}
	}
	for id, info := range held {
		a := u.authors[id]
		if a == nil {
			a = &account{}
			u.authors[id] = a
		}
		a.records, a.bytes = info.Records, int64(info.Bytes)
		u.total += a.bytes
	}
	for id, topics := range u.store.AuthorTopics() {
		if a := u.authors[id]; a != nil {
			for _, t := range topics {
				a.add(t)
			}
		}
	}
}
