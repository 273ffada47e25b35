package exchange

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// fetchList is what a side has asked for.
type fetchList struct {
	ids   []commons.ID
	topic map[commons.ID]model.Topic
}

// claim picks from what the other side has, up to the session's limit.
func claim(r Replica, has map[model.Topic][]commons.ID, res *Result) fetchList {
	fetch := fetchList{topic: make(map[commons.ID]model.Topic)}
	for topic, ids := range has {
		for part := range slices.Chunk(ids, idsPerFrame) {
			room := maxSessionWants - len(fetch.ids)
			if room == 0 {
				res.More = true
				return fetch
			}
			if len(part) > room {
				part, res.More = part[:room], true
			}
			got, busy := r.Claim(part)
			res.Busy += busy
			for _, id := range got {
				fetch.topic[id] = topic
			}
			fetch.ids = append(fetch.ids, got...)
		}
	}
	return fetch
}

func sendWants(f *framer, ids []commons.ID) error {
	for part := range slices.Chunk(ids, idsPerFrame) {
		if err := f.write(&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Want{Want: &karasuv1.SyncWant{Ids: packIDs(part)}}}); err != nil {
			return err
		}
	}
	return nil
}

func appendWants(wanted *[]commons.ID, m *karasuv1.SyncWant) error {
	ids, err := unpackIDs(m.GetIds())
	if err != nil {
		return err
	}
	if len(ids) == 0 || len(*wanted)+len(ids) > maxSessionWants {
		return fmt.Errorf("%w: no or too many records are wanted", ErrProtocol)
	}
	*wanted = append(*wanted, ids...)
	return nil
}

// sendRecords hands over what the other side wants, within the session's limit.
// The order is the other side's; ids that are gone are left out.
func sendRecords(f *framer, r Replica, wanted []commons.ID, res *Result) error {
	var batch [][]byte
	size, total := 0, 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := f.write(&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_Records{Records: &karasuv1.SyncRecords{Envelopes: batch}}})
		if err == nil {
			res.Sent += len(batch)
			r.Sent(len(batch))
		}
		batch, size = nil, 0
		return err
	}
	sent := make(map[commons.ID]struct{}, len(wanted))
	for _, id := range wanted {
		if _, twice := sent[id]; twice {
			return fmt.Errorf("%w: record %s is wanted twice", ErrProtocol, id)
		}
		sent[id] = struct{}{}
		env, err := r.Envelope(id)
		if errors.Is(err, commons.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if total += len(env); total > maxSessionBytes {
			res.More = true
			break
		}
		// A length and a tag are at most 5 bytes; 16 leave room for the frame's own.
		if size+len(env)+5 > maxControlFrame-16 {
			if err := flush(); err != nil {
				return err
			}
		}
		batch = append(batch, env)
		size += len(env) + 5
	}
	return flush()
}

// readRecords takes what was asked for, in batches, so that the disk is waited for
// once for each. If wanted is not nil, the turn may also say what the other side
// wants.
func readRecords(ctx context.Context, f *framer, r Replica, fetch fetchList, wanted *[]commons.ID, res *Result) error {
	var batch [][]byte
	left, total, size := len(fetch.ids), 0, 0
	admit := func() error {
		if len(batch) == 0 {
			return nil
		}
		stored, refused, err := r.Admit(ctx, fetch.topic, batch)
		res.Stored, res.Refused = res.Stored+stored, res.Refused+refused
		batch, size = nil, 0
		return err
	}
	more, err := f.turn(func(frame *karasuv1.SyncFrame) error {
		switch m := frame.GetFrame().(type) {
		case *karasuv1.SyncFrame_Want:
			if wanted != nil {
				return appendWants(wanted, m.Want)
			}
		case *karasuv1.SyncFrame_Records:
			envelopes := m.Records.GetEnvelopes()
			for _, e := range envelopes {
				size, total = size+len(e), total+len(e)
			}
			if left -= len(envelopes); left < 0 || len(envelopes) == 0 || total > maxSessionBytes {
				return fmt.Errorf("%w: records that were not asked for", ErrProtocol)
			}
			if batch = append(batch, envelopes...); size < admitBytes {
				return nil
			}
			return admit()
		}
		return unexpected(frame)
	})
	// What has come is good even if the stream broke.
	if aerr := admit(); aerr != nil {
		return errors.Join(err, aerr)
	}
	res.More = res.More || more
	return err
}
