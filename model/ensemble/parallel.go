package ensemble

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// each calls f(i) for all i in [0, n), on as many goroutines as there are cores,
// and returns the error of the smallest i. What f(i) writes must be its own, so that
// results do not depend on how many there are.
func each(n int, f func(i int) error) error {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers < 2 {
		for i := range n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, n)
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			errs[i] = f(i)
		}
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// chunks calls f for consecutive ranges that cover [0, n), of about size each, in
// parallel.
func chunks(n, size int, f func(from, to int)) {
	count := (n + size - 1) / size
	_ = each(count, func(i int) error { // f has no error
		f(i*size, min((i+1)*size, n))
		return nil
	})
}
