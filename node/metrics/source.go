package metrics

import (
	"context"
	"time"
)

// Source is what the metrics are read from. Its functions must be safe for concurrent
// use; one that is nil leaves its metrics out.
type Source struct {
	// Version of the program.
	Version string
	// Exchange tells what was exchanged since the start.
	Exchange func() Exchange
	// Network tells of connections.
	Network func() Network
	// Stores tells what the databases hold. An error leaves their metrics out of a
	// scrape, which fails.
	Stores func(ctx context.Context) (Stores, error)
}

// Exchange counts since the daemon's start.
type Exchange struct {
	RecordsIn, RecordsOut     uint64
	Rejected                  map[string]uint64 // by reason
	SyncBytesIn, SyncBytesOut uint64
	// SyncRounds are exchanges of messages within sessions.
	SyncRounds         uint64
	Syncs, SyncsFailed uint64
	// LastSync is when a session last ended well; zero is never.
	LastSync   time.Time
	Topics     int // joined
	Greylisted int // peers
}

// Network is how a node is connected now.
type Network struct {
	Connected, UnreachableBootstrap int
	// Mesh has the mesh peers of each joined topic.
	Mesh map[string]int
	// Dropped are gossip messages that peers were too slow to take, since the start.
	Dropped uint64
	// Refused are connections to or from strangers, since the start.
	Refused uint64
}

// Stores is what the databases hold.
type Stores struct {
	// Bytes on disk by database.
	Bytes map[string]int64
	// Records held in the commons, whatever their state.
	Records int
	// Runs in the private database.
	Runs int
}
