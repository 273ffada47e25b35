package node_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/model/runtime/replay"
	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/node/share"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/wire"
)

// runsOf turns histories into runs of a job.
func runsOf(algorithm string, histories []predict.History) []model.Run {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var runs []model.Run
	for _, h := range histories {
		w := model.Workload{Infrastructure: "aws-emr", Framework: "spark", Algorithm: algorithm, Job: "nightly", InputBytes: h.Context.InputBytes}
		for _, a := range h.Context.Arguments {
			w.Arguments = append(w.Arguments, model.Argument{Name: a.Name, Number: a.Number, Text: a.Text})
		}
		w = w.Normalize()
		for _, o := range h.Runs {
			start = start.Add(time.Hour) // repeats are runs of their own
			runs = append(runs, model.Run{
				Workload: w, Configuration: model.Configuration{MachineType: h.Context.MachineType, ScaleOut: o.ScaleOut},
				RuntimeSeconds: o.RuntimeSeconds, Outcome: model.OK, Start: start,
			})
		}
	}
	return runs
}

// meanRelativeError of a node's predictions of contexts that nobody shares, over their
// medians at each scale-out, in percent.
func meanRelativeError(t *testing.T, app *node.App, algorithm string, held []predict.History) float64 {
	t.Helper()
	var sum, n float64
	for _, h := range held {
		w := wire.FromWorkload(runsOf(algorithm, []predict.History{h})[0].Workload)
		summaries := predict.Summarise(h.Runs)
		req := &karasuv1.SweepRequest{
			Target: &karasuv1.PredictionTarget{
				Infrastructure: w.GetInfrastructure(), Framework: w.GetFramework(), Algorithm: w.GetAlgorithm(),
				InputBytes: w.GetInputBytes(), Arguments: w.GetArguments(),
			},
			MachineTypes: []string{h.Context.MachineType},
		}
		for _, s := range summaries {
			req.Nodes = append(req.Nodes, uint32(s.ScaleOut))
		}
		res, err := app.Advisor().Sweep(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range res.GetPredictions() {
			sum += math.Abs(p.GetRuntimeSeconds()/summaries[i].MedianSeconds - 1)
			n++
		}
	}
	return 100 * sum / n
}

func connect(t *testing.T, from, to *node.App) {
	t.Helper()
	addr := fmt.Sprintf("%s/p2p/%s", to.Network().Addrs()[0], to.Network().ID())
	if err := from.Network().Connect(t.Context(), addr); err != nil {
		t.Fatal(err)
	}
}

// poisoned signs another organisation's model with its predictions changed.
func poisoned(t *testing.T, of *commons.Record, change func(logSeconds float32) float32) *commons.Record {
	t.Helper()
	var m karasuv1.RuntimeModel
	if err := proto.Unmarshal(of.Body, &m); err != nil {
		t.Fatal(err)
	}
	// Of each point the last but one value is ln(seconds).
	points, per := int(m.GetSizes()[2]), 6+len(m.GetArguments())
	for i := range points {
		v := &m.Values[len(m.Values)-i*per-2]
		*v = change(*v)
	}
	body, err := proto.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := crypto.GenerateEd25519Key(nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := commons.Seal(key, &karasuv1.Record{
		Topic: of.Topic.String(), Kind: of.Kind, Key: of.Key, Revision: 1,
		Created: of.Created.Unix(), NotAfter: of.NotAfter.Unix(), Organisation: "mallory", Body: body,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPredictionsFromPeersAlone: two organisations share models of contexts that have
// nothing in common, a third one has no runs at all. What it predicts of contexts that
// neither knows is good with one, better with both, and no worse for models that are
// inverted or random.
func TestPredictionsFromPeersAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("trains models")
	}
	tables, err := replay.LoadC3O(filepath.Dir(modeltest.Data(t, "c3o")))
	if err != nil {
		t.Fatal(err)
	}
	sharing := func(_ *node.Home, c *node.Config) {
		c.Share.Policy, c.Share.RuntimeModels = share.Models, true
	}
	acme, globex := startNode(t, "acme", sharing, node.Options{}), startNode(t, "globex", sharing, node.Options{})
	reader, victim := startNode(t, "initech", nil, node.Options{}), startNode(t, "umbrella", nil, node.Options{})
	held := map[string][]predict.History{}
	var algorithms []string
	for _, table := range tables {
		// One has the smaller inputs, the other the larger ones.
		histories := slices.Clone(table.Histories)
		slices.SortStableFunc(histories, func(a, b predict.History) int { return cmp.Compare(a.Context.InputBytes, b.Context.InputBytes) })
		var parts [3][]predict.History
		for i, h := range histories {
			switch {
			case i%6 == 5:
				parts[2] = append(parts[2], h)
			case i < len(histories)/2:
				parts[0] = append(parts[0], h)
			default:
				parts[1] = append(parts[1], h)
			}
		}
		algorithms = append(algorithms, table.Job)
		held[table.Job] = parts[2]
		for i, app := range []*node.App{acme, globex} {
			runs := runsOf(table.Job, parts[i])
			if _, _, err := app.ImportRuns(t.Context(), runs); err != nil {
				t.Fatal(err)
			}
		}
	}
	models := func(app *node.App) []*commons.Record {
		all, err := app.Commons().All(shared)
		if err != nil {
			t.Fatal(err)
		}
		var out []*commons.Record
		for _, r := range all {
			if r.Kind == karasuv1.RecordKind_RECORD_KIND_RUNTIME_MODEL {
				out = append(out, r)
			}
		}
		return out
	}
	have := func(app *node.App, n int) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d models", n), func() bool { return len(models(app)) == n })
	}
	n := len(algorithms)
	have(acme, n)
	have(globex, n)

	connect(t, reader, acme)
	have(reader, n)
	one := map[string]float64{}
	for _, a := range algorithms {
		one[a] = meanRelativeError(t, reader, a, held[a])
	}
	// A relay passes on what it holds of whomever, so the poison is apart from the rest.
	mallory := startNode(t, "mallory", nil, node.Options{})
	r := rand.New(rand.NewPCG(1, 2))
	for _, m := range models(acme) {
		for _, change := range []func(float32) float32{
			func(v float32) float32 { return 10 - v },
			func(float32) float32 { return float32(5 + 2*r.NormFloat64()) },
		} {
			if _, err := mallory.Commons().Put(t.Context(), poisoned(t, m, change), false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := victim.Commons().PutAll(t.Context(), models(acme), false); err != nil {
		t.Fatal(err)
	}
	connect(t, victim, mallory)
	have(victim, 3*n)
	bad := map[string]float64{}
	for _, a := range algorithms {
		bad[a] = meanRelativeError(t, victim, a, held[a])
	}

	connect(t, reader, globex)
	have(reader, 2*n)
	both := map[string]float64{}
	for _, a := range algorithms {
		both[a] = meanRelativeError(t, reader, a, held[a])
	}
	var sumOne, sumBoth float64
	for _, a := range algorithms {
		t.Logf("%-9s %3d contexts held out: %5.1f%% with one peer, %5.1f%% with both, %5.1f%% with one and two poisoned", a, len(held[a]), one[a], both[a], bad[a])
		if bad[a] > 1.1*one[a] {
			t.Errorf("%s: poisoned models do harm: %.1f%%, without %.1f%%", a, bad[a], one[a])
		}
		if both[a] > 20 {
			t.Errorf("%s: off by %.1f%% with both peers", a, both[a])
		}
		sumOne, sumBoth = sumOne+one[a]/float64(n), sumBoth+both[a]/float64(n)
	}
	t.Logf("mean: %.1f%% with one peer, %.1f%% with both", sumOne, sumBoth)
	if sumBoth >= sumOne {
		t.Errorf("two peers are no better than one: %.1f%% and %.1f%%", sumBoth, sumOne)
	}
}
