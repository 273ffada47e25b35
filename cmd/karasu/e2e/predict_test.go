package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/csv"
	"fmt"
	"math"
	rnd "math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/model/runtime"
	runs "github.com/karasu-project/karasu/model/runtime/replay"
	"github.com/karasu-project/karasu/node/exchange"
	"github.com/karasu-project/karasu/node/p2p"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// Of the algorithm's contexts, in an order that predictSeed makes, the first heldOut are
// nobody's, the others belong to two organisations in turn.
const (
	predictAlgorithm = "sgd"
	predictSeed      = 1
	heldOut          = 6
)

// runtimesShared is the configuration of an organisation that shares runtime models.
const runtimesShared = "[share]\npolicy = \"models\"\nruntime_models = true\n"

// runtimeTable makes a CSV of histories.
func runtimeTable(t *testing.T, histories []predict.History) string {
	t.Helper()
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	header := []string{"infrastructure", "framework", "algorithm", "job", "machine_type", "nodes", "runtime_s", "input_bytes", "start"}
	for _, a := range histories[0].Context.Arguments {
		header = append(header, "arg."+a.Name)
	}
	rows := [][]string{header}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, h := range histories {
		for _, r := range h.Runs {
			start = start.Add(time.Hour) // repeats that took equally long are runs of their own
			row := []string{
				"aws-emr", "spark", predictAlgorithm, "nightly", h.Context.MachineType, strconv.Itoa(r.ScaleOut),
				fmt.Sprint(r.RuntimeSeconds), fmt.Sprintf("%.0f", h.Context.InputBytes), start.Format(time.RFC3339),
			}
			for _, a := range h.Context.Arguments {
				row = append(row, strconv.FormatFloat(a.Number, 'f', -1, 64))
			}
			rows = append(rows, row)
		}
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sweep is what `karasu predict sweep --json` prints, as far as the test looks at it.
type sweep struct {
	Predictions []struct {
		Nodes   int     `json:"nodes"`
		Runtime float64 `json:"runtime_seconds"`
	} `json:"predictions"`
	Basis struct {
		Sources []struct {
			Origin string  `json:"origin"`
			Share  float64 `json:"share"`
		} `json:"sources"`
	} `json:"basis"`
}

func (o *organisation) sweep(c predict.Context, nodes []int) sweep {
	o.t.Helper()
	args := []string{
		"predict", "sweep", "--infrastructure", "aws-emr", "--framework", "spark", "--algorithm", predictAlgorithm,
		"--machine-types", c.MachineType, "--input", fmt.Sprintf("%.0f", c.InputBytes),
		"--nodes", strings.Trim(strings.ReplaceAll(fmt.Sprint(nodes), " ", ","), "[]"),
	}
	for _, a := range c.Arguments {
		args = append(args, "-p", fmt.Sprintf("%s=%g", a.Name, a.Number))
	}
	var s sweep
	o.query(&s, args...)
	return s
}

// mre is the mean relative error in percent of an organisation's predictions of all runs
// of contexts, over contexts.
func (o *organisation) mre(held []predict.History) float64 {
	o.t.Helper()
	sum := 0.
	for _, h := range held {
		var nodes []int
		for _, s := range predict.Summarise(h.Runs) {
			nodes = append(nodes, s.ScaleOut)
		}
		at := map[int]float64{}
		for _, p := range o.sweep(h.Context, nodes).Predictions {
			at[p.Nodes] = p.Runtime
		}
		for _, r := range h.Runs {
			sum += math.Abs(at[r.ScaleOut]/r.RuntimeSeconds-1) / float64(len(h.Runs)*len(held))
		}
	}
	return 100 * sum
}

// reader is an organisation without runs that dials others and has so many models.
func reader(t *testing.T, name string, models int, dial ...*organisation) *organisation {
	t.Helper()
	var addresses []string
	for _, o := range dial {
		s := o.status()
		addresses = append(addresses, strconv.Quote(s.Addresses[0]+"/p2p/"+s.PeerID))
	}
	o := newOrganisation(t, name, "bootstrap = ["+strings.Join(addresses, ", ")+"]\nsubscribe = [\"*/*/*\"]\n")
	o.start()
	o.eventually(fmt.Sprintf("%s has %d models", name, models), func() bool {
		if o.status().ReceivedRecords < models {
			return false
		}
		// A summary may arrive before the runtime model of the same organisation.
		_, errs, _ := o.run("predict", "--infrastructure", "aws-emr", "--framework", "spark", "--algorithm", predictAlgorithm, "--machine-type", "m4.2xlarge", "--nodes", "4")
		return !strings.Contains(errs, "no peer shares a runtime model")
	})
	return o
}

// sharer is an organisation that imports runs and shares a model of them.
func sharer(t *testing.T, name string, histories []predict.History) *organisation {
	t.Helper()
	o := newOrganisation(t, name, runtimesShared)
	o.start()
	if out, errs, code := o.runInput(runtimeTable(t, histories), "import", "csv", "-"); code != 0 {
		t.Fatalf("import: exit %d\n%s%s", code, out, errs)
	}
	return o
}

// runtimeModelOf reads from the commons of an organisation whose daemon is stopped the
// only runtime model there.
func runtimeModelOf(t *testing.T, o *organisation) *commons.Record {
	t.Helper()
	db, err := commons.OpenDB(filepath.Join(o.home, "commons"), commons.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	records, err := db.All(nil)
	if err != nil {
		t.Fatal(err)
	}
	records = slices.DeleteFunc(records, func(r *commons.Record) bool { return r.Kind != karasuv1.RecordKind_RECORD_KIND_RUNTIME_MODEL })
	if len(records) != 1 {
		t.Fatalf("%d runtime models", len(records))
	}
	return records[0]
}

// attack joins the network as an organisation of its own and publishes a model with its
// predictions changed, under a valid signature.
func attack(t *testing.T, victim *organisation, model *commons.Record, change func(logSeconds float32) float32) {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	net, err := p2p.New(t.Context(), key, p2p.Loopback(), nil)
	if err != nil {
		t.Fatal(err)
	}
	db, err := commons.OpenDB(t.TempDir(), commons.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := net.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	x, err := exchange.New(exchange.Options{Host: net.Host(), PubSub: net.PubSub(), Store: db, SyncInterval: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = x.Close(), net.Close(), db.Close() })
	if err := x.Publish(t.Context(), poisoned(t, key, model, change)); err != nil {
		t.Fatal(err)
	}
	s := victim.status()
	if err := net.Connect(t.Context(), s.Addresses[0]+"/p2p/"+s.PeerID); err != nil {
		t.Fatal(err)
	}
}

// poisoned signs a model with the values of its points changed.
func poisoned(t *testing.T, key crypto.PrivKey, model *commons.Record, change func(logSeconds float32) float32) *commons.Record {
	t.Helper()
	var m karasuv1.RuntimeModel
	if err := proto.Unmarshal(model.Body, &m); err != nil {
		t.Fatal(err)
	}
	// Of each point the last value but one is ln(seconds).
	points, length := int(m.GetSizes()[2]), 6+len(m.GetArguments())
	for i := range points {
		v := &m.Values[len(m.Values)-i*length-2]
		*v = change(*v)
	}
	body, err := proto.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	r, err := commons.Seal(key, &karasuv1.Record{
		Major: commons.Major, Topic: model.Topic.String(), Kind: model.Kind, Key: model.Key, Revision: 1,
		Created: model.Created.Unix(), NotAfter: model.NotAfter.Unix(), Organisation: "mallory", Body: body,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPredictionsOfANewcomer: two organisations share models of contexts that have
// nothing in common. What one without any runs predicts of contexts that neither knows is
// good with one of them, better with both, and hardly worse where one's place is taken by
// others whose models are inverted and random.
func TestPredictionsOfANewcomer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts seven daemons and trains models")
	}
	tables, err := runs.LoadC3O(filepath.Dir(modeltest.Data(t, "c3o")))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tables, func(x runs.Table) bool { return x.Job == predictAlgorithm })
	all := tables[i].Histories
	rnd.New(rnd.NewPCG(predictSeed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	held := all[:heldOut]
	var parts [2][]predict.History
	for i, h := range all[heldOut:] {
		parts[i%2] = append(parts[i%2], h)
	}

	nobody := newOrganisation(t, "nobody", "")
	nobody.start()
	if _, errs, code := nobody.run("predict", "--infrastructure", "aws-emr", "--framework", "spark", "--algorithm", predictAlgorithm, "--machine-type", "m4.2xlarge", "--nodes", "4"); code != 1 || !strings.Contains(errs, "import runs") || !strings.Contains(errs, "peers") {
		t.Errorf("with nothing known: exit %d, %s", code, errs)
	}
	nobody.stop()

	acme, globex := sharer(t, "acme", parts[0]), sharer(t, "globex", parts[1])
	measure := func(o *organisation) float64 {
		defer o.stop()
		return o.mre(held)
	}
	firstAlone := measure(reader(t, "first", 1, acme))
	second := reader(t, "second", 1, globex)
	secondAlone := measure(second)
	theirs := runtimeModelOf(t, second)
	both := measure(reader(t, "both", 2, acme, globex))
	acme.stop()
	globex.stop()

	again := sharer(t, "again", parts[0]) // as acme, but none of its peers is known
	victim := reader(t, "victim", 1, again)
	noise := rnd.New(rnd.NewPCG(predictSeed, 1))
	attack(t, victim, theirs, func(y float32) float32 { return 10 - y })
	attack(t, victim, theirs, func(float32) float32 { return float32(5 + 2*noise.NormFloat64()) })
	victim.eventually("the bad models are there", func() bool { return victim.status().ReceivedRecords >= 3 })
	if n := len(victim.sweep(held[0].Context, []int{4}).Basis.Sources); n != 3 {
		t.Errorf("%d models are named, want the good one and the two bad", n)
	}
	poisoned := measure(victim)
	again.stop()

	t.Logf("MRE: one %.1f%%, the other %.1f%%, both %.1f%%, one and poison %.1f%%", firstAlone, secondAlone, both, poisoned)
	if both >= 20 || both >= min(firstAlone, secondAlone) {
		t.Errorf("both: %.1f%%, alone %.1f%% and %.1f%%", both, firstAlone, secondAlone)
	}
	if poisoned > 1.1*firstAlone {
		t.Errorf("with poison %.1f%%, without %.1f%%", poisoned, firstAlone)
	}
}
