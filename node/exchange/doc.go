// Package exchange spreads signed records between nodes and keeps out what does
// not belong.
//
// Gossip is the fast path: a record goes to everybody who has joined its topic,
// within a second, unless a queue is full. Reconciliation is the guarantee: two
// nodes compare what they hold and fetch what they lack, also records of authors
// that are away. Both pass one [Validator]; what it refuses is counted by reason.
//
// Nothing that comes in is trusted, and everything that a peer can make a node
// do is bounded: bytes, records, topics, streams, rounds and time.
//
// The package sees the commons only. It imports nothing that can open the private
// store, and a test proves that.
package exchange
