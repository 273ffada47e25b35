package spark

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// stage is one attempt of a stage, in the times of the log.
type stage struct {
	model.Stage
	submitted, complete int64  // ms, 0 is unknown
	launch, finish      int64  // ms, of its first and last task
	informed            bool   // a stage info was seen
	rdd                 int64  // the highest RDD id, -1 is unknown
	source              string // the RDDs that it reads from outside, for the input size
	done                taskSet
}

// stages that ran.
type stages struct {
	list []*stage
	at   map[[2]int]*stage
	// first is the order in which stages were first seen, by id.
	first map[int]int
	// byRDD are the stages that wrote a shuffle, by the highest RDD id, latest last.
	byRDD   map[int64][]*stage
	queries map[int]int // of the stages of running jobs
	words   interner
	lists   map[string][]string // of operators, by their names
	pages   int
	edges   int
}

func (s *stages) init() {
	s.at, s.first = make(map[[2]int]*stage), make(map[int]int)
	s.lists = make(map[string][]string)
	s.byRDD, s.queries = make(map[int64][]*stage), make(map[int]int)
}

func (s *stages) executed(id int) bool {
	_, ok := s.first[id]
	return ok
}

func stageNumber(n int64) (int, bool) { return int(n), n >= 0 && n <= math.MaxInt32 }

// get returns the state of an attempt, made where there is none; nil where there are
// too many.
func (s *stages) get(id, attempt int) *stage {
	key := [2]int{id, attempt}
	if st := s.at[key]; st != nil {
		return st
	}
	if len(s.list) >= maxStages {
		return nil
	}
	if !s.executed(id) {
		s.first[id] = len(s.first)
	}
	st := &stage{rdd: -1}
	st.ID, st.Attempt, st.Query = id, attempt, -1
	s.at[key] = st
	s.list = append(s.list, st)
	return st
}

// writer finds the executed stage that wrote the shuffle of a stage to come: one with
// the same last RDD and as many tasks.
func (s *stages) writer(info *stageInfo) (int, bool) {
	all := s.byRDD[lastRDD(info.RDDs)]
	for _, st := range slices.Backward(all) {
		if int64(st.Tasks) == info.Tasks {
			return st.ID, true
		}
	}
	return 0, false
}

func lastRDD(rdds []rddInfo) int64 {
	last := int64(-1)
	for _, r := range rdds {
		last = max(last, r.ID)
	}
	return last
}

// wrote makes a stage known as the writer of a shuffle, by its first map task.
func (s *stages) wrote(st *stage) {
	if st.rdd < 0 || slices.ContainsFunc(s.byRDD[st.rdd], func(o *stage) bool { return o.ID == st.ID }) {
		return
	}
	s.byRDD[st.rdd] = append(s.byRDD[st.rdd], st)
}

func (p *Parser) stageSubmitted(text []byte) error {
	var e stageEvent
	if err := decode(text, &e); err != nil {
		return err
	}
	st := p.inform(&e)
	if st != nil && st.Query < 0 {
		st.Query = queryOf(e.Properties.Query)
	}
	return nil
}

func (p *Parser) stageCompleted(text []byte) error {
	var e stageEvent
	if err := decode(text, &e); err != nil {
		return err
	}
	st := p.inform(&e)
	if st == nil {
		return nil
	}
	st.complete = p.worked(e.Info.Completed)
	st.Outcome = model.OK
	if e.Info.Failure != "" {
		st.Outcome = model.Failed
	}
	return nil
}

// inform fills in what a stage info tells; nil where the stage is not kept.
func (p *Parser) inform(e *stageEvent) *stage {
	info := &e.Info
	id, ok := stageNumber(info.ID)
	attempt, ok2 := stageNumber(info.Attempt)
	if !ok || !ok2 {
		return nil
	}
	st := p.stages.get(id, attempt)
	if st == nil {
		p.note("more stages than are kept")
		return nil
	}
	if at := p.worked(info.Submitted); at != 0 {
		st.submitted = at
	}
	if st.informed {
		return st
	}
	st.informed = true
	st.Name = p.stages.words.intern(cleanName(info.Name))
	st.Details = p.stages.words.intern(cleanDetails(info.Details))
	st.Tasks = int(min(max(info.Tasks, 0), model.MaxTasks))
	st.rdd = lastRDD(info.RDDs)
	st.source = p.stages.words.intern(sourceKey(info.RDDs))
	st.Operators = p.stages.operators(info.RDDs)
	if q, ok := p.stages.queries[id]; ok {
		st.Query = q
	}
	st.Parents = p.parents(id, info)
	return st
}

// parents returns the executed stages behind the numbers that a stage info names. A
// parent that the log does not hold is left out.
func (p *Parser) parents(id int, info *stageInfo) []int {
	var out []int
	missing := 0
	if p.stages.edges += len(info.Parents); p.stages.edges > maxEdges {
		p.note("more parents than are kept")
		return nil
	}
	for _, n := range info.Parents {
		parent, ok := stageNumber(n)
		if !ok || parent == id {
			continue
		}
		if !p.stages.executed(parent) {
			wrote, ok := p.jobs.resolved[parent]
			if !ok || wrote == id {
				missing++
				continue
			}
			parent = wrote
		}
		out = append(out, parent)
	}
	if missing > 0 {
		out, missing = p.stages.lineage(id, info.RDDs, out, missing)
	}
	for range missing {
		p.note("parents of stages that the log does not hold")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lineage finds parents whose numbers are not known, as the start of the job is not in
// the log: an RDD outside of the stage that one inside names as its parent is the last
// RDD of the stage that wrote the shuffle.
func (s *stages) lineage(id int, rdds []rddInfo, out []int, missing int) ([]int, int) {
	inside := make(map[int64]bool, len(rdds))
	for _, r := range rdds {
		inside[r.ID] = true
	}
	for _, r := range rdds {
		for _, parent := range r.Parents {
			wrote := s.byRDD[parent]
			if missing == 0 || inside[parent] || len(wrote) == 0 {
				continue
			}
			if last := wrote[len(wrote)-1].ID; last != id && !slices.Contains(out, last) {
				out = append(out, last)
				missing--
			}
		}
	}
	return out, missing
}

// operators returns the distinct operators of a stage's RDDs, in order of the RDDs.
// Stages with the same ones share the list.
func (s *stages) operators(rdds []rddInfo) []string {
	sorted := slices.Clone(rdds)
	slices.SortFunc(sorted, func(a, b rddInfo) int { return cmp.Compare(a.ID, b.ID) })
	var out []string
	for _, r := range sorted {
		if r.Scope == "" || len(out) >= model.MaxOperators {
			continue
		}
		var scope struct {
			Name string `json:"name"`
		}
		if decode([]byte(r.Scope), &scope) != nil {
			continue
		}
		if name := s.words.intern(operator(scope.Name)); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	key := strings.Join(out, "\x00")
	if list, ok := s.lists[key]; ok {
		return list
	}
	if s.words.intern(key) == "" { // the budget is used up
		return nil
	}
	s.lists[key] = out
	return out
}

// sourceKey identifies what a stage reads from outside: the RDDs of it without parents.
// Spark before 1.4 does not tell parents; there it is the lowest RDD.
func sourceKey(rdds []rddInfo) string {
	var ids []int64
	lowest := int64(math.MaxInt64)
	for _, r := range rdds {
		lowest = min(lowest, r.ID)
		if len(r.Parents) == 0 {
			ids = append(ids, r.ID)
		}
	}
	if len(rdds) == 0 {
		return ""
	}
	if len(ids) == len(rdds) {
		ids = []int64{lowest}
	}
	slices.Sort(ids)
	key := make([]byte, 0, 64)
	for _, id := range ids[:min(len(ids), 64)] {
		key = append(strconv.AppendInt(key, id, 10), 0x20)
	}
	return string(key)
}
