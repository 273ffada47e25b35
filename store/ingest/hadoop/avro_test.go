package hadoop

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/modeltest"
)

const smallSchema = `{"type":"record","name":"E","namespace":"n","fields":[
{"name":"a","type":["null","string"]},{"name":"b","type":{"type":"enum","name":"K","symbols":["X","Y"]}},{"name":"c","type":{"type":"map","values":"boolean"}},
{"name":"d","type":{"type":"array","items":["null","E","K"]}},{"name":"e","type":"double"},{"name":"f","type":{"type":"fixed","name":"F","size":2}}]}`

// encode writes a value in binary Avro, as Hadoop from 3.0 does.
func encode(t *testing.T, b []byte, of *avroType, v any) []byte {
	t.Helper()
	text := func(s string) { b = append(binary.AppendVarint(b, int64(len(s))), s...) }
	switch of.kind {
	case "null":
	case "boolean":
		b = append(b, map[any]byte{true: 1, false: 0}[v])
	case "int", "long":
		n, err := v.(json.Number).Int64()
		if err != nil {
			t.Fatal(err)
		}
		b = binary.AppendVarint(b, n)
	case "string":
		text(v.(string))
	case "enum":
		for i, s := range of.symbols {
			if s == v {
				return binary.AppendVarint(b, int64(i))
			}
		}
		t.Fatalf("no symbol %v", v)
	case "union":
		for i, branch := range of.union {
			m, _ := v.(map[string]any)
			if value, is := m[branch.name]; is || v == nil && branch.kind == "null" {
				return encode(t, binary.AppendVarint(b, int64(i)), branch, value)
			}
		}
		t.Fatalf("no branch for %v", v)
	case "record":
		for _, f := range of.fields {
			b = encode(t, b, f.of, v.(map[string]any)[f.name])
		}
	case "array":
		items := v.([]any)
		if len(items) > 0 { // in a block with its size
			var block []byte
			for _, x := range items {
				block = encode(t, block, of.items, x)
			}
			b = append(binary.AppendVarint(binary.AppendVarint(b, -int64(len(items))), int64(len(block))), block...)
		}
		b = append(b, 0)
	case "map":
		for k, x := range v.(map[string]any) {
			b = binary.AppendVarint(b, 1)
			text(k)
			b = encode(t, b, of.items, x)
		}
		b = append(b, 0)
	}
	return b
}

// inBinary turns a history in JSON lines into one in binary.
func inBinary(t *testing.T, text []byte) []byte {
	t.Helper()
	lines := bytes.Split(text, []byte("\n"))
	schema, err := parseSchema(lines[1])
	if err != nil {
		t.Fatal(err)
	}
	out := append([]byte("Avro-Binary\n"), append(lines[1], '\n')...)
	for _, l := range lines[2:] {
		if len(bytes.TrimSpace(l)) == 0 {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(l))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		out = encode(t, out, schema, v)
	}
	return out
}

// A history in binary gives what the same in JSON lines gives.
func TestBinaryHistories(t *testing.T) {
	for f, err := range FindPath(t.Context(), modeltest.Data(t, "hadoop")) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		b := inBinary(t, text)
		want, got := check(t, text), check(t, b)
		if got == nil || got.Quality.Bytes != int64(len(b)) || got.Quality.Cut || len(b) >= len(text) {
			t.Fatalf("%d bytes of %d: %+v", len(b), len(text), got)
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(model.Quality{}, "Bytes")); d != "" {
			t.Errorf("%s: %s", f.Name, d)
		}
		if testing.Short() || len(text) > 25_000 { // one is enough to wait for
			continue
		}
		schema := bytes.IndexByte(b[12:], '\n') + 12
		for n := schema; n < len(b); n += 61 {
			if e := check(t, b[:n]); e != nil && (e.Outcome != 0 || !e.Quality.Cut && n%2 == 0 && e.Quality.Events == want.Quality.Events) {
				t.Fatalf("cut at %d: %+v", n, e)
			}
			flipped := bytes.Clone(b)
			flipped[n] ^= 1 << (n % 8)
			check(t, flipped)
		}
	}
}

func TestAvro(t *testing.T) {
	schema, err := parseSchema([]byte(smallSchema))
	if err != nil {
		t.Fatal(err)
	}
	// a = null, b = X, c = {x: true}, d = [null, Y], e = 1, f = "fg"
	text := "\x00" + "\x00" + "\x02\x02x\x01\x00" + "\x04\x00\x04\x02\x00" + "\x00\x00\x00\x00\x00\x00\xf0\x3f" + "fg"
	decode := func(text string) (any, error) {
		r := avroReader{in: bufio.NewReader(strings.NewReader(text))}
		return r.event(schema)
	}
	got, err := decode(text)
	want := map[string]any{"a": nil, "b": "X", "c": map[string]any{"x": true}, "d": []any{nil, map[string]any{"n.K": "Y"}}, "e": 1.0, "f": "fg"}
	if d := cmp.Diff(any(want), got); d != "" || err != nil {
		t.Error(d, err)
	}
	for i := range text {
		if _, err := decode(text[:i]); err == nil {
			t.Errorf("cut at %d is whole", i)
		}
	}
	for name, bad := range map[string]string{
		"no branch": "\x08", "no symbol": "\x00\x08", "negative length": "\x02\x01", "text beyond all bounds": "\x02\xfe\xff\xff\xff\x0f",
		"number without end": "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "nulls without number": "\x00\x00\x00\xfe\xff\xff\x7f" + strings.Repeat("\x00", 10),
		"records in records": strings.Repeat("\x00\x00\x00\x02\x02", 100),
	} {
		if v, err := decode(bad); err == nil {
			t.Errorf("%s: %v", name, v)
		}
	}
	for _, bad := range []string{"", "3", `"nothing"`, `["nothing"]`, `{"type":"record","name":"a","fields":[{"name":"b","type":"c"}]}`, `{"type":"array"}`, `{"type":"map","values":3}`,
		`{"type":"record","name":"a","fields":` + strings.Repeat("[", 50) + "]}", strings.Repeat("[", 100) + strings.Repeat("]", 100)} {
		if _, err := parseSchema([]byte(bad)); err == nil {
			t.Errorf("%.40s is a schema", bad)
		}
	}
}
