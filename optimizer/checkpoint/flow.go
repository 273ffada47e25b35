package checkpoint

// network is a closure problem: nodes with weights and arcs from each node to those
// that it needs. The heaviest closed set is a minimum cut (Picard, 1976), found by the
// first phase of push-relabel (Goldberg and Tarjan, 1988) with first-in-first-out
// selection and global relabelling. Arcs to needed nodes are unbounded, so only flow
// and excess are stored. All arrays are reused.
type network struct {
	n int
	// Arcs of node v are out[outAt[v]:outAt[v+1]], heads; in[inAt[v]:inAt[v+1]] are the
	// arcs that end in v, by number.
	outAt, inAt, out, in, tail []int32
	flow                       []int64
	// excess came from positive weights and waits in a node, room is the negative weight
	// that is left.
	excess, room []int64
	label        []int32
	queue        []int32
	queued       []bool
	current      []int32
	// looked counts the nodes and arcs that were looked at, over all calls, and limit ends a
	// call; 0 is none.
	looked, limit int
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

// reset makes room for n nodes; arcs are then added in order of their tails.
func (f *network) reset(n int) {
	f.n = n
	f.outAt = grow(f.outAt, n+1)
	f.out, f.tail = f.out[:0], f.tail[:0]
}

// node begins the arcs of the next node.
func (f *network) node(v int) { f.outAt[v] = int32(len(f.out)) }

// needs adds an arc from the node last begun.
func (f *network) needs(v, head int) {
	f.out = append(f.out, int32(head))
	f.tail = append(f.tail, int32(v))
}

// link ends the construction.
func (f *network) link() {
	n, m := f.n, len(f.out)
	f.outAt[n] = int32(m)
	f.inAt = grow(f.inAt, n+1)
	clear(f.inAt)
	for _, h := range f.out {
		f.inAt[h+1]++
	}
	for v := range n {
		f.inAt[v+1] += f.inAt[v]
	}
	f.in, f.flow = grow(f.in, m), grow(f.flow, m)
	f.current = grow(f.current, n+1)
	copy(f.current, f.inAt[:n+1])
	for a, h := range f.out {
		f.in[f.current[h]] = int32(a)
		f.current[h]++
	}
	f.excess, f.room = grow(f.excess, n), grow(f.room, n)
	f.label, f.queued = grow(f.label, n), grow(f.queued, n)
}

// closure returns, in closed, the largest of the heaviest closed sets. Weights that
// differ little from those of the call before, but for a factor, are solved quickly if
// that factor is given: its flow is where the search starts. 0 starts afresh. False if the
// limit ended it, and closed is as it was.
func (f *network) closure(weights []int64, factor float64, closed []bool) bool {
	f.start(weights, factor)
	f.looked += 2 * (f.n + len(f.out))
	f.spread()
	f.relabelAll()
	f.enqueueActive()
	work, limit := 0, f.n+len(f.out)+64
	for head := 0; head < len(f.queue); head++ {
		v := f.queue[head]
		f.queued[v] = false
		d := f.discharge(v)
		work += d
		if f.looked += d; f.limit > 0 && f.looked > f.limit {
			return false
		}
		if work > limit {
			work = 0
			f.relabelAll()
			f.enqueueActive()
			head = -1
			continue
		}
		if head > 4096 && head > len(f.queue)/2 { // keep the queue short
			f.queue = f.queue[:copy(f.queue, f.queue[head+1:])]
			head = -1
		}
	}
	f.relabelAll()
	for v := range f.n {
		closed[v] = int(f.label[v]) > f.n
	}
	return true
}

// start sets the weights. Any flow is a valid start, as arcs are unbounded: what comes
// into a node adds to its weight, and what leaves it is taken away.
func (f *network) start(weights []int64, factor float64) {
	if factor == 0 {
		clear(f.flow)
		for v, w := range weights {
			f.excess[v], f.room[v] = max(w, 0), max(-w, 0)
		}
		return
	}
	copy(f.excess, weights)
	for a, d := range f.flow {
		if d == 0 {
			continue
		}
		d = int64(float64(d) * factor)
		f.flow[a] = d
		f.excess[f.tail[a]] -= d
		f.excess[f.out[a]] += d
	}
	for v, w := range f.excess {
		f.excess[v], f.room[v] = max(w, 0), max(-w, 0)
	}
}

// spread sends excess to needed nodes as far as they have room, which is most of what
// has to be sent.
func (f *network) spread() {
	for v := range f.n {
		e := f.excess[v]
		if e == 0 {
			continue
		}
		for a := f.outAt[v]; a < f.outAt[v+1] && e > 0; a++ {
			h := f.out[a]
			if d := min(e, f.room[h]); d > 0 {
				f.room[h] -= d
				f.flow[a] += d
				e -= d
			}
		}
		f.excess[v] = e
	}
}

// unreachable labels nodes from which no room can be reached.
func (f *network) unreachable() int32 { return int32(f.n + 1) }

// relabelAll sets each label to the number of arcs to the nearest room.
func (f *network) relabelAll() {
	far := f.unreachable()
	f.looked += f.n + 2*len(f.out)
	q := f.queue[:0]
	for v := range f.n {
		f.label[v] = far
		f.queued[v] = false
		if f.room[v] > 0 {
			f.label[v] = 1
			q = append(q, int32(v))
		}
	}
	for head := 0; head < len(q); head++ {
		w := q[head]
		d := f.label[w] + 1
		for _, a := range f.in[f.inAt[w]:f.inAt[w+1]] {
			if v := f.tail[a]; f.label[v] == far {
				f.label[v] = d
				q = append(q, v)
			}
		}
		for a := f.outAt[w]; a < f.outAt[w+1]; a++ { // flow can go back
			if v := f.out[a]; f.flow[a] > 0 && f.label[v] == far {
				f.label[v] = d
				q = append(q, v)
			}
		}
	}
	f.queue = q
}

func (f *network) enqueueActive() {
	f.queue = f.queue[:0]
	for v := range f.n {
		f.current[v] = 0
		if f.excess[v] > 0 && int(f.label[v]) <= f.n {
			f.queue = append(f.queue, int32(v))
			f.queued[v] = true
		}
	}
}

// discharge pushes v's excess away until none is left or no room can be reached, and
// returns the number of arcs looked at.
func (f *network) discharge(v int32) int {
	work := 0
	outs, ins := f.outAt[v+1]-f.outAt[v], f.inAt[v+1]-f.inAt[v]
	for f.excess[v] > 0 {
		if r := min(f.room[v], f.excess[v]); r > 0 {
			f.room[v] -= r
			f.excess[v] -= r
			continue
		}
		for k := f.current[v]; k < outs+ins && f.excess[v] > 0; k++ {
			f.current[v] = k
			work++
			if k < outs {
				a := f.outAt[v] + k
				if h := f.out[a]; f.label[h]+1 == f.label[v] {
					f.flow[a] += f.excess[v]
					f.send(v, h, f.excess[v])
				}
				continue
			}
			a := f.in[f.inAt[v]+k-outs]
			if t := f.tail[a]; f.flow[a] > 0 && f.label[t]+1 == f.label[v] {
				d := min(f.flow[a], f.excess[v])
				f.flow[a] -= d
				f.send(v, t, d)
			}
		}
		if f.excess[v] == 0 {
			return work
		}
		work += int(outs + ins)
		f.current[v] = 0
		if f.relabel(v); int(f.label[v]) > f.n {
			return work
		}
	}
	return work
}

func (f *network) send(from, to int32, d int64) {
	f.excess[from] -= d
	f.excess[to] += d
	if !f.queued[to] {
		f.queued[to] = true
		f.queue = append(f.queue, to)
	}
}

func (f *network) relabel(v int32) {
	least := f.unreachable()
	if f.room[v] > 0 {
		least = 0
	}
	for a := f.outAt[v]; a < f.outAt[v+1]; a++ {
		least = min(least, f.label[f.out[a]])
	}
	for _, a := range f.in[f.inAt[v]:f.inAt[v+1]] {
		if f.flow[a] > 0 {
			least = min(least, f.label[f.tail[a]])
		}
	}
	f.label[v] = min(least+1, f.unreachable())
}
