package commons

import (
	"errors"
	"fmt"
	"math"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

const (
	// AnnouncementKey is the key, on the control topic, under which a host says which
	// topics it serves.
	AnnouncementKey = "topics"
	// MaxServed bounds the topics of one announcement. Names of full length take 164
	// bytes each, so that all of them fit a record.
	MaxServed = 512
)

// Served is a topic of which a node holds records.
type Served struct {
	Topic model.Topic
	// Records are usable ones, from so many Organisations; both at least 1.
	Records, Organisations int
}

// EncodeAnnouncement returns the body of an announcement of topics, which must be sorted
// by name; what is above [MaxServed] is left out.
func EncodeAnnouncement(served []Served) *karasuv1.Announcement {
	m := &karasuv1.Announcement{}
	for _, s := range served[:min(len(served), MaxServed)] {
		m.Topics = append(m.Topics, &karasuv1.ServedTopic{
			Name:    s.Topic.String(),
			Records: uint32(min(s.Records, math.MaxInt32)), Organisations: uint32(min(s.Organisations, math.MaxInt32)),
		})
	}
	return m
}

// DecodeAnnouncement returns the topics of an announcement. The error wraps [ErrKind] or
// [ErrMalformed].
func DecodeAnnouncement(r *Record) ([]Served, error) {
	var m karasuv1.Announcement
	if err := decode(r, karasuv1.RecordKind_RECORD_KIND_ANNOUNCEMENT, &m); err != nil {
		return nil, err
	}
	if n := len(m.GetTopics()); n > MaxServed {
		return nil, fmt.Errorf("%w: %d topics, at most %d", ErrMalformed, n, MaxServed)
	}
	out := make([]Served, 0, len(m.GetTopics()))
	for i, w := range m.GetTopics() {
		t, err := model.ParseTopic(w.GetName())
		switch {
		case err != nil:
		case t == ControlTopic():
			err = errors.New("the control topic is served by every node")
		case i > 0 && m.GetTopics()[i-1].GetName() >= w.GetName():
			err = errors.New("not in order, or twice in the list")
		case w.GetOrganisations() < 1 || w.GetOrganisations() > w.GetRecords() || w.GetRecords() > math.MaxInt32:
			err = fmt.Errorf("%d records of %d organisations", w.GetRecords(), w.GetOrganisations())
		}
		if err != nil {
			return nil, fmt.Errorf("%w: topic %d: %w", ErrMalformed, i+1, err)
		}
		out = append(out, Served{t, int(w.GetRecords()), int(w.GetOrganisations())})
	}
	return out, nil
}

func validateAnnouncement(r *Record) error {
	if r.Topic != ControlTopic() {
		return fmt.Errorf("%w: an announcement belongs to topic %s", ErrMalformed, ControlTopic())
	}
	if _, err := DecodeAnnouncement(r); err != nil {
		return err
	}
	return matchKey(r, AnnouncementKey)
}

// Announcements returns the announcements that count, by author and writer.
func (d *DB) Announcements() ([]*Record, error) {
	return d.all(func(t model.Topic) bool { return t == ControlTopic() }, func(m *meta) bool {
		return m.kind == karasuv1.RecordKind_RECORD_KIND_ANNOUNCEMENT
	})
}
