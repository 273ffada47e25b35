package commons_test

import (
	"strings"
	"testing"

	"github.com/karasu-project/karasu/store/commons"
)

func TestValidateOrganisation(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"", ""}, {"acme", ""}, {"Acme & Söhne", ""}, {"شرکت نمونه", ""}, {"株式会社", ""},
		{strings.Repeat("ä", 33), "66 bytes, at most 64"},
		{"a\xffb", "not valid UTF-8"},
		{"a\tb", "a control character, U+0009, after \"a\""},
		{"a\u0085b", "a control character, U+0085"},
		{"نمونه\u200cای", "an invisible character, U+200C"},
		{"a\u202eb", "an invisible character, U+202E"},
		{"a\u00a0b", "a space that is not the plain one, U+00A0"},
		{"a\ue000b", "cannot be printed, U+E000"},
	} {
		err := commons.ValidateOrganisation(c.name)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: error %v, want %q", c.name, err, c.want)
		}
	}
}
