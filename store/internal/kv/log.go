package kv

import (
	"fmt"
	"log/slog"
	"strings"
)

// badgerLog hands Badger's messages to slog. What Badger calls information
// (replaying, compacting) is of use only when looking for a fault.
type badgerLog struct{ log *slog.Logger }

func (b badgerLog) Errorf(format string, args ...any)   { b.log.Error(line(format, args)) }
func (b badgerLog) Warningf(format string, args ...any) { b.log.Warn(line(format, args)) }
func (b badgerLog) Infof(format string, args ...any)    { b.log.Debug(line(format, args)) }
func (b badgerLog) Debugf(format string, args ...any)   { b.log.Debug(line(format, args)) }

func line(format string, args []any) string {
	return "badger: " + strings.TrimSpace(fmt.Sprintf(format, args...))
}
