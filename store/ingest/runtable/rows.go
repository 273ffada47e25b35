package runtable

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// Formats of a table.
const (
	FormatCSV     = "csv"
	FormatJSON    = "jsonl"
	FormatParquet = "parquet"
)

// rows reads a table of one format. Values are texts; empty is unknown.
type rows interface {
	// header returns the names of the columns as the file has them. It may grow while
	// rows are read, and keeps the positions of what it had.
	header() []string
	// next returns the next row with the place of its beginning: a line, or the number
	// of the row where a format has no lines. A row may be shorter than the header
	// and is valid until the next call. [io.EOF] ends; a *rowError is about this row
	// only, and reading goes on behind it.
	next() (record []string, place int, err error)
}

// rowError says what is wrong with one row.
type rowError struct {
	place int
	text  string
}

func (e *rowError) Error() string { return e.text }

// open tells the format from the first bytes, or takes the one that was asked for.
func open(r io.Reader, format string) (rows, error) {
	limited := &lineLimit{r: r, left: MaxLine}
	in := bufio.NewReaderSize(limited, sniffSize)
	if format == "" {
		head, err := in.Peek(sniffSize)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, readError(err)
		}
		format = detect(head)
	}
	switch format {
	case FormatCSV:
		return openCSV(in, limited)
	case FormatJSON:
		limited.left = math.MaxInt // it bounds lines itself
		return openJSON(in)
	case FormatParquet:
		return openParquet(r, in, limited)
	}
	return nil, fmt.Errorf("%w: there is no format %q; the formats are %s, %s and %s", ErrOptions, model.Clip(format), FormatCSV, FormatJSON, FormatParquet)
}

// detect tells the format: no header of a CSV table begins with a brace.
func detect(head []byte) string {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, utf8BOM), " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte(parquetMagic)):
		return FormatParquet
	case bytes.HasPrefix(head, []byte("{")):
		return FormatJSON
	}
	return FormatCSV
}

// csvRows reads values with separators.
type csvRows struct {
	in      *csv.Reader
	limited *lineLimit
	names   []string
}

func openCSV(in *bufio.Reader, limited *lineLimit) (rows, error) {
	text, comma, err := sniff(in)
	if err != nil {
		return nil, err
	}
	c := &csvRows{in: csv.NewReader(text), limited: limited}
	c.in.Comma, c.in.FieldsPerRecord, c.in.ReuseRecord, c.in.TrimLeadingSpace = comma, -1, true, true
	limited.left = MaxLine
	header, err := c.in.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, ErrEmpty
	case err != nil:
		return nil, readError(err)
	}
	c.names = slices.Clone(header)
	return c, nil
}

func (c *csvRows) header() []string { return c.names }

func (c *csvRows) next() ([]string, int, error) {
	for {
		c.limited.left = MaxLine
		record, err := c.in.Read()
		var syntax *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil, 0, io.EOF
		case errors.As(err, &syntax) && !errors.Is(err, errLine):
			return nil, 0, &rowError{syntax.StartLine, syntaxText(syntax)}
		case err != nil:
			return nil, 0, readError(err)
		case blank(record):
			continue
		}
		line, _ := c.in.FieldPos(0)
		switch {
		case slices.Equal(c.names, record):
			return nil, 0, &rowError{line, "repeats the header: remove the line"}
		case len(record) != len(c.names):
			return nil, 0, &rowError{line, fmt.Sprintf("has %d fields, the header has %d: complete the line, and quote values that hold a separator", len(record), len(c.names))}
		}
		return record, line, nil
	}
}

// blank says whether a line holds separators only, as spreadsheets write them
// below a table.
func blank(record []string) bool {
	return !slices.ContainsFunc(record, func(s string) bool { return strings.TrimSpace(s) != "" })
}
