package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestName(t *testing.T) {
	for in, want := range map[string]string{" a\x00b\n": "a b", "gr\xf6n": "gr?n", "": "", "日本": "日本"} {
		if got := Name(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	if got := Name(strings.Repeat("é", 400)); len(got) > 512 || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
}
