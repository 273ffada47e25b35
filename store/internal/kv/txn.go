package kv

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// Errors of transactions.
var (
	// ErrNotFound says that a key is absent.
	ErrNotFound = errors.New("store: not found")
	// ErrTooLarge says that a transaction holds too much.
	ErrTooLarge = errors.New("store: too large")
)

// Txn is a transaction. It must not outlive the function that it was passed to.
type Txn struct{ t *badger.Txn }

// Get returns a copy of the value, [ErrNotFound] or [ErrCorrupt].
func (t *Txn) Get(key []byte) ([]byte, error) {
	item, err := t.t.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, fmt.Errorf("%w: key %q", ErrNotFound, key)
	}
	if err != nil {
		return nil, fmt.Errorf("store: reading %q: %w", key, err)
	}
	return value(item)
}

// Has says whether the key is present.
func (t *Txn) Has(key []byte) (bool, error) {
	_, err := t.t.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Set writes a value. The transaction keeps the key.
func (t *Txn) Set(key, payload []byte) error {
	return t.t.Set(key, frame(key, payload))
}

// Delete removes a key; an absent one is no error.
func (t *Txn) Delete(key []byte) error { return t.t.Delete(key) }

// Each calls fn with every key of a prefix, in order, and its value. Both are
// copies. An error of fn ends it and is returned.
func (t *Txn) Each(prefix []byte, fn func(key, payload []byte) error) error {
	return t.iterate(prefix, true, func(item *badger.Item) error {
		payload, err := value(item)
		if err != nil {
			return err
		}
		return fn(item.KeyCopy(nil), payload)
	})
}

// EachKey calls fn with a copy of every key of a prefix, in order.
func (t *Txn) EachKey(prefix []byte, fn func(key []byte) error) error {
	return t.iterate(prefix, false, func(item *badger.Item) error { return fn(item.KeyCopy(nil)) })
}

func (t *Txn) iterate(prefix []byte, values bool, fn func(*badger.Item) error) error {
	opts := badger.DefaultIteratorOptions
	opts.Prefix, opts.PrefetchValues, opts.PrefetchSize = prefix, values, 16
	it := t.t.NewIterator(opts)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		if err := fn(it.Item()); err != nil {
			return err
		}
	}
	return nil
}

func value(item *badger.Item) ([]byte, error) {
	var payload []byte
	err := item.Value(func(b []byte) error {
		p, err := unframe(item.Key(), b)
		payload = bytes.Clone(p)
		return err
	})
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return nil, fmt.Errorf("store: reading %q: %w", item.Key(), err)
	}
	return payload, err
}
