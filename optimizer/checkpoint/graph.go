package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Bounds of a graph, so that no input can exhaust memory.
const (
	MaxStages = 200_000
	MaxEdges  = 2_000_000
	// maxBytes bounds one output (2^80) and maxSeconds one time (ten years), so that
	// no sum or product of them overflows.
	maxBytes   = 1 << 80
	maxSeconds = 10 * 366 * 86400
)

// Errors of graphs and problems. Errors of this package wrap one of them.
var (
	// ErrEmpty says that there is no stage.
	ErrEmpty = errors.New("no stages")
	// ErrCycle says that stages depend on each other in a circle.
	ErrCycle = errors.New("stages depend on each other in a cycle")
	// ErrParent says that a stage reads from a stage that is not in the graph, or from itself.
	ErrParent = errors.New("parent is not in the graph")
	// ErrDuplicate says that two stages have one ID.
	ErrDuplicate = errors.New("stage is there twice")
	// ErrAmount says that a size or time is negative, not finite or too large.
	ErrAmount = errors.New("amount is out of range")
	// ErrOption says that an option has no meaning.
	ErrOption = errors.New("option is out of range")
)

// Stage is one stage of a job. Times are seconds since the job's start.
type Stage struct {
	// ID is the caller's number of the stage, and the parents' those that it reads.
	ID      int
	Parents []int
	// Bytes is the output for later stages: temporary storage while the job runs, and
	// what a checkpoint of the stage writes.
	Bytes float64
	// Start and End; the difference is what the stage takes.
	Start, End float64
	// Pinned stages cannot be checkpointed, such as those whose output is a broadcast.
	Pinned bool
	// Hotspot says that the output lies on a machine whose storage is short.
	Hotspot bool
}

// Graph is a validated job whose stages are in order of their ends, parents first: a
// prefix of the order is what has ended at some time. Read-only, so safe for
// concurrent use.
type Graph struct {
	// stages in order; their ends are not below those of their parents.
	stages []Stage
	// parents and children of stage i are list[at[i]:at[i+1]], as places in the order.
	parentAt, parentList, childAt, childList []int32
	// end is the job's end in seconds, bytes the sum of all outputs.
	end, bytes float64
	// raised counts the stages whose end was below a parent's.
	raised int
}

// NewGraph validates stages and brings them into order. An end before a parent's end
// is raised to it (pipelined stages overlap, but a cut holds no unfinished parent).
// Errors: ErrEmpty, ErrCycle, ErrParent, ErrDuplicate, ErrAmount.
func NewGraph(stages []Stage) (*Graph, error) {
	if len(stages) == 0 {
		return nil, ErrEmpty
	}
	if len(stages) > MaxStages {
		return nil, fmt.Errorf("%w: %d stages are more than %d", ErrAmount, len(stages), MaxStages)
	}
	g := &Graph{stages: slices.Clone(stages)}
	slices.SortFunc(g.stages, func(a, b Stage) int { return cmp.Compare(a.ID, b.ID) })
	at := make(map[int]int32, len(stages))
	edges := 0
	for i := range g.stages {
		s := &g.stages[i]
		if err := s.validate(); err != nil {
			return nil, err
		}
		if i > 0 && g.stages[i-1].ID == s.ID {
			return nil, fmt.Errorf("stage %d: %w", s.ID, ErrDuplicate)
		}
		s.Parents = slices.Clone(s.Parents)
		slices.Sort(s.Parents)
		s.Parents = slices.Compact(s.Parents)
		if edges += len(s.Parents); edges > MaxEdges {
			return nil, fmt.Errorf("%w: more than %d parents together", ErrAmount, MaxEdges)
		}
		at[s.ID] = int32(i)
	}
	for _, s := range g.stages {
		for _, p := range s.Parents {
			if _, ok := at[p]; !ok {
				return nil, fmt.Errorf("stage %d reads from stage %d: %w", s.ID, p, ErrParent)
			}
		}
	}
	if err := g.order(at); err != nil {
		return nil, err
	}
	g.link()
	return g, nil
}

func (s Stage) validate() error {
	if !(s.Bytes >= 0 && s.Bytes <= maxBytes) {
		return fmt.Errorf("stage %d: output of %g bytes: %w", s.ID, s.Bytes, ErrAmount)
	}
	if !(s.Start >= 0 && s.Start <= s.End && s.End <= maxSeconds) {
		return fmt.Errorf("stage %d: from %g s to %g s: times must run forward from 0 to at most ten years: %w",
			s.ID, s.Start, s.End, ErrAmount)
	}
	if slices.Contains(s.Parents, s.ID) {
		return fmt.Errorf("stage %d reads from itself: %w", s.ID, ErrCycle)
	}
	return nil
}

// order sorts the stages by end, then topologically, after raising ends to parents'.
func (g *Graph) order(at map[int]int32) error {
	n := len(g.stages)
	children := make([][]int32, n)
	missing := make([]int32, n)
	for i, s := range g.stages {
		missing[i] = int32(len(s.Parents))
		for _, p := range s.Parents {
			children[at[p]] = append(children[at[p]], int32(i))
		}
	}
	topological := make([]int32, 0, n)
	for i := range missing {
		if missing[i] == 0 {
			topological = append(topological, int32(i))
		}
	}
	rank := make([]int32, n)
	for k := 0; k < len(topological); k++ {
		i := topological[k]
		rank[i] = int32(k)
		for _, c := range children[i] {
			if g.stages[c].End < g.stages[i].End {
				g.stages[c].End = g.stages[i].End
				g.raised++
			}
			if missing[c]--; missing[c] == 0 {
				topological = append(topological, c)
			}
		}
	}
	if len(topological) < n {
		return fmt.Errorf("%w (%d of %d stages)", ErrCycle, n-len(topological), n)
	}
	slices.SortFunc(topological, func(a, b int32) int {
		return cmp.Or(cmp.Compare(g.stages[a].End, g.stages[b].End), cmp.Compare(rank[a], rank[b]))
	})
	sorted := make([]Stage, n)
	for k, i := range topological {
		sorted[k] = g.stages[i]
	}
	g.stages = sorted
	return nil
}

// link builds the flat lists of parents and children.
func (g *Graph) link() {
	n := len(g.stages)
	place := make(map[int]int32, n)
	for i, s := range g.stages {
		place[s.ID] = int32(i)
		g.bytes += s.Bytes
	}
	g.end = g.stages[n-1].End
	g.parentAt, g.childAt = make([]int32, n+1), make([]int32, n+1)
	for i, s := range g.stages {
		g.parentAt[i+1] = g.parentAt[i] + int32(len(s.Parents))
		for _, p := range s.Parents {
			g.parentList = append(g.parentList, place[p])
			g.childAt[place[p]+1]++
		}
	}
	for i := range n {
		g.childAt[i+1] += g.childAt[i]
	}
	g.childList = make([]int32, len(g.parentList))
	next := slices.Clone(g.childAt)
	for i := range n {
		for _, p := range g.parents(i) {
			g.childList[next[p]] = int32(i)
			next[p]++
		}
	}
}

func (g *Graph) parents(i int) []int32  { return g.parentList[g.parentAt[i]:g.parentAt[i+1]] }
func (g *Graph) children(i int) []int32 { return g.childList[g.childAt[i]:g.childAt[i+1]] }

// size is the number of the first n stages and of the edges from them.
func (g *Graph) size(n int) int { return n + int(g.childAt[n]) }

// Len is the number of stages.
func (g *Graph) Len() int { return len(g.stages) }

// Seconds is when the job ends: the latest end of a stage.
func (g *Graph) Seconds() float64 { return g.end }

// Bytes is the sum of all outputs.
func (g *Graph) Bytes() float64 { return g.bytes }

// Stages returns the stages in the graph's order, ends raised to those of parents.
func (g *Graph) Stages() []Stage { return slices.Clone(g.stages) }

// Raised is how many ends were before a parent's and are now equal to it.
func (g *Graph) Raised() int { return g.raised }

// ByteSeconds is the temporary storage that the job uses: the sum over stages of bytes
// times the seconds from the stage's end to the job's.
func (g *Graph) ByteSeconds(hotspots bool) float64 {
	sum := 0.0
	for _, s := range g.stages {
		if s.Hotspot || !hotspots {
			sum += s.Bytes * (g.end - s.End)
		}
	}
	return math.Max(sum, 0)
}
