package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model/modeltest"
	"github.com/karasu-project/karasu/optimizer/search/replay"
)

// texts parses a file as XML whose root is svg, and returns all its text.
func texts(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var text strings.Builder
	root := ""
	for d := xml.NewDecoder(f); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if root == "" {
				root = token.Name.Local
			}
		case xml.CharData:
			text.WriteString(string(token) + "\n")
		}
	}
	if root != "svg" {
		t.Fatalf("the root is %q, want svg", root)
	}
	return text.String()
}

func TestWriteBenchSVG(t *testing.T) {
	path := t.TempDir() + "/bench.svg"
	for _, rows := range []int{0, 1, 50} {
		r := &replay.Report{}
		for i := range rows {
			row := replay.Row{Method: "evidence", Scenario: fmt.Sprintf("S<%d>", i)}
			for n := range replay.MaxRuns {
				row.Mean = append(row.Mean, 1+float64(i+1)/float64(n+1))
			}
			r.Rows = append(r.Rows, row)
		}
		if err := writeBenchSVG(path, r); err != nil {
			t.Fatalf("%d rows: %v", rows, err)
		}
		text := texts(t, path)
		for _, row := range r.Rows {
			if !strings.Contains(text, row.Method+" "+row.Scenario+"\n") {
				t.Errorf("%d rows: no legend for %s", rows, row.Scenario)
			}
		}
	}
	if err := writeBenchSVG(t.TempDir(), &replay.Report{}); err == nil {
		t.Error("a folder was written as a file")
	}
}

func TestLinesLookDifferent(t *testing.T) {
	seen := map[string]bool{}
	for i := range 32 {
		c, dashes := lineStyle(i)
		look := fmt.Sprint(c, dashes)
		if seen[look] {
			t.Errorf("line %d looks like another one: %s", i, look)
		}
		seen[look] = true
	}
}

func TestBenchSearchSVG(t *testing.T) {
	table, path := modeltest.Data(t, "scout/scout.csv"), t.TempDir()+"/bench.svg"
	env := func(string) string { return "" }
	args := []string{"bench", "search", "--runs", table, "--methods", "random", "--scenarios", "solo", "--seeds", "1", "--json"}
	stdout, stderr, code := karasu(env, append(args, "--svg", path)...)
	if code != exitOK || !strings.Contains(stdout, `"rows"`) {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if text := texts(t, path); !strings.Contains(text, "random solo\n") {
		t.Errorf("no line for random solo: %s", text)
	}
	if _, _, code := karasu(env, append(args, "--svg", path, "--export", path)...); code != exitUsage {
		t.Errorf("--svg with --export: exit code %d", code)
	}
}
