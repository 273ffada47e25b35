// Package runtable imports tables of runs, one run a row: separated values with a
// header, JSON lines, or Parquet. [Columns] documents the columns; a [Mapping] says
// what other columns mean. Some public tables are recognised by their header
// ([Presets]).
//
// Commas, semicolons or tabs separate, whichever the header holds; a byte order
// mark, CRLF line ends, quoted separators and a missing last line end are fine.
// Columns that nothing knows are ignored.
package runtable

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
)

// Bounds of a table.
const (
	// MaxLine bounds a line in bytes; a quote that is not closed makes a long one.
	MaxLine = 1 << 20
	// MaxRows bounds the lines with runs.
	MaxRows = 1_000_000
)

// Errors about a table as a whole.
var (
	// ErrHeader says that the header cannot be used.
	ErrHeader = errors.New("unusable header")
	// ErrDamaged says that a file is not what it should be: no Parquet, no JSON lines.
	ErrDamaged = errors.New("cannot be read")
	// ErrEmpty says that a file holds no header.
	ErrEmpty = errors.New("is empty: want a header and one run a line")
	// ErrTooLarge says that a line or the table is too large.
	ErrTooLarge = errors.New("too large")
	// ErrOptions says that options contradict each other or the documented columns.
	ErrOptions = errors.New("unusable options")
)

// Options of an import. The zero value reads a table with the documented columns.
type Options struct {
	// Name of the file, for messages.
	Name string
	// Map gives the documented column for a column of the file.
	Map map[string]string
	// Defaults give the value of documented columns that the file does not have.
	Defaults map[string]string
	// Mapping says what the columns mean; nil for the documented ones, or a preset.
	Mapping *Mapping
	// Preset is "" to recognise a known table by its header, the name of one of
	// [Presets], or [PresetNone] to recognise none.
	Preset string
	// Format is "" to tell it from the first bytes, or [FormatCSV], [FormatJSON] or
	// [FormatParquet].
	Format string
	// CheckMachine is asked about every machine type; its error is the problem
	// that is reported. Nil accepts all.
	CheckMachine func(infrastructure, machineType string) error
}

// ParseMap reads "theirs=ours" pairs into a map for [Options].
func ParseMap(pairs []string) (map[string]string, error) {
	m := make(map[string]string, len(pairs))
	for _, p := range pairs {
		theirs, ours, ok := strings.Cut(p, "=")
		theirs, ours = strings.TrimSpace(theirs), strings.TrimSpace(ours)
		if !ok || theirs == "" || ours == "" {
			return nil, fmt.Errorf("%w: %q must look like node_count=nodes", ErrOptions, p)
		}
		if was, twice := m[theirs]; twice && was != ours {
			return nil, fmt.Errorf("%w: column %q is mapped to both %s and %s", ErrOptions, theirs, was, ours)
		}
		m[theirs] = ours
	}
	return m, nil
}

// Table is a table that is being read. It is a [ingest.Source].
type Table struct {
	r    io.Reader
	opts Options

	presets []*Mapping
	ignored []string
	preset  string
	skipped []Skipped
}

// Skipped counts rows that a mapping leaves out for one reason.
type Skipped struct {
	Reason string
	Rows   int
}

var _ ingest.Source = (*Table)(nil)

// New returns a source that reads a table. It reads nothing yet. Parquet is read best
// from an [os.File]; from another reader it is copied to memory.
func New(r io.Reader, opts Options) *Table { return &Table{r: r, opts: opts} }

// Ignored returns the columns that were not used, once the table has been read.
func (t *Table) Ignored() []string { return t.ignored }

// Preset returns the preset that was used or recognised, once the table has been read.
func (t *Table) Preset() string { return t.preset }

// Skipped returns the rows that the mapping left out, by reason in the order of their
// first row, once the table has been read.
func (t *Table) Skipped() []Skipped { return t.skipped }

// Runs implements [ingest.Source]. Errors about the whole table name the file and
// wrap [ErrHeader], [ErrDamaged], [ErrEmpty], [ErrTooLarge], [ErrOptions] or the reader's error.
func (t *Table) Runs(ctx context.Context) iter.Seq2[model.Run, error] {
	return func(yield func(model.Run, error) bool) {
		if err := t.read(ctx, yield); err != nil {
			yield(model.Run{}, fmt.Errorf("%s: %w", t.name(), err))
		}
	}
}

func (t *Table) name() string {
	if t.opts.Name == "" {
		return "table"
	}
	return t.opts.Name
}

func (t *Table) read(ctx context.Context, yield func(model.Run, error) bool) error {
	in, err := open(t.r, t.opts.Format)
	if err != nil {
		return err
	}
	t.presets = Presets()
	p, err := t.plan(in)
	if err != nil {
		return err
	}
	columns := len(in.header())
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		record, place, err := in.next()
		var bad *rowError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case n >= MaxRows:
			return fmt.Errorf("%w: more than %d rows; split the file", ErrTooLarge, MaxRows)
		case errors.As(err, &bad):
			if !yield(model.Run{}, t.problem(bad.place, "", bad.text)) {
				return nil
			}
			continue
		case err != nil:
			return err
		}
		if len(in.header()) > columns { // this row brought a column
			if p, err = t.plan(in); err != nil {
				return err
			}
			columns = len(in.header())
		}
		run, err := t.run(p, record, place)
		var skip *skipError
		if errors.As(err, &skip) {
			t.skip(skip.reason)
			continue
		}
		if !yield(run, err) {
			return nil
		}
	}
}

// plan matches the columns, and tells a format that can leave some out which it needs.
func (t *Table) plan(in rows) (*plan, error) {
	p, err := newPlan(in.header(), t.opts, t.presets)
	if err != nil {
		return nil, err
	}
	t.ignored, t.preset = p.ignored, p.preset
	if choosy, is := in.(interface{ want(column int) }); is {
		for _, i := range p.positions() {
			choosy.want(i)
		}
	}
	return p, nil
}

func (t *Table) skip(reason string) {
	for i := range t.skipped {
		if t.skipped[i].Reason == reason {
			t.skipped[i].Rows++
			return
		}
	}
	t.skipped = append(t.skipped, Skipped{reason, 1})
}

// run turns one row into a run.
func (t *Table) run(p *plan, record []string, place int) (model.Run, error) {
	r, err := p.run(record)
	if err == nil && t.opts.CheckMachine != nil {
		if cerr := t.opts.CheckMachine(r.Workload.Infrastructure, r.Configuration.MachineType); cerr != nil {
			err = &model.FieldError{Field: "machine_type", Problem: cerr.Error()}
		}
	}
	var f *model.FieldError
	var skip *skipError
	switch {
	case err == nil:
		return r, nil
	case errors.As(err, &skip):
		return model.Run{}, skip
	case errors.As(err, &f):
		return model.Run{}, t.problem(place, f.Field, f.Problem)
	}
	return model.Run{}, t.problem(place, "", err.Error())
}

func (t *Table) problem(line int, field, text string) *ingest.Problem {
	return &ingest.Problem{File: t.opts.Name, Line: line, Field: field, Text: text}
}

func syntaxText(e *csv.ParseError) string {
	switch {
	case errors.Is(e, csv.ErrQuote) && e.Line > e.StartLine:
		return fmt.Sprintf("opens a quote that is not closed: lines %d to %d cannot be read", e.StartLine, e.Line)
	case errors.Is(e, csv.ErrQuote):
		return "holds a quote that is not closed or stands behind text: double the quotes inside a quoted value"
	case errors.Is(e, csv.ErrBareQuote):
		return "holds a quote inside a value: quote the whole value and double the quote inside"
	}
	return "cannot be read: " + e.Err.Error()
}

func readError(err error) error {
	if errors.Is(err, errLine) {
		return fmt.Errorf("%w: a line is longer than %d bytes; is a quote not closed?", ErrTooLarge, MaxLine)
	}
	var syntax *csv.ParseError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%w: %s", ErrHeader, syntaxText(syntax))
	}
	return fmt.Errorf("reading: %w", err)
}

// sniffSize is what is looked at to tell the separator: more than a header has.
const sniffSize = 64 << 10

var utf8BOM = []byte{0xef, 0xbb, 0xbf}

// sniff skips a byte order mark and tells the separator from the first line.
func sniff(r *bufio.Reader) (io.Reader, rune, error) {
	head, err := r.Peek(sniffSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, readError(err)
	}
	for _, bom := range [][]byte{{0xff, 0xfe}, {0xfe, 0xff}} {
		if bytes.HasPrefix(head, bom) {
			return nil, 0, fmt.Errorf("%w: the file is UTF-16 or UTF-32; save it as UTF-8", ErrHeader)
		}
	}
	if bytes.HasPrefix(head, utf8BOM) {
		head = head[len(utf8BOM):]
		if _, err := r.Discard(len(utf8BOM)); err != nil {
			return nil, 0, readError(err)
		}
	}
	first, _, whole := bytes.Cut(bytes.TrimLeft(head, "\r\n"), []byte{'\n'})
	switch {
	case bytes.IndexByte(first, 0) >= 0:
		return nil, 0, fmt.Errorf("%w: the file is not text; save the table as CSV in UTF-8", ErrHeader)
	case bytes.IndexByte(bytes.TrimRight(first, "\r"), '\r') >= 0:
		return nil, 0, fmt.Errorf("%w: lines end in a carriage return alone; save the file with line ends of Unix or Windows", ErrHeader)
	case whole && !utf8.Valid(first):
		return nil, 0, fmt.Errorf("%w: the first line is not text in UTF-8; save the table as CSV in UTF-8", ErrHeader)
	}
	comma := ','
	if !bytes.ContainsRune(first, ',') {
		switch {
		case bytes.ContainsRune(first, '\t'):
			comma = '\t'
		case bytes.ContainsRune(first, ';'):
			comma = ';'
		}
	}
	return r, comma, nil
}

var errLine = errors.New("line too long")

// lineLimit refuses to read on once a line took more than MaxLine. What is read
// ahead of a line counts towards it, which at worst halves the limit's slack.
type lineLimit struct {
	r    io.Reader
	left int
}

func (l *lineLimit) Read(b []byte) (int, error) {
	if l.left < -2*sniffSize {
		return 0, errLine
	}
	n, err := l.r.Read(b)
	l.left -= n
	return n, err
}
