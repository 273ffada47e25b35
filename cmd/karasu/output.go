package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonFlag is embedded in every command that answers a query.
type jsonFlag struct {
	JSON bool `name:"json" help:"Print JSON instead of a table."`
}

// show prints an API message as JSON, or by the given function.
func (f jsonFlag) show(a *app, m proto.Message, human func(w *bytes.Buffer)) error {
	if !f.JSON {
		return a.print(human)
	}
	// Field names as in the schema, and fields that are zero too, so that readers
	// need no knowledge of defaults.
	raw, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m)
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	var out bytes.Buffer
	// protojson varies its spaces on purpose; Indent settles them.
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	out.WriteByte('\n')
	_, err = a.stdout.Write(out.Bytes())
	return err
}

// showWithout is [jsonFlag.show] without fields of the list that the message holds: they
// are unknown there, which their zero values would hide. "a.b" is field b of field a.
func (f jsonFlag) showWithout(a *app, m proto.Message, list string, fields []string, human func(w *bytes.Buffer)) error {
	if !f.JSON {
		return a.print(human)
	}
	raw, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m)
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	var whole map[string][]map[string]any
	if err := json.Unmarshal(raw, &whole); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	for _, item := range whole[list] {
		for _, f := range fields {
			in, name := item, f
			if outer, inner, nested := strings.Cut(f, "."); nested {
				in, _ = item[outer].(map[string]any)
				name = inner
			}
			delete(in, name)
		}
	}
	return writeJSON(a.stdout, whole)
}

// print writes to standard output what a function puts together.
func (a *app) print(human func(w *bytes.Buffer)) error {
	var out bytes.Buffer
	human(&out)
	_, err := a.stdout.Write(out.Bytes())
	return err
}

// table lines columns up as a terminal shows them.
type table struct {
	header []string
	// right says which columns are flush right: numbers.
	right map[int]bool
	rows  [][]string
}

// newTable takes column names; those that begin with ">" are flush right.
func newTable(columns ...string) *table {
	t := &table{right: map[int]bool{}}
	for i, c := range columns {
		name, right := strings.CutPrefix(c, ">")
		t.header = append(t.header, name)
		t.right[i] = right
	}
	return t
}

// hideUnknown leaves out those of the named columns in which nothing is known.
func (t *table) hideUnknown(names ...string) *table {
	for i := len(t.header) - 1; i >= 0; i-- {
		known := func(row []string) bool { return row[i] != unknown }
		if !slices.Contains(names, t.header[i]) || slices.ContainsFunc(t.rows, known) {
			continue
		}
		t.header = slices.Delete(t.header, i, i+1)
		for r := range t.rows {
			t.rows[r] = slices.Delete(t.rows[r], i, i+1)
		}
		for k := i; k < len(t.header); k++ {
			t.right[k] = t.right[k+1]
		}
	}
	return t
}

func (t *table) add(cells ...string) {
	for i, c := range cells {
		cells[i] = clean(c)
	}
	t.rows = append(t.rows, cells)
}

// print writes the table, or a line in its place where it has no rows.
func (t *table) print(w io.Writer, empty string) {
	out := empty + "\n"
	if len(t.rows) > 0 {
		out = t.String()
	}
	// What a pipe that was closed does not take is nobody's loss.
	_, _ = io.WriteString(w, out)
}

// String returns the table with a line end after each line.
func (t *table) String() string {
	width := make([]int, len(t.header))
	lines := append([][]string{t.header}, t.rows...)
	for _, line := range lines {
		for i, c := range line {
			width[i] = max(width[i], columns(c))
		}
	}
	var out strings.Builder
	for _, line := range lines {
		var b strings.Builder
		for i, c := range line {
			pad := strings.Repeat(" ", width[i]-columns(c))
			if t.right[i] {
				c = pad + c
			} else {
				c += pad
			}
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(c)
		}
		out.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
	return out.String()
}

// isTerminal says whether progress may be drawn on w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
}

// writeJSON prints what is no API message.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
