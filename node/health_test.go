package node

import (
	"testing"
	"time"
)

func TestSyncWatch(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	const patience = 5 * time.Minute
	for name, c := range map[string]struct {
		looks []struct{ minute, partners, last int }
		stuck bool
	}{
		"alone":                   {[]struct{ minute, partners, last int }{{0, 0, -100}, {60, 0, -100}}, false},
		"the first peer came":     {[]struct{ minute, partners, last int }{{0, 0, -100}, {60, 1, -100}, {64, 1, -100}}, false},
		"nothing for six":         {[]struct{ minute, partners, last int }{{60, 1, -100}, {66, 1, -100}}, true},
		"succeeds":                {[]struct{ minute, partners, last int }{{0, 2, 0}, {60, 2, 58}}, false},
		"succeeded before":        {[]struct{ minute, partners, last int }{{0, 2, 0}, {60, 2, 50}}, true},
		"peers left and returned": {[]struct{ minute, partners, last int }{{0, 2, 0}, {10, 0, 0}, {12, 2, 0}, {16, 2, 0}}, false},
	} {
		var w syncWatch
		var err error
		for _, l := range c.looks {
			err = w.check(at(l.minute), l.partners, at(l.last), patience)
		}
		if (err != nil) != c.stuck {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
