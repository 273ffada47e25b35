package main

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// maxNameColumns is how many columns of a terminal a job's name takes in a table that
// lists many; names may have hundreds of bytes.
const maxNameColumns = 40

// tableName is a job's name as a table shows it.
func tableName(s string) string { return shorten(clean(s), maxNameColumns) }

// columns is how many columns of a terminal a text takes: 2 for a CJK letter or an
// emoji, however many code points it is made of.
func columns(s string) int { return uniseg.StringWidth(s) }

// shorten cuts a text to at most so many columns, between what a reader takes for
// letters, and says so with an ellipsis.
func shorten(s string, most int) string {
	if columns(s) <= most {
		return s
	}
	var b strings.Builder
	for left, state := most-1, -1; s != ""; {
		var letter string
		var width int
		letter, s, width, state = uniseg.FirstGraphemeClusterInString(s, state)
		if left -= width; left < 0 {
			break
		}
		b.WriteString(letter)
	}
	return b.String() + "…"
}

// Joiners are invisible but part of how Persian, Hindi and emoji are spelt.
const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
)

// clean replaces what could move a terminal's cursor or turn its text around:
// names come from peers.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == zeroWidthJoiner || r == zeroWidthNonJoiner:
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == utf8.RuneError:
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
