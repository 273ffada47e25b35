package commons_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/record"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/gp"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

const pseudonym = "0123456789abcdef0123456789abcdef"

func newKey(t testing.TB) crypto.PrivKey {
	t.Helper()
	priv, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return priv
}

// noon is when the tests' records are made.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func wireRecord() *karasuv1.Record {
	body, err := proto.Marshal(commons.EncodeSummary(summary()))
	if err != nil {
		panic(err)
	}
	return &karasuv1.Record{
		Topic: "/karasu/1/aws-ec2/spark/pagerank", Kind: karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY,
		Key: commons.SummaryKey(pseudonym), Revision: 1, Created: noon.Unix(), NotAfter: noon.Add(24 * time.Hour).Unix(),
		Organisation: "Ácme & Söhne", Body: body,
	}
}

func summary() model.Summary {
	return model.Summary{
		Topic: model.Topic{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: "pagerank"}, Pseudonym: pseudonym, InputSizeLog2: 30,
		Points: []model.Point{
			{Configuration: model.Configuration{MachineType: "m4.xlarge", ScaleOut: 8}, Resources: model.Resources{VCPUs: 4, MemoryGiB: 16},
				LogRuntime: -0.25, OK: 2, Timeout: 1, Metrics: model.Metrics{CPU: &model.Percentiles{P10: 0.1, P50: 0.5, P90: 0.9}}},
			{Configuration: model.Configuration{MachineType: "c4.large", ScaleOut: 4}, Resources: model.Resources{VCPUs: 2, MemoryGiB: 3.75}, Failed: 1},
		},
		Absolute: true, Level: 0, NoiseScale: 0.1,
	}
}

func weights() *gp.Weights {
	return &gp.Weights{Dimensions: 2, Inputs: []float64{0, 1, 1, 0}, Targets: []float64{-1, 1}, LengthScales: []float64{1, 2}, SignalSD: 1, NoiseSD: 0.1}
}

func seal(t testing.TB, priv crypto.PrivKey, change func(*karasuv1.Record)) *commons.Record {
	t.Helper()
	w := wireRecord()
	if change != nil {
		change(w)
	}
	r, err := commons.Seal(priv, w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSealAndOpen(t *testing.T) {
	priv := newKey(t)
	w := wireRecord()
	before := proto.CloneOf(w)
	sealed, err := commons.Seal(priv, w)
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(before, w) {
		t.Error("Seal changed its argument")
	}
	opened, err := commons.Open(bytes.Clone(sealed.Envelope))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(sealed, opened); d != "" {
		t.Error(d)
	}
	author, err := peer.IDFromPrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	want := &commons.Record{
		ID: opened.ID, Author: author, Host: author, Topic: summary().Topic, Kind: w.Kind, Key: w.Key, Revision: 1,
		Created: noon, NotAfter: noon.Add(24 * time.Hour), Organisation: w.Organisation, Body: w.Body, Envelope: sealed.Envelope,
	}
	if d := cmp.Diff(want, opened); d != "" {
		t.Error(d)
	}
	if other := seal(t, newKey(t), nil); other.ID == opened.ID {
		t.Error("another author's record has the same ID")
	}
	if again := seal(t, priv, nil); again.ID != opened.ID {
		t.Error("the same record has another ID")
	}
}

func TestOpenRefusesFields(t *testing.T) {
	priv := newKey(t)
	for _, c := range []struct {
		name   string
		change func(*karasuv1.Record)
		want   error
	}{
		{"topic", func(r *karasuv1.Record) { r.Topic = "/karasu/1/aws/spark" }, commons.ErrMalformed},
		{"topic with capitals", func(r *karasuv1.Record) { r.Topic = "/karasu/1/AWS/spark/sort" }, commons.ErrMalformed},
		{"no kind", func(r *karasuv1.Record) { r.Kind = 0 }, commons.ErrMalformed},
		{"no key", func(r *karasuv1.Record) { r.Key = "" }, commons.ErrMalformed},
		{"long key", func(r *karasuv1.Record) { r.Key = strings.Repeat("a", commons.MaxKey+1) }, commons.ErrMalformed},
		{"key with a line end", func(r *karasuv1.Record) { r.Key = "a\nb" }, commons.ErrMalformed},
		{"key with a zero byte", func(r *karasuv1.Record) { r.Key = "a\x00b" }, commons.ErrMalformed},
		{"revision 0", func(r *karasuv1.Record) { r.Revision = 0 }, commons.ErrMalformed},
		{"not_after before created", func(r *karasuv1.Record) { r.NotAfter = r.Created - 1 }, commons.ErrMalformed},
		{"long life", func(r *karasuv1.Record) { r.NotAfter = r.Created + 401*24*3600 }, commons.ErrMalformed},
		{"created at 0", func(r *karasuv1.Record) { r.Created, r.NotAfter = 0, 10 }, commons.ErrMalformed},
		{"created long ago", func(r *karasuv1.Record) { r.Created = math.MinInt64 }, commons.ErrMalformed},
		{"times that overflow", func(r *karasuv1.Record) { r.Created, r.NotAfter = math.MaxInt64, math.MaxInt64 }, commons.ErrMalformed},
		{"long organisation", func(r *karasuv1.Record) { r.Organisation = strings.Repeat("ä", 33) }, commons.ErrMalformed},
		{"organisation with escape", func(r *karasuv1.Record) { r.Organisation = "\x1b[31mred" }, commons.ErrMalformed},
		{"organisation right to left", func(r *karasuv1.Record) { r.Organisation = "a\u202eb" }, commons.ErrMalformed},
		{"organisation not UTF-8", func(r *karasuv1.Record) { r.Organisation = "a\xffb" }, commons.ErrMalformed},
		{"retraction with a body", func(r *karasuv1.Record) { r.Kind = karasuv1.RecordKind_RECORD_KIND_RETRACTION }, commons.ErrMalformed},
		{"too large", func(r *karasuv1.Record) { r.Body = make([]byte, commons.MaxEnvelope) }, commons.ErrTooLarge},
		{"unknown fields", func(r *karasuv1.Record) {
			r.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 99, protowire.BytesType), make([]byte, 5000)))
		}, commons.ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := wireRecord()
			c.change(w)
			if r, err := commons.Seal(priv, w); !errors.Is(err, c.want) || r != nil {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// payload lets a test sign what Seal would not.
type payload struct {
	domain, codec string
	b             []byte
}

func (p payload) Domain() string                 { return p.domain }
func (p payload) Codec() []byte                  { return []byte(p.codec) }
func (p payload) MarshalRecord() ([]byte, error) { return p.b, nil }
func (payload) UnmarshalRecord([]byte) error     { return nil }

func sign(t testing.TB, priv crypto.PrivKey, p payload) []byte {
	t.Helper()
	env, err := record.Seal(p, priv)
	if err != nil {
		t.Fatal(err)
	}
	b, err := env.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOpenRefusesEnvelopes(t *testing.T) {
	priv := newKey(t)
	versioned := func(major, minor uint32) []byte {
		w := wireRecord()
		w.Major, w.Minor = major, minor
		b, err := proto.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	good := versioned(1, 0)
	for _, c := range []struct {
		name     string
		envelope []byte
		want     error
	}{
		{"nothing", nil, commons.ErrMalformed},
		{"noise", []byte("hello"), commons.ErrMalformed},
		{"too large", make([]byte, commons.MaxEnvelope+1), commons.ErrTooLarge},
		{"other domain", sign(t, priv, payload{"libp2p-peer-record", commons.PayloadType, good}), commons.ErrSignature},
		{"other payload type", sign(t, priv, payload{commons.Domain, "/karasu/record/2", good}), commons.ErrMalformed},
		{"no payload", sign(t, priv, payload{commons.Domain, commons.PayloadType, nil}), commons.ErrVersion},
		{"broken payload", sign(t, priv, payload{commons.Domain, commons.PayloadType, good[:len(good)-3]}), commons.ErrMalformed},
		{"next major", sign(t, priv, payload{commons.Domain, commons.PayloadType, versioned(2, 0)}), commons.ErrVersion},
		{"padded", append(sign(t, priv, payload{commons.Domain, commons.PayloadType, good}), 0x7a, 1, 'x'), commons.ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r, err := commons.Open(c.envelope); !errors.Is(err, c.want) || r != nil {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	if _, err := commons.Open(sign(t, priv, payload{commons.Domain, commons.PayloadType, versioned(1, 7)})); err != nil {
		t.Errorf("a higher minor version: %v", err)
	}
}

func TestOpenNoticesEveryFlippedByte(t *testing.T) {
	r := seal(t, newKey(t), nil)
	for i := range r.Envelope {
		b := bytes.Clone(r.Envelope)
		b[i] ^= 0x01
		if got, err := commons.Open(b); err == nil {
			t.Fatalf("byte %d of %d: accepted as %+v", i, len(b), got)
		}
	}
}

func TestCheckTime(t *testing.T) {
	r := seal(t, newKey(t), nil)
	for _, c := range []struct {
		name string
		now  time.Time
		want error
	}{
		{"at creation", noon, nil},
		{"ahead within bounds", noon.Add(-commons.MaxAhead), nil},
		{"ahead", noon.Add(-commons.MaxAhead - time.Second), commons.ErrFuture},
		{"at the end", noon.Add(24 * time.Hour), nil},
		{"after the end", noon.Add(24*time.Hour + time.Second), commons.ErrExpired},
	} {
		if err := r.CheckTime(c.now); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func TestUnknownKindsAreCarried(t *testing.T) {
	r := seal(t, newKey(t), func(w *karasuv1.Record) { w.Kind, w.Body = 77, []byte("later") })
	if err := commons.ValidateBody(r); err != nil || r.Kind != 77 {
		t.Error(r.Kind, err)
	}
}

func FuzzOpen(f *testing.F) {
	priv := newKey(f)
	f.Add(seal(f, priv, nil).Envelope)
	f.Add(seal(f, priv, func(w *karasuv1.Record) { w.Kind, w.Body = karasuv1.RecordKind_RECORD_KIND_RETRACTION, nil }).Envelope)
	f.Add(sign(f, priv, payload{commons.Domain, "/karasu/record/2", []byte("x")}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := commons.Open(b)
		if err != nil {
			return
		}
		if !bytes.Equal(r.Envelope, b) || r.Topic.Validate() != nil || r.Revision < 1 || r.NotAfter.Before(r.Created) {
			t.Fatalf("accepted %+v", r)
		}
		_ = commons.ValidateBody(r)
	})
}
