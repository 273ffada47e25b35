package runtable

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The Parquet library reads the footer and the headers of pages. Values are decoded
// here: the library allocates what lengths in a page claim, which a few damaged bytes
// can make gigabytes, and reads runs of truth values wrongly (v0.32).

// maxPage bounds a page, compressed and not. Writers make pages of 1 MiB; some write
// one of up to 100 MB a column and row group.
const maxPage = 128 << 20

var errMoreValues = errors.New("a page claims or holds more values than it can have")

// pages walks the values of one column in one row group. A flat column has one value
// a row.
type pages struct {
	column  int
	leaf    *parquet.Column
	kind    kind
	codec   format.CompressionCodec
	in      *bufio.Reader
	decoder *thrift.Decoder
	dict    []string
	values  []string // of the current page, not yet returned
	left    int64    // values of pages not yet read
}

// openPages opens a column of a row group with that many rows.
func openPages(r io.ReaderAt, f *parquet.File, group, column int, leaf *parquet.Column, rows int64) (*pages, error) {
	groups := f.Metadata().RowGroups
	if group >= len(groups) || leaf.Index() < 0 || leaf.Index() >= len(groups[group].Columns) {
		return nil, errors.New("it is not in every part of the file")
	}
	m := groups[group].Columns[leaf.Index()].MetaData
	start := m.DataPageOffset
	if m.DictionaryPageOffset > 0 {
		start = min(start, m.DictionaryPageOffset)
	}
	if start < 0 || m.TotalCompressedSize < 0 || start > f.Size() || m.TotalCompressedSize > f.Size()-start || m.NumValues != rows {
		return nil, errors.New("it lies outside of the file, or has not one value a row")
	}
	p := &pages{column: column, leaf: leaf, codec: m.Codec, left: rows, kind: kindOf(leaf)}
	p.in = bufio.NewReader(io.NewSectionReader(r, start, m.TotalCompressedSize))
	var protocol thrift.CompactProtocol
	p.decoder = thrift.NewDecoder(protocol.NewReader(p.in))
	return p, nil
}

// next returns the text of the next value; empty is null.
func (p *pages) next() (string, error) {
	for len(p.values) == 0 {
		if p.left == 0 {
			return "", io.ErrUnexpectedEOF
		}
		if err := p.page(); err != nil {
			return "", err
		}
	}
	v := p.values[0]
	p.values = p.values[1:]
	return v, nil
}

// page reads the next page.
func (p *pages) page() error {
	var h format.PageHeader
	if err := p.decoder.Decode(&h); err != nil {
		return fmt.Errorf("header of a page: %w", err)
	}
	if h.CompressedPageSize < 0 || h.CompressedPageSize > maxPage || h.UncompressedPageSize < 0 || h.UncompressedPageSize > maxPage {
		return fmt.Errorf("a page of %d bytes, at most %d can be read", h.UncompressedPageSize, maxPage)
	}
	data, err := io.ReadAll(io.LimitReader(p.in, int64(h.CompressedPageSize)))
	if err == nil && len(data) < int(h.CompressedPageSize) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("a page: %w", err)
	}
	size := int(h.UncompressedPageSize)
	switch {
	case h.DictionaryPageHeader.Valid:
		if data, err = decompress(p.codec, data, size); err != nil {
			return err
		}
		n := int(h.DictionaryPageHeader.V.NumValues)
		if n < 0 || n > len(data) {
			return errMoreValues
		}
		p.dict, err = p.kind.plain(data, n)
		return err
	case h.DataPageHeader.Valid:
		return p.dataV1(h.DataPageHeader.V, data, size)
	case h.DataPageHeaderV2.Valid:
		return p.dataV2(h.DataPageHeaderV2.V, data, size)
	}
	return nil // a page of an index
}

func (p *pages) dataV1(h format.DataPageHeader, data []byte, size int) error {
	n := int64(h.NumValues)
	if n < 0 || n > p.left {
		return errMoreValues
	}
	data, err := decompress(p.codec, data, size)
	if err != nil {
		return err
	}
	var levels []byte
	if p.leaf.MaxDefinitionLevel() > 0 {
		if h.DefinitionLevelEncoding != format.RLE {
			return fmt.Errorf("levels in the encoding %s", h.DefinitionLevelEncoding)
		}
		if levels, data, err = prefixed(data); err != nil {
			return err
		}
	}
	return p.decode(levels, data, h.Encoding, int(n))
}

func (p *pages) dataV2(h format.DataPageHeaderV2, data []byte, size int) error {
	n, repetition, definition := int64(h.NumValues), int(h.RepetitionLevelsByteLength), int(h.DefinitionLevelsByteLength)
	if n < 0 || n > p.left || repetition < 0 || definition < 0 || repetition > len(data) || definition > len(data)-repetition {
		return errMoreValues
	}
	levels, data := data[repetition:repetition+definition], data[repetition+definition:]
	if !h.IsCompressed.Valid || h.IsCompressed.V {
		var err error
		if data, err = decompress(p.codec, data, size); err != nil {
			return err
		}
	}
	return p.decode(levels, data, h.Encoding, int(n))
}

// prefixed cuts off a part that begins with its length.
func prefixed(data []byte) (part, rest []byte, err error) {
	if len(data) < 4 {
		return nil, nil, io.ErrUnexpectedEOF
	}
	n := int64(binary.LittleEndian.Uint32(data))
	if n > int64(len(data)-4) {
		return nil, nil, io.ErrUnexpectedEOF
	}
	return data[4 : 4+n], data[4+n:], nil
}

// decode reads the n values of a page, those that are not null in an encoding.
func (p *pages) decode(levels, data []byte, encoding format.Encoding, n int) error {
	p.left -= int64(n)
	p.values = make([]string, n)
	full := uint32(p.leaf.MaxDefinitionLevel())
	if full == 0 {
		return p.decodeInto(p.values, data, encoding)
	}
	defined, err := decodeRuns(levels, bits.Len32(full), n)
	if err != nil {
		return err
	}
	there := 0
	for _, d := range defined {
		if d == full {
			there++
		}
	}
	values := make([]string, there)
	if err := p.decodeInto(values, data, encoding); err != nil {
		return err
	}
	for i, d := range defined {
		if d == full {
			p.values[i], values = values[0], values[1:]
		}
	}
	return nil
}

func (p *pages) decodeInto(values []string, data []byte, encoding format.Encoding) error {
	if encoding == format.RLEDictionary || encoding == format.PlainDictionary { //nolint:staticcheck // old files have it
		if len(values) == 0 {
			return nil
		}
		if len(data) == 0 || data[0] > 32 {
			return io.ErrUnexpectedEOF
		}
		indices, err := decodeRuns(data[1:], int(data[0]), len(values))
		if err != nil {
			return err
		}
		for i, index := range indices {
			if int64(index) >= int64(len(p.dict)) {
				return errors.New("a value is not in the dictionary")
			}
			values[i] = p.dict[index]
		}
		return nil
	}
	got, err := p.kind.decode(data, encoding, len(values))
	copy(values, got)
	return err
}
