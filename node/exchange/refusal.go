package exchange

import (
	"maps"
	"strings"
	"sync"
	"time"
)

// Reason says why a record or a stream was refused. Reasons are stable: metrics
// and `karasu peers` name them.
type Reason string

// The reasons.
const (
	Malformed   Reason = "malformed"    // does not parse, or a field is out of bounds
	Oversize    Reason = "oversize"     // above commons.MaxEnvelope
	Forged      Reason = "forged"       // the signature is not the author's
	Undelegated Reason = "undelegated"  // the host may not sign that for the organisation
	Ended       Reason = "ended"        // the organisation has ended the delegation
	NotMember   Reason = "not_member"   // the organisation is not in the circle
	WrongTopic  Reason = "wrong_topic"  // the record is bound to another topic
	BadBody     Reason = "bad_body"     // the body does not fit its kind or key
	Version     Reason = "version"      // another major version
	FarFuture   Reason = "far_future"   // created more than a day ahead
	Future      Reason = "future"       // created more than ten minutes ahead
	Expired     Reason = "expired"      // not_after has passed
	Duplicate   Reason = "duplicate"    // is held already
	Stale       Reason = "stale"        // a newer revision is held
	QuotaCount  Reason = "quota_count"  // the author has as many records as it may
	QuotaBytes  Reason = "quota_bytes"  // the author has as many bytes as it may
	QuotaTopics Reason = "quota_topics" // the author has records in as many topics as it may
	QuotaTotal  Reason = "quota_total"  // the commons are full
	QuotaAuthor Reason = "quota_author" // there are as many authors as there may be
	Rate        Reason = "rate"         // the author publishes too fast
	Unwanted    Reason = "unwanted"     // no pattern selects the topic
	Unasked     Reason = "unasked"      // sent on a sync stream without having been asked for
	Greylisted  Reason = "greylisted"   // the peer sent too much that is its fault
	TopicLimit  Reason = "topic_limit"  // a topic was not joined, as there are too many
	StoreFailed Reason = "store_failed" // our own disk
	// Of sync streams.
	Protocol Reason = "protocol"  // the peer broke the protocol
	TooSlow  Reason = "too_slow"  // the peer took too long
	Busy     Reason = "busy"      // too many streams at once
	TooOften Reason = "too_often" // too many streams in a row
)

// Verdict is what to do with a record's sender.
type Verdict int

const (
	// Ignore drops the record; it may not be the sender's fault.
	Ignore Verdict = iota
	// Reject drops the record and holds it against the sender: an honest node never
	// passes such a thing on.
	Reject
)

// RefusalError is the error that a [Validator] returns.
type RefusalError struct {
	Reason  Reason
	Verdict Verdict
	// Err has the details; it may be nil.
	Err error
}

// Error returns the reason and the details.
func (r *RefusalError) Error() string {
	if r.Err == nil {
		return "refused: " + string(r.Reason)
	}
	return "refused: " + string(r.Reason) + ": " + r.Err.Error()
}

// text is the details, or else the reason, cut to what a table or a log takes.
func (r *RefusalError) text() string {
	const limit = 200
	if r.Err == nil {
		return string(r.Reason)
	}
	s := r.Err.Error()
	return strings.ToValidUTF8(s[:min(len(s), limit)], "")
}

// Unwrap returns the details.
func (r *RefusalError) Unwrap() error { return r.Err }

func reject(reason Reason, err error) *RefusalError { return &RefusalError{reason, Reject, err} }
func ignore(reason Reason, err error) *RefusalError { return &RefusalError{reason, Ignore, err} }

// Stats count what happened since the exchange was made.
type Stats struct {
	// RecordsIn were new to the commons and RecordsOut were sent: published or
	// handed over in a sync, once for each peer.
	RecordsIn, RecordsOut uint64
	// Rejected counts refusals by reason; reasons that did not occur are absent.
	Rejected map[Reason]uint64
	// SyncBytesIn and SyncBytesOut are the payload of sync streams.
	SyncBytesIn, SyncBytesOut uint64
	// SyncRounds are turns of sync streams: something was sent, and something came back.
	SyncRounds uint64
	// Syncs are sessions that ended well, SyncsFailed the others, both directions.
	Syncs, SyncsFailed uint64
	// LastSync is when the last session ended well; zero is never.
	LastSync time.Time
	// Topics are joined at the moment.
	Topics int
}

// counters collect Stats. They are safe for concurrent use.
type counters struct {
	mu sync.Mutex
	s  Stats
}

func newCounters() *counters { return &counters{s: Stats{Rejected: make(map[Reason]uint64)}} }

func (c *counters) refused(r Reason) {
	c.mu.Lock()
	c.s.Rejected[r]++
	c.mu.Unlock()
}

func (c *counters) add(f func(*Stats)) {
	c.mu.Lock()
	f(&c.s)
	c.mu.Unlock()
}

func (c *counters) stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.s
	s.Rejected = maps.Clone(c.s.Rejected)
	return s
}
