package node

import (
	"testing"
	"time"
)

func TestRetryDelay(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: 30 * time.Second, 2: time.Minute, 7: 32 * time.Minute, 8: time.Hour, 1000: time.Hour} {
		if got := retryDelay(failures); got != want {
			t.Errorf("after %d failures: %v, want %v", failures, got, want)
		}
	}
}
