// Package text makes names of other systems fit the model.
package text

import (
	"strings"

	"github.com/karasu-project/karasu/model"
)

// Name makes a name valid: Unicode without control characters and outer spaces, of
// the length that the model takes.
func Name(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return strings.TrimSpace(Clip(strings.TrimSpace(s), model.MaxName))
}

// Clip cuts a text to at most that many bytes, between characters.
func Clip(s string, limit int) string {
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "")
	}
	return s
}
