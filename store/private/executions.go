package private

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/internal/kv"
	"github.com/karasu-project/karasu/store/internal/measure"
	"github.com/karasu-project/karasu/store/wire"
)

// Executions lie under their ID, which is that of the run that they become. 'e' holds
// all but the stages, 'g' and a number hold a part of the compressed stages.
const (
	executionPrefix = 'e'
	graphPrefix     = 'g'
	// graphPart bounds a part, in bytes.
	graphPart = 512 << 10
	// maxStored bounds an execution with its stages as stored, so that one transaction
	// has room for it and its run.
	maxStored = 3 << 19
	// importerVersion is raised when the importers read more from the same records than
	// before, so that importing them again updates what is stored.
	importerVersion = 1
)

// ErrNoExecution says that no execution is stored under an origin or an ID.
var ErrNoExecution = errors.New("no such execution")

// Hints are what the user says of an execution where its source does not; each may be
// empty.
type Hints struct{ Infrastructure, MachineType string }

// over fills what is empty from older hints.
func (h Hints) over(older Hints) Hints {
	if h.Infrastructure == "" {
		h.Infrastructure = older.Infrastructure
	}
	if h.MachineType == "" {
		h.MachineType = older.MachineType
	}
	return h
}

// Namer makes the run of an execution; nil says that it is none. The execution has no
// graph. The run's origin is the execution's.
type Namer func(e model.Execution, h Hints) *model.Run

// StoredExecution is an execution without its graph.
type StoredExecution struct {
	Execution model.Execution
	Hints     Hints
	// ID is that of the run, HasRun says whether there is one.
	ID     string
	HasRun bool
}

// Put says what became of an execution.
type Put struct {
	// New says that it was not stored before, Changed that it, its hints or its run
	// changed.
	New, Changed bool
	// Execution is what is stored now, without its graph, and Hints what the user said.
	Execution model.Execution
	Hints     Hints
	// Run is the run that it is now; nil is none.
	Run *model.Run
	// Dropped names what was left out because the execution is too large.
	Dropped []string
}

// PutExecution stores an execution and the run that it is, in one transaction. Where it
// is stored already from a record that is at least as complete, that one stays, and the
// new hints count: copies of a record do not take turns. Complete is what tells how it
// ended; then what is not cut; then what holds more events; then what has fewer bad
// lines; then what newer importers read; then what fewer notes complain of. The error
// wraps model.ErrInvalid.
func (d *DB) PutExecution(ctx context.Context, e model.Execution, h Hints, name Namer) (Put, error) {
	if err := ctx.Err(); err != nil {
		return Put{}, err
	}
	if err := e.Validate(); err != nil {
		return Put{}, err
	}
	var p packer
	defer p.close()
	packed, err := packExecution(&p, e)
	if err != nil {
		return Put{}, err
	}
	var out Put
	err = d.kv.Update(func(t *kv.Txn) (err error) {
		out, err = putExecution(t, &p, packed, h, name)
		return err
	})
	if err != nil {
		return Put{}, err
	}
	if out.Changed {
		d.kv.Notify()
	}
	return out, nil
}

// packedExecution is an execution as it is stored.
type packedExecution struct {
	id      []byte
	head    *karasuv1.StoredExecution
	graph   []byte // compressed
	dropped []string
}

// packExecution leaves out what makes an execution too large for a transaction.
func packExecution(p *packer, e model.Execution) (packedExecution, error) {
	id, err := hex.DecodeString(model.OriginID(e.Origin))
	if err != nil {
		return packedExecution{}, fmt.Errorf("execution ID: %w", err)
	}
	for limit := wire.MaxExecution; ; limit /= 2 {
		m, dropped := wire.FromExecutionWithin(e, limit)
		raw, err := marshal(m)
		if err != nil {
			return packedExecution{}, fmt.Errorf("execution %q: %w: %w", e.Origin, model.ErrInvalid, err)
		}
		digest := sha256.Sum256(raw)
		out := packedExecution{id: id, dropped: dropped}
		if m.GetGraph() != nil {
			raw, err := marshal(m.GetGraph())
			if err != nil {
				return packedExecution{}, fmt.Errorf("stages of %q: %w: %w", e.Origin, model.ErrInvalid, err)
			}
			if out.graph, err = p.pack(raw); err != nil {
				return packedExecution{}, err
			}
			m.Graph = nil
		}
		out.head = &karasuv1.StoredExecution{Execution: m, Digest: digest[:], Importer: importerVersion, Parts: uint32((len(out.graph) + graphPart - 1) / graphPart)}
		head, err := packHead(p, out.head)
		if err != nil {
			return packedExecution{}, err
		}
		if len(head)+len(out.graph) <= maxStored {
			return out, nil
		}
		if limit < 64<<10 {
			return packedExecution{}, fmt.Errorf("%w: execution %q of %d bytes, at most %d", ErrTooLarge, e.Origin, len(head), maxStored)
		}
	}
}

func marshal(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

func packHead(p *packer, m *karasuv1.StoredExecution) ([]byte, error) {
	raw, err := marshal(m)
	if err != nil {
		return nil, fmt.Errorf("execution: %w: %w", model.ErrInvalid, err)
	}
	return p.pack(raw)
}

func putExecution(t *kv.Txn, p *packer, n packedExecution, h Hints, name Namer) (Put, error) {
	old, err := getHead(t, p, n.id)
	isNew := errors.Is(err, ErrNoExecution)
	if err != nil && !isNew {
		return Put{}, err
	}
	head := proto.CloneOf(n.head)
	replaced := isNew || !bytes.Equal(old.GetDigest(), head.GetDigest()) && moreComplete(head, old)
	if !replaced {
		head = proto.CloneOf(old)
	}
	head.Hints = fromHints(h.over(toHints(old.GetHints())))
	head.Run, head.Attached = old.GetRun(), old.GetAttached()
	out := Put{New: isNew, Dropped: n.dropped}
	runChanged, err := place(t, n.id, head, name, &out)
	if err != nil {
		return Put{}, err
	}
	out.Changed = replaced || runChanged || !proto.Equal(head, old)
	if !out.Changed {
		return out, nil
	}
	if replaced {
		for i := range max(old.GetParts(), head.GetParts()) {
			key := graphKey(n.id, i)
			if i >= head.GetParts() {
				err = t.Delete(key)
			} else {
				err = t.Set(key, n.graph[int(i)*graphPart:min(len(n.graph), (int(i)+1)*graphPart)])
			}
			if err != nil {
				return Put{}, err
			}
		}
	}
	if key, value := attemptKey(head.GetExecution(), n.id); key != nil {
		if err := t.Set(key, value); err != nil {
			return Put{}, err
		}
	}
	if err := setHead(t, p, n.id, head); err != nil {
		return Put{}, err
	}
	return out, placeEarlier(t, p, head.GetExecution(), n.id, name)
}

// moreComplete says whether what came tells more than what is stored.
func moreComplete(came, stored *karasuv1.StoredExecution) bool {
	flag := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	rank := func(m *karasuv1.StoredExecution) []int64 {
		q := m.GetExecution().GetQuality()
		return []int64{
			flag(m.GetExecution().GetOutcome() != ""), flag(!q.GetCut()), q.GetEvents(), -int64(q.GetBadLines()),
			int64(m.GetImporter()), -int64(len(q.GetNotes())),
		}
	}
	return slices.Compare(rank(came), rank(stored)) > 0
}

// place names an execution and stores, changes or deletes its run to match.
func place(t *kv.Txn, id []byte, head *karasuv1.StoredExecution, name Namer, out *Put) (changed bool, err error) {
	e, err := wire.ToExecution(head.GetExecution())
	if err != nil {
		return false, fmt.Errorf("%w: execution %x: %w", ErrCorrupt, id, err)
	}
	out.Execution, out.Hints = e, toHints(head.GetHints())
	if _, superseded, err := otherAttempts(t, head.GetExecution(), id); err != nil {
		return false, err
	} else if superseded {
		e.Outcome = model.Failed
	}
	run := name(e, out.Hints)
	old, err := storedRun(t, id)
	if err != nil {
		return false, err
	}
	if run == nil {
		if old == nil || !head.GetRun() { // none, or one that came as a run
			return false, nil
		}
		head.Run = false
		return true, removeRun(t, id, *old)
	}
	clean, err := validate([]model.Run{*run})
	if err != nil {
		return false, err
	}
	if clean[0].ID() != hex.EncodeToString(id) {
		return false, fmt.Errorf("run of execution %q has the origin %q", e.Origin, run.Origin)
	}
	if old != nil && !head.GetRun() { // it came as a run, with metrics of its own
		head.Attached = measure.ToProto(mergeMetrics(measure.FromProto(head.GetAttached()), old.Metrics))
	}
	clean[0].Metrics = mergeMetrics(measure.FromProto(head.GetAttached()), clean[0].Metrics)
	out.Run, head.Run = &clean[0], true
	if old != nil && sameRun(*old, clean[0]) {
		return false, nil
	}
	return true, replaceRun(t, id, old, clean[0])
}

// sameRun compares runs as they are stored.
func sameRun(a, b model.Run) bool {
	return proto.Equal(wire.FromRun(a), wire.FromRun(b))
}

// storedRun returns nil where no run has the ID.
func storedRun(t *kv.Txn, id []byte) (*model.Run, error) {
	key := append([]byte{runPrefix}, id...)
	value, err := t.Get(key)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := decodeRun(key, value)
	return &r, err
}

// replaceRun stores a run in place of the one before, which may be nil.
func replaceRun(t *kv.Txn, id []byte, old *model.Run, r model.Run) error {
	if old != nil {
		if err := removeRun(t, id, *old); err != nil {
			return err
		}
	}
	_, err := addRuns(t, []model.Run{r})
	return err
}

func removeRun(t *kv.Txn, id []byte, r model.Run) error {
	for _, index := range indices(r, id) {
		if err := t.Delete(index); err != nil {
			return err
		}
	}
	return t.Delete(append([]byte{runPrefix}, id...))
}

// mergeMetrics fills what was not measured from what was attached before.
func mergeMetrics(m, older model.Metrics) model.Metrics {
	to, from := reflect.ValueOf(&m).Elem(), reflect.ValueOf(older)
	for i := range to.NumField() {
		if to.Field(i).IsNil() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return m
}

func executionKey(id []byte) []byte { return append([]byte{executionPrefix}, id...) }

func graphKey(id []byte, part uint32) []byte {
	return append(append([]byte{graphPrefix}, id...), byte(part))
}

// deleteExecution deletes an execution and its stages; an absent one is no error.
func deleteExecution(t *kv.Txn, id []byte) error {
	var p packer
	defer p.close()
	head, err := getHead(t, &p, id)
	if errors.Is(err, ErrNoExecution) {
		return nil
	}
	if err != nil {
		return err
	}
	if key, _ := attemptKey(head.GetExecution(), id); key != nil {
		if err := t.Delete(key); err != nil {
			return err
		}
	}
	if err := t.Delete(executionKey(id)); err != nil {
		return err
	}
	var parts [][]byte
	err = t.EachKey(append([]byte{graphPrefix}, id...), func(key []byte) error {
		parts = append(parts, key)
		return nil
	})
	for _, key := range parts {
		err = errors.Join(err, t.Delete(key))
	}
	return err
}

func setHead(t *kv.Txn, p *packer, id []byte, head *karasuv1.StoredExecution) error {
	value, err := packHead(p, head)
	if err != nil {
		return err
	}
	return t.Set(executionKey(id), value)
}

func getHead(t *kv.Txn, p *packer, id []byte) (*karasuv1.StoredExecution, error) {
	value, err := t.Get(executionKey(id))
	if errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("%w: %x", ErrNoExecution, id)
	}
	if err != nil {
		return nil, err
	}
	return decodeHead(p, id, value)
}

// decodeHead reads a stored execution, which must have the ID of its key.
func decodeHead(p *packer, id, value []byte) (*karasuv1.StoredExecution, error) {
	raw, err := p.unpack(value)
	if err != nil {
		return nil, fmt.Errorf("execution %x: %w", id, err)
	}
	var m karasuv1.StoredExecution
	if err := proto.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("%w: execution %x: %w", ErrCorrupt, id, err)
	}
	if got := model.OriginID(m.GetExecution().GetOrigin()); got != hex.EncodeToString(id) {
		return nil, fmt.Errorf("%w: execution %s is stored as %x", ErrCorrupt, got, id)
	}
	return &m, nil
}

func fromHints(h Hints) *karasuv1.ExecutionHints {
	if h == (Hints{}) {
		return nil
	}
	return &karasuv1.ExecutionHints{Infrastructure: h.Infrastructure, MachineType: h.MachineType}
}

func toHints(m *karasuv1.ExecutionHints) Hints {
	return Hints{m.GetInfrastructure(), m.GetMachineType()}
}
