package commons

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/karasu-project/karasu/model"
)

// ValidateOrganisation checks a display name, which may be empty. It allows what can
// be printed on one line without changing how the rest of it reads: no controls, no
// spaces but the plain one, and no invisible or direction-changing characters. Those
// are refused also where a script uses them to join or part letters (U+200C, U+200D),
// as two names must not look alike and differ.
func ValidateOrganisation(s string) error {
	if len(s) > MaxOrganisation {
		return fmt.Errorf("organisation is of %d bytes, at most %d: %q", len(s), MaxOrganisation, model.Clip(s))
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("organisation is not valid UTF-8: %q", s)
	}
	at := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
	if at < 0 {
		return nil
	}
	r, _ := utf8.DecodeRuneInString(s[at:])
	what := "an invisible character"
	switch {
	case unicode.IsControl(r):
		what = "a control character"
	case unicode.IsSpace(r):
		what = "a space that is not the plain one"
	case !unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
		what = "a character that cannot be printed"
	}
	return fmt.Errorf("organisation holds %s, %U, after %q; leave it out", what, r, s[:at])
}
