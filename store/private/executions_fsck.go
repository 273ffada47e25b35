package private

import (
	"encoding/hex"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/wire"
)

// executionCheck compares executions, their stages and their runs. Keys come in order:
// attempts first, then executions, parts of stages, and runs.
type executionCheck struct {
	p        packer
	attempts map[string]bool   // keys that no execution has asked for
	runs     map[string]bool   // executions that should have a run
	parts    map[string]uint32 // parts that should come
	graph    []byte            // parts of the execution at hand
}

func newExecutionCheck() *executionCheck {
	return &executionCheck{attempts: map[string]bool{}, runs: map[string]bool{}, parts: map[string]uint32{}}
}

func (c *executionCheck) close() { c.p.close() }

func (c *executionCheck) attempt(r *Report, key []byte) {
	if len(key) != attemptKeySize {
		r.Problemf("attempt under key %x", key)
		return
	}
	c.attempts[string(key)] = true
}

func (c *executionCheck) head(r *Report, key, payload []byte) {
	if len(key) != 1+runIDSize {
		r.Problemf("execution under key %x", key)
		return
	}
	head, err := decodeHead(&c.p, key[1:], payload)
	if err == nil {
		_, err = wire.ToExecution(head.GetExecution())
	}
	if err != nil {
		r.Problemf("%v", err)
		return
	}
	id := string(key[1:])
	if k, _ := attemptKey(head.GetExecution(), key[1:]); k != nil {
		if !c.attempts[string(k)] {
			r.Problemf("execution %x is missing among the attempts of its application", id)
		}
		delete(c.attempts, string(k))
	}
	if head.GetRun() {
		c.runs[id] = true
	}
	if n := head.GetParts(); n > 0 {
		c.parts[id] = n
	}
}

func (c *executionCheck) part(r *Report, key, payload []byte) {
	if len(key) != 2+runIDSize {
		r.Problemf("stages under key %x", key)
		return
	}
	id, number := string(key[1:1+runIDSize]), uint32(key[1+runIDSize])
	want, known := c.parts[id]
	if !known {
		r.Problemf("stages of execution %x, which is not stored or has fewer", id)
		return
	}
	if number == 0 {
		c.graph = nil
	}
	c.graph = append(c.graph, payload...)
	if number+1 < want {
		return
	}
	delete(c.parts, id)
	raw, err := c.p.unpack(c.graph)
	if err == nil {
		err = proto.Unmarshal(raw, &karasuv1.StageGraph{})
	}
	if err != nil {
		r.Problemf("stages of execution %x: %v", id, err)
	}
}

func (c *executionCheck) run(id []byte) { delete(c.runs, string(id)) }

func (c *executionCheck) done(r *Report) {
	for _, k := range slices.Sorted(maps.Keys(c.attempts)) {
		r.Problemf("attempt %x, which is not stored", k[len(k)-runIDSize:])
	}
	for _, id := range slices.Sorted(maps.Keys(c.runs)) {
		r.Problemf("run %s of an execution is not stored", hex.EncodeToString([]byte(id)))
	}
	for _, id := range slices.Sorted(maps.Keys(c.parts)) {
		r.Problemf("stages of execution %s are not stored in whole", hex.EncodeToString([]byte(id)))
	}
}
