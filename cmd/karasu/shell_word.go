package main

import (
	"fmt"
	"strings"
)

// shellWord quotes a name where a shell would take it apart, for commands to paste. What
// must not reach a terminal is spelt as bash, zsh and ksh read it.
func shellWord(s string) string {
	switch {
	case s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@") == "":
		return s
	case clean(s) == s:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for _, r := range s {
		switch hidden := clean(string(r)) != string(r); {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case hidden && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case hidden:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return "$'" + b.String() + "'"
}
