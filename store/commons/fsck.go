package commons

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/karasu-project/karasu/store/internal/kv"
)

// Report is what [Fsck] found.
type Report = kv.Report

// ErrNoDatabase says that a directory holds no database.
var ErrNoDatabase = kv.ErrNoDatabase

// Fsck checks the database in dir and changes nothing: it reads every byte,
// verifies every signature, decodes every body, and looks for records that a
// newer one should have replaced. An error says that there was nothing to check
// ([ErrNoDatabase], [ErrInUse]); what is wrong is in the report.
func Fsck(ctx context.Context, dir string) (*Report, error) {
	slots := make(map[slot][]*meta)
	floors := make(map[slot]uint64)
	var all []*meta
	return kv.Fsck(ctx, dir, kind, func(r *Report, key, payload []byte) {
		switch key[0] {
		case recordPrefix:
			if m := checkRecord(r, key, payload); m != nil {
				all = append(all, m)
				slots[m.slot], _ = merge(slots[m.slot], m)
			}
		case floorPrefix:
			s, err := parseSlot(key)
			if err != nil || len(payload) != 8 {
				r.Problemf("bad revision under key %q", key)
				return
			}
			floors[s] = binary.BigEndian.Uint64(payload)
		case sourceKey[0]:
			if string(key) != sourceKey || len(payload) != SourceSize {
				r.Problemf("source of %d bytes under key %q", len(payload), key)
			}
		case baseKey[0]:
			if string(key) != baseKey || len(payload) != 8 {
				r.Problemf("base of revisions of %d bytes under key %q", len(payload), key)
			}
		default:
			r.Problemf("unknown key %q", key)
		}
	}, func(r *Report) {
		for _, m := range all {
			if !slices.Contains(slots[m.slot], m) {
				r.Problemf("record %s (%s %s) is stored although a newer one replaced it", m.id, m.topic, m.key)
			}
			if m.own && m.revision > floors[m.slot] {
				r.Problemf("own record %s has revision %d, but only %d is on record", m.id, m.revision, floors[m.slot])
			}
		}
	})
}

func checkRecord(rep *Report, key, payload []byte) *meta {
	r, own, err := decodeStored(key, payload)
	if err != nil {
		rep.Problemf("%v", err)
		return nil
	}
	if _, err := Open(r.Envelope); err != nil {
		rep.Problemf("record %s: %v", r.ID, err)
	}
	if err := ValidateBody(r); err != nil {
		rep.Problemf("record %s: %v", r.ID, err)
	}
	return metaOf(r, own)
}
