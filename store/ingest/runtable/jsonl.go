package runtable

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// Bounds of JSON lines.
const (
	// maxColumns bounds the different keys of a file.
	maxColumns = 2000
	// jsonDepth bounds objects in objects.
	jsonDepth = 8
	// jsonAhead rows are read before the header is used, so that it does not depend
	// on which optional keys the first row has.
	jsonAhead = 100
)

// jsonRows reads JSON objects, one a line. Objects in objects are columns with a dot
// in their name: {"arg": {"k": 3}} has the column arg.k. Lists are no values.
type jsonRows struct {
	in    *bufio.Reader
	names []string
	at    map[string]int
	line  int
	// ahead are the rows that were read to know the header.
	ahead []aheadRow
}

type aheadRow struct {
	record []string
	place  int
	err    error
}

func openJSON(in *bufio.Reader) (rows, error) {
	j := &jsonRows{in: in, at: make(map[string]int)}
	for len(j.ahead) < jsonAhead {
		record, place, err := j.read()
		var bad *rowError
		if err != nil && !errors.As(err, &bad) && !errors.Is(err, io.EOF) {
			return nil, err
		}
		j.ahead = append(j.ahead, aheadRow{record, place, err})
		if errors.Is(err, io.EOF) {
			break
		}
	}
	if len(j.names) == 0 {
		var first *rowError
		if errors.As(j.ahead[0].err, &first) {
			return nil, fmt.Errorf("%w: no line can be read as a JSON object: the first %s", ErrDamaged, first.text)
		}
		return nil, ErrEmpty
	}
	return j, nil
}

func (j *jsonRows) header() []string { return j.names }

func (j *jsonRows) next() ([]string, int, error) {
	if len(j.ahead) > 0 {
		row := j.ahead[0]
		j.ahead = j.ahead[1:]
		return row.record, row.place, row.err
	}
	return j.read()
}

func (j *jsonRows) read() ([]string, int, error) {
	for {
		line, err := j.readLine()
		if err != nil {
			return nil, 0, err
		}
		j.line++
		if j.line == 1 {
			line = bytes.TrimPrefix(line, utf8BOM)
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		record, err := j.parse(line)
		if err != nil {
			return nil, 0, &rowError{j.line, err.Error()}
		}
		return record, j.line, nil
	}
}

// readLine returns a line; the last one may lack its end.
func (j *jsonRows) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := j.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > MaxLine:
			return nil, fmt.Errorf("%w: line %d is longer than %d bytes", ErrTooLarge, j.line+1, MaxLine)
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, readError(err)
		}
	}
}

// parse reads one object into the positions of its columns.
func (j *jsonRows) parse(line []byte) ([]string, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var object map[string]any
	err := d.Decode(&object)
	if err != nil && notANumber.Match(line) {
		return nil, errors.New("holds NaN or Infinity, which JSON has not: leave the value out")
	}
	if err != nil || object == nil {
		return nil, errors.New("is not a JSON object: write one object a line")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("holds more than one JSON value: write one object a line")
	}
	if key, twice := repeatedKey(line); twice {
		return nil, fmt.Errorf("holds %q twice", model.Clip(key))
	}
	values := make(map[string]string)
	if err := flatten(object, "", jsonDepth, values); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, known := j.at[name]; known {
			continue
		}
		if len(j.names) == maxColumns {
			return nil, fmt.Errorf("brings more than %d different keys to the file", maxColumns)
		}
		j.at[name] = len(j.names)
		j.names = append(j.names, name)
	}
	record := make([]string, len(j.names))
	for name, value := range values {
		record[j.at[name]] = value
	}
	return record, nil
}

// notANumber finds what some programs write for numbers that are none, as a value.
var notANumber = regexp.MustCompile(`[:\[,]\s*[-+]?(NaN|Infinity|Inf)\s*[,}\]]`)

// repeatedKey returns a key that an object of a line, which is valid JSON, has twice.
func repeatedKey(line []byte) (string, bool) {
	type open struct {
		keys  map[string]bool // nil is a list
		value bool            // a value comes next
	}
	var stack []open
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err != nil {
			return "", false
		}
		top := len(stack) - 1
		if delim, ok := t.(json.Delim); ok && (delim == '}' || delim == ']') {
			stack = stack[:top]
			continue
		}
		if top >= 0 && stack[top].keys != nil {
			if key, ok := t.(string); ok && !stack[top].value {
				if stack[top].keys[key] {
					return key, true
				}
				stack[top].keys[key], stack[top].value = true, true
				continue
			}
			stack[top].value = false
		}
		switch t {
		case json.Delim('{'):
			stack = append(stack, open{keys: map[string]bool{}})
		case json.Delim('['):
			stack = append(stack, open{})
		}
	}
}

func flatten(object map[string]any, prefix string, depth int, into map[string]string) error {
	if depth == 0 {
		return fmt.Errorf("holds objects in objects deeper than %d", jsonDepth)
	}
	for key, v := range object {
		name := lower(prefix + key)
		var text string
		switch v := v.(type) {
		case nil:
		case string:
			text = v
		case json.Number:
			text = v.String()
		case bool:
			text = "False"
			if v {
				text = "True"
			}
		case map[string]any:
			if err := flatten(v, prefix+key+".", depth-1, into); err != nil {
				return err
			}
			continue
		default:
			continue
		}
		if was, twice := into[name]; twice && was != text {
			return fmt.Errorf("holds %q twice", model.Clip(strings.TrimSpace(name)))
		}
		into[name] = text
	}
	return nil
}
