package commons

import (
	"cmp"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
)

// Served counts the usable records of every topic that has any, by name, but for the
// control topic. It reads the index only.
func (d *DB) Served() []Served {
	d.mu.RLock()
	defer d.mu.RUnlock()
	now := d.kv.Now().Unix()
	var out []Served
	for topic, slots := range d.topics {
		if topic == ControlTopic() {
			continue
		}
		s := Served{Topic: topic}
		authors := make(map[peer.ID]struct{})
		for at := range slots {
			if n := len(usable(live(d.slots[at.slot], now))); n > 0 {
				s.Records += n
				authors[at.author] = struct{}{}
			}
		}
		if s.Organisations = len(authors); s.Records > 0 {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b Served) int { return cmp.Compare(a.Topic.String(), b.Topic.String()) })
	return out
}

// AuthorTopics lists the topics of every author, in no order: those of which something
// is held, retractions included.
func (d *DB) AuthorTopics() map[peer.ID][]model.Topic {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := make(map[peer.ID][]model.Topic)
	for topic, slots := range d.topics {
		authors := make(map[peer.ID]struct{})
		for at := range slots {
			authors[at.author] = struct{}{}
		}
		for id := range authors {
			out[id] = append(out[id], topic)
		}
	}
	return out
}
