package kv

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// badgerLog hands Badger's messages to slog. What Badger calls information
// (replaying, compacting) is of use only when looking for a fault. Its errors are
// held back while it opens: an opening that fails returns them.
type badgerLog struct {
	log *slog.Logger

	mu      sync.Mutex
	opening bool
	held    []string
}

func newBadgerLog(log *slog.Logger) *badgerLog { return &badgerLog{log: log, opening: true} }

// opened ends the opening. Errors of one that failed are for those who look for them.
func (b *badgerLog) opened(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	say := b.log.Error
	if err != nil {
		say = b.log.Debug
	}
	for _, text := range b.held {
		say(text)
	}
	b.opening, b.held = false, nil
}

// Errorf implements Badger's interface, as do the others.
func (b *badgerLog) Errorf(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if text := line(format, args); b.opening {
		b.held = append(b.held, text)
	} else {
		b.log.Error(text)
	}
}

func (b *badgerLog) Warningf(format string, args ...any) { b.log.Warn(line(format, args)) }
func (b *badgerLog) Infof(format string, args ...any)    { b.log.Debug(line(format, args)) }
func (b *badgerLog) Debugf(format string, args ...any)   { b.log.Debug(line(format, args)) }

func line(format string, args []any) string {
	return "badger: " + strings.TrimSpace(fmt.Sprintf(format, args...))
}
