package simulator

// static never changes anything: what was asked for is what runs.
type static struct {
	units func(*job) int
	// memory asked for; the oracle knows the need.
	memory func(*job) float64
}

// oracleMargin of memory over the true need.
const oracleMargin = 1.15

func asksMemory(j *job) float64  { return j.memoryAsked }
func knowsMemory(j *job) float64 { return oracleMargin * j.memoryEnd }

func (s static) start(w *world, a *active) (int, float64, bool) {
	n := s.units(a.job)
	return n, s.memory(a.job), n <= w.free()
}

func (static) observe(*world, *active) {}
func (static) decide(*world)           {}
func (static) done(*world, *active)    {}

// outOfMemory: with the same memory it would run out of it again.
func (static) outOfMemory(*world, *active) (float64, bool) { return 0, false }
