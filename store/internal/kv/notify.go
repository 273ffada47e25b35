package kv

import "sync"

// Notifier tells subscribers that something changed. Changes coalesce: a
// subscriber that has not yet taken the last one gets no second. The zero value
// is ready, and it is safe for concurrent use.
type Notifier struct {
	mu   sync.Mutex
	next int
	subs map[int]chan struct{}
}

// Subscribe returns a channel that holds at most one pending change, and a
// function that ends the subscription and closes the channel. The function may
// be called more than once.
func (n *Notifier) Subscribe() (<-chan struct{}, func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subs == nil {
		n.subs = make(map[int]chan struct{})
	}
	id, ch := n.next, make(chan struct{}, 1)
	n.next++
	n.subs[id] = ch
	return ch, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if _, subscribed := n.subs[id]; subscribed {
			delete(n.subs, id)
			close(ch)
		}
	}
}

// Notify tells every subscriber, without waiting for any.
func (n *Notifier) Notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, ch := range n.subs {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
