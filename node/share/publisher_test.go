package share_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/share"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// published is a publisher over a real commons, and what it published in order.
type published struct {
	*share.Publisher
	key     crypto.PrivKey
	db      *commons.DB
	records []*commons.Record
	log     bytes.Buffer
	fail    error
}

func newPublisher(t *testing.T) *published {
	t.Helper()
	db, err := commons.OpenDB(t.TempDir(), commons.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := commons.NewSigner(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &published{db: db, key: key}
	p.Publisher = &share.Publisher{
		Signer: signer, Organisation: "acme", Policy: share.DefaultPolicy(), Pseudonyms: pseudonyms, Lookup: machines, Commons: db,
		Logger: slog.New(slog.NewTextHandler(&p.log, nil)), Now: time.Now,
		Publish: func(ctx context.Context, records []*commons.Record) error {
			if p.fail != nil {
				return p.fail
			}
			p.records = append(p.records, records...)
			_, err := db.PutAll(ctx, records, true)
			return err
		},
	}
	return p
}

func (p *published) refresh(t *testing.T, runs []model.Run) []*commons.Record {
	t.Helper()
	p.records = nil
	if _, err := p.Refresh(t.Context(), runs); err != nil {
		t.Fatal(err)
	}
	return p.records
}

// ofJob gives runs another job.
func ofJob(job string, runs []model.Run) []model.Run {
	for i := range runs {
		runs[i].Workload.Job = job
	}
	return runs
}

// odd knows one more machine type, which has no CPU.
func odd(infrastructure, name string) (model.Resources, bool, bool) {
	if name == "broken" {
		return model.Resources{}, true, true
	}
	return machines(infrastructure, name)
}

// TestOneBadWorkload: it keeps neither others nor retractions from leaving.
func TestOneBadWorkload(t *testing.T) {
	p := newPublisher(t)
	p.Lookup = odd
	good, old := ofJob("good", threeRuns()), ofJob("old", threeRuns())
	bad := ofJob("bad", []model.Run{run("broken", 2, 100, model.OK), run("broken", 3, 80, model.OK), run("broken", 4, 70, model.OK)})
	if n := len(p.refresh(t, old)); n != 2 {
		t.Fatalf("%d records at first, want 2", n)
	}
	records := p.refresh(t, append(bad, good...))
	var kinds []karasuv1.RecordKind
	for _, r := range records {
		kinds = append(kinds, r.Kind)
	}
	want := "[RECORD_KIND_RETRACTION RECORD_KIND_RETRACTION RECORD_KIND_RUN_SUMMARY RECORD_KIND_SUPPORT_MODEL]"
	if got := fmt.Sprint(kinds); got != want {
		t.Errorf("published %s, want %s", got, want)
	}
	if records[0].Key >= records[1].Key {
		t.Errorf("retractions of %s and %s are out of order", records[0].Key, records[1].Key)
	}
	preview, err := p.Preview(t.Context(), append(bad, good...), share.Trial{})
	if err != nil {
		t.Fatal(err)
	}
	if len(preview.Records) != 2 || len(preview.Withheld) != 1 || preview.Withheld[0].Workload.Job != "bad" || !strings.Contains(preview.Withheld[0].Reason, "vCPUs") {
		t.Errorf("preview has %d records and withholds %+v", len(preview.Records), preview.Withheld)
	}
	p.refresh(t, append(bad, good...))
	if n := strings.Count(p.log.String(), "cannot be shared"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, p.log.String())
	}
	if strings.Contains(p.log.String(), "bad") {
		t.Errorf("the log names the job:\n%s", p.log.String())
	}
}

// TestUnsignedIsWithheld: what cannot be signed is withheld, and not retracted.
func TestUnsignedIsWithheld(t *testing.T) {
	p := newPublisher(t)
	p.refresh(t, threeRuns())
	p.Organisation = "ac\u202eme"
	more := append(threeRuns(), run("m4.large", 3, 500, model.OK))
	if records := p.refresh(t, more); len(records) != 0 {
		t.Errorf("published %d records", len(records))
	}
	preview, err := p.Preview(t.Context(), more, share.Trial{})
	if err != nil {
		t.Fatal(err)
	}
	if len(preview.Withheld) != 2 || preview.Withheld[0].Workload.Job != "nightly-revenue" {
		t.Errorf("withheld %+v, want summary and model", preview.Withheld)
	}
}

func TestRetractionsLeaveAlone(t *testing.T) {
	p := newPublisher(t)
	p.refresh(t, threeRuns())
	calls := 0
	p.Publish = func(context.Context, []*commons.Record) error {
		calls++
		return errors.New("no")
	}
	done, err := p.Refresh(t.Context(), ofJob("other", threeRuns()))
	if want := (share.Refreshed{}); err == nil || done != want || calls != 2 {
		t.Errorf("%+v in %d calls, error %v; want %+v in 2 and both errors", done, calls, err, want)
	}
}

// TestLargeWorkload: a workload with very many configurations leaves without metrics
// and, where that does not do, with those that have most runs.
func TestLargeWorkload(t *testing.T) {
	used := &model.Percentiles{P10: 0.1, P50: 0.5, P90: 0.9}
	for _, c := range []struct {
		name string
		n    int
		want int
	}{{"without metrics", 2000, 2000}, {"cut", 6000, 0}} {
		t.Run(c.name, func(t *testing.T) {
			p := newPublisher(t)
			p.Policy.Mode = share.Summaries
			var runs []model.Run
			for i := range c.n {
				r := run("rack7-secret-host", i+1, 100+float64(i), model.OK)
				r.Metrics = model.Metrics{CPU: used, Memory: used, Disk: used, Network: used}
				runs = append(runs, r)
			}
			last := c.n - 1
			runs = append(runs, runs[last])
			records := p.refresh(t, runs)
			if len(records) != 1 {
				t.Fatalf("%d records, want 1", len(records))
			}
			s, err := commons.DecodeSummary(records[0])
			if err != nil {
				t.Fatal(err)
			}
			if n := len(s.Points); c.want > 0 && n != c.want || c.want == 0 && (n < 3000 || len(records[0].Envelope) < commons.MaxEnvelope-2048) {
				t.Errorf("%d configurations in %d bytes", n, len(records[0].Envelope))
			}
			most := 0
			for _, pt := range s.Points {
				if pt.OK == 2 {
					most = pt.Configuration.ScaleOut
				}
				if pt.Metrics != (model.Metrics{}) {
					t.Fatal("metrics left")
				}
			}
			if most != c.n {
				t.Errorf("the configuration with most runs is %d nodes, want %d", most, c.n)
			}
		})
	}
}

func TestLevelOutOfRangeStays(t *testing.T) {
	p := newPublisher(t)
	p.Policy.Absolute = true
	records := p.refresh(t, []model.Run{run("m4.large", 2, 1e-12, model.OK), run("m4.large", 3, 2e-12, model.OK), run("m4.large", 4, 3e-12, model.OK)})
	if len(records) != 2 {
		t.Fatalf("%d records, want summary and model", len(records))
	}
	if s, err := commons.DecodeSummary(records[0]); err != nil || s.Absolute {
		t.Errorf("level %g left, error %v", s.Level, err)
	}
}

// TestLostPrivateDatabase: what a database shared that is gone stays, as does what a
// restored one shared, until the policy withdraws it.
func TestLostPrivateDatabase(t *testing.T) {
	p := newPublisher(t)
	p.refresh(t, threeRuns())
	p.Pseudonyms = share.NewPseudonymizer([]byte("a new database's secret, 32 byte"))
	for range 2 {
		if records := p.refresh(t, nil); len(records) > 0 {
			t.Errorf("published %v", records)
		}
	}
	if n := strings.Count(p.log.String(), "restore it from a backup"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, p.log.String())
	}
	if n := len(p.refresh(t, ofJob("new", threeRuns()))); n != 2 {
		t.Errorf("%d records of the new runs, want 2", n)
	}
	usable := func() int { return len(p.db.Usable(nil)) }
	if n := usable(); n != 4 {
		t.Errorf("%d records are held, want 4", n)
	}
	p.Policy.Mode = share.Off
	p.refresh(t, ofJob("new", threeRuns()))
	if n := usable(); n != 0 {
		t.Errorf("%d records are left", n)
	}
	p.Policy.Mode = share.Both
	p.refresh(t, ofJob("new", threeRuns()))
	if p.refresh(t, nil); usable() != 0 {
		t.Errorf("%d records of deleted runs are left", usable())
	}
}

// TestRestoredPrivateDatabase: what was shared meanwhile goes, the rest goes on.
func TestRestoredPrivateDatabase(t *testing.T) {
	p := newPublisher(t)
	p.refresh(t, threeRuns())
	p.Pseudonyms = share.NewPseudonymizer([]byte("a new database's secret, 32 byte"))
	p.refresh(t, ofJob("new", threeRuns()))
	p.Pseudonyms = pseudonyms
	records := p.refresh(t, threeRuns())
	if len(records) != 2 || records[0].Kind != karasuv1.RecordKind_RECORD_KIND_RETRACTION || len(p.db.Usable(nil)) != 2 {
		t.Errorf("published %d records, %d usable", len(records), len(p.db.Usable(nil)))
	}
}

// TestHostThatJoinsAnOrganisation withdraws what it shared on its own and shares it in
// the organisation's name, no longer than the delegation lasts.
func TestHostThatJoinsAnOrganisation(t *testing.T) {
	p := newPublisher(t)
	if _, err := p.Refresh(t.Context(), threeRuns()); err != nil {
		t.Fatal(err)
	}
	before := len(p.records)
	own := p.Signer
	organisation, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(30 * 24 * time.Hour)
	join := func(until time.Time) {
		t.Helper()
		d, err := commons.SealDelegation(organisation, commons.Delegation{Host: own.Host(), Writer: "a", NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until})
		if err != nil {
			t.Fatal(err)
		}
		if p.Signer, err = commons.NewSigner(p.key, d); err != nil {
			t.Fatal(err)
		}
	}
	join(until)
	done, err := p.Refresh(t.Context(), threeRuns())
	if want := (share.Refreshed{Shared: before, Withdrawn: before}); err != nil || done != want {
		t.Fatalf("%+v, %v; want %+v", done, err, want)
	}
	usable, err := p.db.All(nil)
	if err != nil || len(usable) != before {
		t.Fatalf("%d usable records (%v), want %d", len(usable), err, before)
	}
	for _, r := range usable {
		if r.By() != p.Signer.Writer() || r.NotAfter.After(until) {
			t.Errorf("%s by %v until %s; want by %v until %s", r.Key, r.By(), r.NotAfter, p.Signer.Writer(), until)
		}
	}
	if done, err := p.Refresh(t.Context(), threeRuns()); err != nil || done != (share.Refreshed{}) {
		t.Errorf("the next refresh: %+v, %v", done, err)
	}
	join(time.Now().Add(-time.Hour))
	preview, err := p.Preview(t.Context(), ofJob("monthly", threeRuns()), share.Trial{})
	if err != nil || len(preview.Records) != 0 || len(preview.Withheld) == 0 || !strings.Contains(preview.Withheld[0].Reason, "delegation of this host ended") {
		t.Errorf("after the delegation's end: %+v, %v", preview, err)
	}
}
