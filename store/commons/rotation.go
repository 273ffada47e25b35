package commons

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/internal/kv"
)

// Rotation returns what an organisation said last of its epochs; false is nothing.
func (d *DB) Rotation(organisation peer.ID) (Rotation, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	r, ok := d.rotations[organisation]
	return r, ok
}

// Ended says whether a record is signed under a delegation that its organisation has
// ended. [DB.Put] does not store such a record.
func (d *DB) Ended(r *Record) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.ended(metaOf(r, false))
}

// ended is [DB.Ended] for a caller that holds the lock.
func (d *DB) ended(m *meta) bool {
	r, ok := d.rotations[m.author]
	return ok && m.delegated && r.ends(m.epoch, m.created)
}

func (r Rotation) ends(epoch uint64, created int64) bool {
	return epoch < r.Epoch && created >= r.Since.Unix()
}

func isRotation(s slot) bool { return s.key == RotationKey && s.topic == ControlTopic() }

// noteRotation keeps the rotations up to date with what a slot holds. Of two rotations
// with one revision both count: the later epoch, from the earlier time on. The caller
// holds the lock.
func (d *DB) noteRotation(s slot, held []*meta) {
	if !isRotation(s) {
		return
	}
	delete(d.rotations, s.author)
	for _, m := range held {
		if m.rotation == nil {
			continue
		}
		r, ok := d.rotations[s.author]
		if !ok {
			r = *m.rotation
		}
		r.Epoch = max(r.Epoch, m.rotation.Epoch)
		if m.rotation.Since.Before(r.Since) {
			r.Since = m.rotation.Since
		}
		d.rotations[s.author] = r
	}
}

// DropSince deletes the received records of organisations that were created at a time
// or later, and says how many that was.
func (d *DB) DropSince(since map[peer.ID]time.Time) (int, error) {
	return d.drop(func(m *meta) bool {
		from, ok := since[m.author]
		return ok && !m.own && m.created >= from.Unix()
	})
}

// Control lists the usable membership lists and records about organisations' keys,
// without reading them.
func (d *DB) Control() []Entry {
	d.mu.RLock()
	defer d.mu.RUnlock()
	metas := d.current(func(t model.Topic) bool { return t == ControlTopic() }, usable)
	return entries(slices.DeleteFunc(metas, func(m *meta) bool {
		return m.kind != karasuv1.RecordKind_RECORD_KIND_MEMBERSHIP && m.kind != karasuv1.RecordKind_RECORD_KIND_DELEGATION
	}))
}

// drop deletes the slots that hold a record to be dropped: the other side of an
// equivocation must not become usable.
func (d *DB) drop(unwanted func(*meta) bool) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dropLocked(unwanted)
}

// dropLocked is [DB.drop] for a caller that holds the lock.
func (d *DB) dropLocked(unwanted func(*meta) bool) (int, error) {
	var slots []slot
	for s, held := range d.slots {
		for _, m := range held {
			if unwanted(m) {
				slots = append(slots, s)
				break
			}
		}
	}
	return d.deleteSlots(slots)
}

// deleteSlots deletes all that slots hold, some at a time, and says how many records
// that was. The caller holds the lock.
func (d *DB) deleteSlots(slots []slot) (int, error) {
	const batch = 1000
	done := 0
	for len(slots) > 0 {
		part := slots[:min(len(slots), batch)]
		slots = slots[len(part):]
		err := d.kv.Update(func(t *kv.Txn) error {
			for _, s := range part {
				for _, m := range d.slots[s] {
					if err := t.Delete(recordKey(m.id)); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return done, err
		}
		for _, s := range part {
			done += len(d.slots[s])
			d.replace(s, nil)
		}
	}
	if done > 0 {
		d.kv.Notify()
	}
	return done, nil
}

// Valid says whether a delegation lets its host act now: it has begun, has not ended,
// and its organisation has not rotated.
func (d *DB) Valid(g *Delegation, now time.Time) bool {
	if now.Add(MaxAhead).Before(g.NotBefore) || now.After(g.NotAfter) {
		return false
	}
	r, ok := d.Rotation(g.Organisation)
	return !ok || g.Epoch >= r.Epoch
}
