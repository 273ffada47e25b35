package kv

import (
	"log/slog"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// Settings of Badger. A daemon holds two databases and stays under 150 MB
// resident in all, so each gets a few tens of MiB at most.
const (
	// MemTableSize bounds what one memtable holds. A transaction may take 15% of
	// it: 2.4 MiB, which is [MaxTransaction] and some room.
	MemTableSize = 16 << 20
	// Memtables is how many may wait for being flushed.
	Memtables = 3
	// ValueThreshold keeps every value in the LSM tree: the largest value is an
	// envelope of 256 KiB, so the value log stays empty and needs no rewriting.
	ValueThreshold = 1 << 20
	// DefaultBlockCache holds uncompressed blocks. Databases here are small
	// (thousands of records of a few KB), and a larger cache only adds to the
	// resident size: two databases with 5,000 records and 20,000 runs take 55 MB at
	// rest with it, of which 40 MB are the two memtables being written to.
	DefaultBlockCache = 8 << 20
	// DefaultIndexCache holds tables' indices and Bloom filters, about 5% of a table.
	DefaultIndexCache = 8 << 20
	// ValueLogFileSize is small because Badger maps twice as much per file.
	ValueLogFileSize = 16 << 20
	// DefaultGCInterval is how often the value log is rewritten where that frees
	// at least half of a file.
	DefaultGCInterval = 15 * time.Minute
	// MaxTransaction bounds the bytes of keys and values in one transaction.
	MaxTransaction = 2 << 20
)

// Options of a database. The zero value is what a daemon uses.
type Options struct {
	// Logger gets Badger's messages: its information at debug level. Nil discards.
	Logger *slog.Logger
	// BlockCache and IndexCache are in bytes; 0 means the defaults.
	BlockCache, IndexCache int64
	// GCInterval of [DB.RunGC]; 0 means [DefaultGCInterval].
	GCInterval time.Duration
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Free says how many bytes may still be written to a directory; nil asks the
	// system.
	Free func(dir string) (int64, error)
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.BlockCache <= 0 {
		o.BlockCache = DefaultBlockCache
	}
	if o.IndexCache <= 0 {
		o.IndexCache = DefaultIndexCache
	}
	if o.GCInterval <= 0 {
		o.GCInterval = DefaultGCInterval
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Free == nil {
		o.Free = freeSpace
	}
	return o
}

func (o Options) badger(dir string) badger.Options {
	return badger.DefaultOptions(dir).
		WithSyncWrites(true).
		WithMemTableSize(MemTableSize).
		WithNumMemtables(Memtables).
		WithValueThreshold(ValueThreshold).
		WithValueLogFileSize(ValueLogFileSize).
		WithBlockCacheSize(o.BlockCache).
		WithIndexCacheSize(o.IndexCache).
		// Whole tables are verified before: see tableDamage.
		WithChecksumVerificationMode(options.OnBlockRead).
		WithVerifyValueChecksum(true).
		WithNumCompactors(2).
		WithMetricsEnabled(false).
		WithLogger(newBadgerLog(o.Logger))
}
