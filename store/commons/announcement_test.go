package commons_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// announcement is a record with a body as it may come from outside.
func announcement(t testing.TB, m *karasuv1.Announcement) *commons.Record {
	t.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return &commons.Record{
		Topic: commons.ControlTopic(), Kind: karasuv1.RecordKind_RECORD_KIND_ANNOUNCEMENT, Key: commons.AnnouncementKey, Body: body,
	}
}

func served(name string, records, organisations uint32) *karasuv1.ServedTopic {
	return &karasuv1.ServedTopic{Name: "/karasu/1/" + name, Records: records, Organisations: organisations}
}

func TestAnnouncementBounds(t *testing.T) {
	many := &karasuv1.Announcement{}
	for i := range commons.MaxServed + 1 {
		many.Topics = append(many.Topics, served(fmt.Sprintf("a/b/c%04d", i), 1, 1))
	}
	elsewhere := announcement(t, &karasuv1.Announcement{})
	elsewhere.Topic = model.Topic{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "sort"}
	otherKey := announcement(t, &karasuv1.Announcement{})
	otherKey.Key = "topics/2"
	noProto := announcement(t, nil)
	noProto.Body = []byte("\xff\xff")
	list := func(topics ...*karasuv1.ServedTopic) *commons.Record {
		return announcement(t, &karasuv1.Announcement{Topics: topics})
	}
	for name, r := range map[string]*commons.Record{
		"too many":             announcement(t, many),
		"of another topic":     elsewhere,
		"under another key":    otherKey,
		"no protobuf":          noProto,
		"no topic":             list(served("a/b", 1, 1)),
		"bad name":             list(served("a/b/C", 1, 1)),
		"not in order":         list(served("a/b/d", 1, 1), served("a/b/c", 1, 1)),
		"twice":                list(served("a/b/c", 1, 1), served("a/b/c", 1, 1)),
		"nothing":              list(served("a/b/c", 0, 0)),
		"nobody's":             list(served("a/b/c", 5, 0)),
		"organisations beyond": list(served("a/b/c", 5, 6)),
		"beyond all":           list(served("a/b/c", 1<<31, 6)),
		"the control topic":    list(served("karasu/control/organisations", 1, 1)),
	} {
		if err := commons.ValidateBody(r); !errors.Is(err, commons.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many.Topics = many.Topics[:commons.MaxServed]
	for name, m := range map[string]*karasuv1.Announcement{"empty": {}, "as many as may be": many} {
		if err := commons.ValidateBody(announcement(t, m)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServed(t *testing.T) {
	want := []commons.Served{
		{Topic: model.Topic{Infrastructure: "a", Framework: "b", Algorithm: "c"}, Records: 7, Organisations: 3},
		{Topic: model.Topic{Infrastructure: "a", Framework: "b", Algorithm: "d"}, Records: 1, Organisations: 1},
	}
	got, err := commons.DecodeAnnouncement(announcement(t, commons.EncodeAnnouncement(want)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := commons.DecodeAnnouncement(&commons.Record{}); !errors.Is(err, commons.ErrKind) {
		t.Errorf("another kind: %v", err)
	}
}

func FuzzDecodeAnnouncement(f *testing.F) {
	for _, m := range []*karasuv1.Announcement{
		{}, {Topics: []*karasuv1.ServedTopic{served("a/b/c", 2, 1)}},
		{Topics: []*karasuv1.ServedTopic{served("a/b/c", 2, 1), served("a/b/d", 9, 9)}},
		{Topics: []*karasuv1.ServedTopic{served("b/b/c", 2, 3), served("a/b/d", 0, 9)}},
	} {
		f.Add(announcement(f, m).Body)
	}
	f.Add([]byte{0xff})
	f.Fuzz(func(t *testing.T, body []byte) {
		r := announcement(t, &karasuv1.Announcement{})
		r.Body = body
		got, err := commons.DecodeAnnouncement(r)
		if err != nil {
			if !errors.Is(err, commons.ErrMalformed) {
				t.Errorf("unnamed error: %v", err)
			}
			return
		}
		if len(got) > commons.MaxServed {
			t.Errorf("%d topics", len(got))
		}
		again, err := commons.DecodeAnnouncement(announcement(t, commons.EncodeAnnouncement(got)))
		if err != nil || !slices.Equal(got, again) {
			t.Errorf("%v becomes %v, %v", got, again, err)
		}
	})
}
