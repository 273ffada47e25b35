package hadoop

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// What follows is the binary encoding of the Avro specification, as far as histories
// use it. It is decoded into what the same event is in JSON lines: there is one reader
// of events. Every event is bounded in bytes and in values, as lengths in a damaged
// one may claim anything.

// Bounds of a schema and of an event in it.
const (
	maxTypes  = 2000
	maxNested = 32
	maxValues = 1 << 20
)

var (
	errSchema = errors.New("has no Avro schema that can be read")
	errAvro   = errors.New("an event is damaged")
)

// avroType is a type of a schema.
type avroType struct {
	// kind is a primitive type, or record, enum, array, map, fixed or union.
	kind string
	// name is what a union calls the type.
	name    string
	fields  []avroField // of a record
	items   *avroType   // of an array or a map
	union   []*avroType
	symbols []string // of an enum
	size    int      // of fixed
}

type avroField struct {
	name string
	of   *avroType
}

// schemaParser resolves names.
type schemaParser struct {
	named map[string]*avroType
	types int
}

func parseSchema(text []byte) (*avroType, error) {
	p := schemaParser{named: make(map[string]*avroType)}
	return p.parse(text, "", 0)
}

func (p *schemaParser) parse(text json.RawMessage, namespace string, depth int) (*avroType, error) {
	if p.types++; p.types > maxTypes || depth > maxNested {
		return nil, errSchema
	}
	var name string
	if json.Unmarshal(text, &name) == nil {
		return p.byName(name, namespace)
	}
	var union []json.RawMessage
	if json.Unmarshal(text, &union) == nil {
		t := &avroType{kind: "union"}
		for _, u := range union {
			branch, err := p.parse(u, namespace, depth+1)
			if err != nil {
				return nil, err
			}
			t.union = append(t.union, branch)
		}
		return t, nil
	}
	return p.complex(text, namespace, depth)
}

func (p *schemaParser) byName(name, namespace string) (*avroType, error) {
	switch name {
	case "null", "boolean", "int", "long", "float", "double", "bytes", "string":
		return &avroType{kind: name, name: name}, nil
	}
	for _, full := range []string{name, namespace + "." + name} {
		if t := p.named[full]; t != nil {
			return t, nil
		}
	}
	return nil, errSchema
}

func (p *schemaParser) complex(text json.RawMessage, namespace string, depth int) (*avroType, error) {
	var v struct {
		Type      json.RawMessage `json:"type"`
		Name      string          `json:"name"`
		Namespace string          `json:"namespace"`
		Fields    []struct {
			Name string          `json:"name"`
			Type json.RawMessage `json:"type"`
		} `json:"fields"`
		Items   json.RawMessage `json:"items"`
		Values  json.RawMessage `json:"values"`
		Symbols []string        `json:"symbols"`
		Size    int             `json:"size"`
	}
	if json.Unmarshal(text, &v) != nil {
		return nil, errSchema
	}
	var kind string
	if json.Unmarshal(v.Type, &kind) != nil { // {"type": {"type": ...}}
		return p.parse(v.Type, namespace, depth+1)
	}
	if v.Namespace != "" {
		namespace = v.Namespace
	}
	t := &avroType{kind: kind, name: v.Name, symbols: v.Symbols, size: v.Size}
	if v.Name != "" && namespace != "" {
		t.name = namespace + "." + v.Name
	}
	var err error
	switch kind {
	case "array":
		t.items, err = p.parse(v.Items, namespace, depth+1)
	case "map":
		t.items, err = p.parse(v.Values, namespace, depth+1)
	case "enum", "fixed":
		p.named[t.name] = t
	case "record":
		p.named[t.name] = t // a field may be of the record's own type
		for _, f := range v.Fields {
			of, err := p.parse(f.Type, namespace, depth+1)
			if err != nil {
				return nil, err
			}
			t.fields = append(t.fields, avroField{f.Name, of})
		}
	default: // a primitive with other attributes
		return p.byName(kind, namespace)
	}
	return t, err
}

// avroReader reads values of one event.
type avroReader struct {
	in     *bufio.Reader
	n      int64 // bytes read
	values int
	left   int // bytes that the event may still have
}

// event reads a value of the type. [io.EOF] means that there is none.
func (r *avroReader) event(t *avroType) (any, error) {
	if _, err := r.in.Peek(1); err != nil {
		return nil, err
	}
	r.values, r.left = 0, MaxLine
	v, err := r.value(t, 0)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return v, err
}

func (r *avroReader) next() (byte, error) {
	if r.left--; r.left < 0 {
		return 0, errAvro
	}
	b, err := r.in.ReadByte()
	if err == nil {
		r.n++
	}
	return b, err
}

// long reads a number in zigzag encoding.
func (r *avroReader) long() (int64, error) {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		b, err := r.next()
		if err != nil {
			return 0, err
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int64(v>>1) ^ -int64(v&1), nil
		}
	}
	return 0, errAvro
}

func (r *avroReader) bytes(n int64) ([]byte, error) {
	if n < 0 || n > int64(r.left) {
		return nil, errAvro
	}
	r.left -= int(n)
	b := make([]byte, n)
	k, err := io.ReadFull(r.in, b)
	r.n += int64(k)
	return b, err
}

func (r *avroReader) text() (string, error) {
	n, err := r.long()
	if err != nil {
		return "", err
	}
	b, err := r.bytes(n)
	return string(b), err
}

func (r *avroReader) value(t *avroType, depth int) (any, error) {
	if r.values++; r.values > maxValues || depth > maxNested {
		return nil, errAvro
	}
	switch t.kind {
	case "null":
		return nil, nil
	case "boolean":
		b, err := r.next()
		return b == 1, err
	case "int", "long":
		return r.long()
	case "float":
		b, err := r.bytes(4)
		if err != nil {
			return nil, err
		}
		return finiteOrNil(float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))), nil
	case "double":
		b, err := r.bytes(8)
		if err != nil {
			return nil, err
		}
		return finiteOrNil(math.Float64frombits(binary.LittleEndian.Uint64(b))), nil
	case "bytes", "string":
		return r.text()
	case "fixed":
		b, err := r.bytes(int64(t.size))
		return string(b), err
	case "enum":
		i, err := r.long()
		if err == nil && (i < 0 || i >= int64(len(t.symbols))) {
			err = errAvro
		}
		if err != nil {
			return nil, err
		}
		return t.symbols[i], nil
	case "union":
		return r.branch(t, depth)
	case "record":
		m := make(map[string]any, len(t.fields))
		for _, f := range t.fields {
			v, err := r.value(f.of, depth+1)
			if err != nil {
				return nil, err
			}
			m[f.name] = v
		}
		return m, nil
	}
	return r.blocks(t, depth)
}

func finiteOrNil(v float64) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return v
}

func (r *avroReader) branch(t *avroType, depth int) (any, error) {
	i, err := r.long()
	if err == nil && (i < 0 || i >= int64(len(t.union))) {
		err = errAvro
	}
	if err != nil {
		return nil, err
	}
	of := t.union[i]
	v, err := r.value(of, depth+1)
	if err != nil || of.kind == "null" {
		return nil, err
	}
	name := of.name
	if name == "" {
		name = of.kind
	}
	return map[string]any{name: v}, nil
}

// blocks reads an array or a map: blocks of a count and as many items, up to one of
// none. A negative count is followed by the block's size in bytes.
func (r *avroReader) blocks(t *avroType, depth int) (any, error) {
	list, m := []any{}, map[string]any{}
	for {
		n, err := r.long()
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		if n < 0 {
			n = -n
			if _, err := r.long(); err != nil {
				return nil, err
			}
		}
		if n < 0 || n > maxValues {
			return nil, errAvro
		}
		for range n {
			key := ""
			if t.kind == "map" {
				if key, err = r.text(); err != nil {
					return nil, err
				}
			}
			v, err := r.value(t.items, depth+1)
			if err != nil {
				return nil, err
			}
			if t.kind == "map" {
				m[key] = v
			} else {
				list = append(list, v)
			}
		}
	}
	if t.kind == "map" {
		return m, nil
	}
	return list, nil
}

// binary reads the events of a history in binary Avro, behind its first line. There
// is no way to go on behind a damaged event.
func (r *reader) binary() error {
	line, _, err := r.next()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	schema, _ := parseSchema(line) // without one there is nothing to read, as where it is no record
	if schema == nil || schema.kind != "record" {
		r.cut = true
		r.notes = append(r.notes, errSchema.Error())
		return nil
	}
	in := avroReader{in: r.in}
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		before := in.n
		v, err := in.event(schema)
		if read := in.n - before; r.progress != nil && read > 0 {
			r.progress(int(read))
		}
		r.bytes += in.n - before
		switch {
		case r.bytes > MaxBytes:
			return r.tooLarge()
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			r.cut = true
			return nil
		case errors.Is(err, errAvro):
			r.cut = true
			r.notes = append(r.notes, errAvro.Error()+"; what comes before is kept")
			return nil
		case err != nil:
			return fmt.Errorf("reading: %w", err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("write an event as JSON: %w", err)
		}
		if err := r.line(b, true, 1); err != nil {
			return err
		}
	}
}
