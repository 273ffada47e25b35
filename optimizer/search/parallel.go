package search

import (
	cores "runtime" // the tests have a function runtime
	"sync"
)

// block is how many candidates are worth handing to another goroutine.
const block = 16

// blocks calls f for consecutive ranges that cover [0, n), in parallel. What f writes
// must belong to its range, so that results do not depend on the number of cores.
func blocks(n int, f func(from, to int)) {
	workers := min((n+block-1)/block, cores.GOMAXPROCS(0))
	if workers < 2 {
		f(0, n)
		return
	}
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() { f(k*n/workers, (k+1)*n/workers) })
	}
	wg.Wait()
}
