package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestName(t *testing.T) {
	for _, c := range [][2]string{{" a\x00b\n", "a b"}, {"gr\xf6n", "gr?n"}, {"", ""}, {"日本", "日本"}} {
		if got := Name(c[0]); got != c[1] {
			t.Errorf("%q becomes %q, want %q", c[0], got, c[1])
		}
	}
	if got := Name(strings.Repeat("é", 400)); len(got) > 512 || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
}
