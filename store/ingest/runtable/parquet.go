package runtable

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/karasu-project/karasu/model"
)

// MaxParquet bounds a Parquet file that does not come from a disk, such as one on
// standard input, as the format begins at its end.
const MaxParquet = 256 << 20

const parquetMagic = "PAR1"

// parquetRows reads the columns of a Parquet file that are asked for. A place is the
// number of a row, from 1. Structures in structures are columns with a dot in their
// name, as in JSON lines; repeated columns are no values.
type parquetRows struct {
	file   *parquet.File
	source io.ReaderAt
	names  []string
	leaves []*parquet.Column
	wanted []bool

	groups  []parquet.RowGroup
	group   int
	left    int64 // rows of the group that are not yet read
	columns []*pages
	record  []string
	row     int
}

// openParquet reads from the file itself where there is one, and otherwise from a
// bounded copy in memory.
func openParquet(r io.Reader, in *bufio.Reader, limited *lineLimit) (rows, error) {
	source, size, err := wholeFile(r, in, limited)
	if err != nil {
		return nil, err
	}
	var p *parquetRows
	err = guarded(func() error {
		p, err = newParquetRows(source, size)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

func wholeFile(r io.Reader, in *bufio.Reader, limited *lineLimit) (io.ReaderAt, int64, error) {
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return f, info.Size(), nil
		}
	}
	limited.left = MaxParquet + sniffSize
	b, err := io.ReadAll(io.LimitReader(in, MaxParquet+1))
	switch {
	case err != nil:
		return nil, 0, readError(err)
	case len(b) > MaxParquet:
		return nil, 0, fmt.Errorf("%w: more than %d MiB of Parquet; name a file", ErrTooLarge, MaxParquet>>20)
	}
	return bytes.NewReader(b), int64(len(b)), nil
}

func newParquetRows(source io.ReaderAt, size int64) (*parquetRows, error) {
	if err := checkFooter(source, size); err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(source, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.OptimisticRead(false))
	if err != nil {
		return nil, damaged(err)
	}
	if n := file.NumRows(); n < 0 || n > MaxRows {
		return nil, fmt.Errorf("%w: more than %d rows; split the file", ErrTooLarge, MaxRows)
	}
	p := &parquetRows{file: file, source: source, groups: file.RowGroups()}
	if err := p.addLeaves(file.Root(), "", jsonDepth); err != nil {
		return nil, err
	}
	if len(p.names) == 0 {
		return nil, fmt.Errorf("%w: the file has no column of plain values", ErrHeader)
	}
	p.wanted = make([]bool, len(p.names))
	p.record = make([]string, len(p.names))
	return p, nil
}

func (p *parquetRows) addLeaves(c *parquet.Column, prefix string, depth int) error {
	if depth == 0 {
		return fmt.Errorf("%w: structures in structures are deeper than %d", ErrHeader, jsonDepth)
	}
	for _, child := range c.Columns() {
		switch {
		case child.Repeated():
		case !child.Leaf():
			if err := p.addLeaves(child, prefix+child.Name()+".", depth-1); err != nil {
				return err
			}
		case child.MaxRepetitionLevel() == 0:
			if len(p.names) == maxColumns {
				return fmt.Errorf("%w: more than %d columns", ErrTooLarge, maxColumns)
			}
			p.names = append(p.names, prefix+child.Name())
			p.leaves = append(p.leaves, child)
		}
	}
	return nil
}

func (p *parquetRows) header() []string { return p.names }

// want says that the column is used: others are not decoded.
func (p *parquetRows) want(column int) { p.wanted[column] = true }

func (p *parquetRows) next() ([]string, int, error) {
	err := guarded(p.read)
	if err != nil {
		return nil, 0, err
	}
	return p.record, p.row, nil
}

func (p *parquetRows) read() error {
	for p.left == 0 {
		if p.group == len(p.groups) {
			return io.EOF
		}
		if err := p.openGroup(p.groups[p.group]); err != nil {
			return err
		}
		p.group++
	}
	for _, c := range p.columns {
		var err error
		if p.record[c.column], err = c.next(); err != nil {
			return damaged(fmt.Errorf("column %s, row %d: %w", model.Clip(p.names[c.column]), p.row+1, err))
		}
	}
	p.row++
	p.left--
	return nil
}

func (p *parquetRows) openGroup(g parquet.RowGroup) error {
	p.columns = p.columns[:0]
	p.left = g.NumRows()
	if p.left < 0 || p.left > MaxRows || p.row+int(p.left) > MaxRows {
		return fmt.Errorf("%w: more than %d rows; split the file", ErrTooLarge, MaxRows)
	}
	for i, want := range p.wanted {
		if !want {
			continue
		}
		c, err := openPages(p.source, p.file, p.group, i, p.leaves[i], p.left)
		if err != nil {
			return damaged(fmt.Errorf("column %s: %w", model.Clip(p.names[i]), err))
		}
		p.columns = append(p.columns, c)
	}
	return nil
}

// guarded calls f and turns a panic of the Parquet library, which a damaged file may
// cause, into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = damaged(fmt.Errorf("%v", p))
		}
	}()
	return f()
}

func damaged(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > maxHeaderText {
		text = strings.ToValidUTF8(text[:maxHeaderText], "") + "..."
	}
	return fmt.Errorf("%w: the Parquet file is damaged or of an unknown kind (%s); write it again", ErrDamaged, text)
}
