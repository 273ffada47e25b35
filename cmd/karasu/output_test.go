package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTableLinesUp(t *testing.T) {
	tab := newTable("NAME", ">VALUE", "NOTE")
	tab.add("Übung", "1", "x")
	tab.add("a", "1,000", "")
	tab.add("日本語の名前", "20", "long\nline\x1b[31m")
	tab.add("👩\u200d💻", "300", "y")
	var out bytes.Buffer
	tab.print(&out, "empty")
	want := "NAME          VALUE  NOTE\n" +
		"Übung             1  x\n" +
		"a             1,000\n" +
		"日本語の名前     20  long�line�[31m\n" +
		"👩\u200d💻              300  y\n"
	if out.String() != want {
		t.Errorf("table is\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	newTable("A").print(&out, "Nothing.")
	if out.String() != "Nothing.\n" {
		t.Errorf("an empty table is %q", out.String())
	}
}

func TestLongNamesAreShortened(t *testing.T) {
	const n = maxNameColumns
	for _, tt := range []struct{ in, want string }{
		{strings.Repeat("x", n), strings.Repeat("x", n)},
		{strings.Repeat("x", n+1), strings.Repeat("x", n-1) + "…"},
		{strings.Repeat("語", n), strings.Repeat("語", n/2-1) + "…"},
		{strings.Repeat("👩\u200d💻", n), strings.Repeat("👩\u200d💻", n/2-1) + "…"},
	} {
		if got := tableName(tt.in); got != tt.want || columns(got) > n {
			t.Errorf("%.20s is shortened to %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestColumnsWithNothingKnownAreHidden(t *testing.T) {
	tab := newTable("A", ">B", "C", ">D")
	tab.add("x", unknown, unknown, "1")
	tab.add("y", unknown, "z", "22")
	if got, want := tab.hideUnknown("B", "C", "E").String(), "A  C   D\nx  -   1\ny  z  22\n"; got != want {
		t.Errorf("table is\n%swant\n%s", got, want)
	}
}

// A peer chooses its name; it must not steer the terminal.
func FuzzClean(f *testing.F) {
	f.Add("a\u202eb\x1b]0;x\a\u200b\xff")
	f.Fuzz(func(t *testing.T, s string) {
		c := clean(s)
		if !utf8.ValidString(c) || strings.ContainsAny(c, "\x1b\n\r\t\a\u202e\u2066\u200f\u0085") {
			t.Errorf("clean(%q) = %q", s, c)
		}
	})
}

func TestNoProgressWithoutTerminal(t *testing.T) {
	if isTerminal(&bytes.Buffer{}) {
		t.Error("a buffer is called a terminal")
	}
	f, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if isTerminal(f) {
		t.Error("a file is called a terminal")
	}
}
