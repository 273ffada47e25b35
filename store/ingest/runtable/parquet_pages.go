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

// The Parquet library trusts lengths in a file and allocates what they claim. So
// every page is looked at before it is decoded: a few damaged bytes must not claim
// gigabytes.

// Bounds of a Parquet file.
const (
	maxFooter = 32 << 20
	// maxPage bounds a page, compressed and not. Writers make pages of 1 MiB; some
	// write one of up to 100 MB a column and row group.
	maxPage = 128 << 20
)

// checkFooter checks what says how long the footer is.
func checkFooter(r io.ReaderAt, size int64) error {
	const ends = 12 // the mark at both ends and the footer's length
	var tail [8]byte
	if size < ends {
		return damaged(errors.New("it is too short"))
	}
	if _, err := r.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	if string(tail[4:]) != parquetMagic {
		return damaged(errors.New("its end is missing"))
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:])); n > maxFooter || n > size-ends {
		return damaged(errors.New("its footer is too long"))
	}
	return nil
}

// checkPages checks all pages of a flat column in a row group with that many rows.
func checkPages(r io.ReaderAt, f *parquet.File, group int, leaf *parquet.Column, rows int64) error {
	groups := f.Metadata().RowGroups
	if group >= len(groups) || leaf.Index() >= len(groups[group].Columns) {
		return damaged(errors.New("it has no such part"))
	}
	m := groups[group].Columns[leaf.Index()].MetaData
	start := m.DataPageOffset
	if m.DictionaryPageOffset != 0 {
		start = m.DictionaryPageOffset
	}
	if start < 0 || m.TotalCompressedSize < 0 || start > f.Size() || m.TotalCompressedSize > f.Size()-start || m.NumValues != rows {
		return damaged(errors.New("a column lies outside of it or has not one value a row"))
	}
	in := bufio.NewReader(io.NewSectionReader(r, start, m.TotalCompressedSize))
	var protocol thrift.CompactProtocol
	decoder := thrift.NewDecoder(protocol.NewReader(in))
	for values := int64(0); values < rows; {
		var h format.PageHeader
		if err := decoder.Decode(&h); err != nil {
			return damaged(fmt.Errorf("header of a page: %w", err))
		}
		if h.CompressedPageSize < 0 || h.CompressedPageSize > maxPage || h.UncompressedPageSize < 0 || h.UncompressedPageSize > maxPage {
			return fmt.Errorf("%w: a page of %d bytes, at most %d; write smaller pages", ErrTooLarge, h.UncompressedPageSize, maxPage)
		}
		data, err := readPage(in, int(h.CompressedPageSize))
		if err != nil {
			return damaged(fmt.Errorf("a page: %w", err))
		}
		n, err := checkPage(&h, data, m.Codec, leaf)
		if err != nil {
			return damaged(err)
		}
		values += n
	}
	return nil
}

// readPage allocates only as much as there is.
func readPage(in io.Reader, n int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(in, int64(n)))
	if err == nil && len(b) < n {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// checkPage checks a page and returns how many values it has.
func checkPage(h *format.PageHeader, data []byte, codec format.CompressionCodec, leaf *parquet.Column) (int64, error) {
	size := int(h.UncompressedPageSize)
	switch {
	case h.DictionaryPageHeader.Valid:
		data, err := decompress(codec, data, size)
		if err != nil {
			return 0, err
		}
		// A value takes a byte at least, but eight truth values share one.
		if n := int64(h.DictionaryPageHeader.V.NumValues); n < 0 || n > 8*int64(len(data)) {
			return 0, errors.New("a dictionary claims more values than it has")
		}
		return 0, nil
	case h.DataPageHeader.Valid:
		v := h.DataPageHeader.V
		n := int64(v.NumValues)
		data, err := decompress(codec, data, size)
		if err != nil {
			return 0, err
		}
		if n < 0 || n > MaxRows {
			return 0, errors.New("a page claims too many values")
		}
		if leaf.MaxDefinitionLevel() > 0 {
			if data, err = cutLevels(data, v.DefinitionLevelEncoding, n, leaf); err != nil {
				return 0, err
			}
		}
		return n, checkValues(data, v.Encoding, n, leaf)
	case h.DataPageHeaderV2.Valid:
		v := h.DataPageHeaderV2.V
		n, repetition, definition := int64(v.NumValues), int(v.RepetitionLevelsByteLength), int(v.DefinitionLevelsByteLength)
		if n < 0 || n > MaxRows || v.NumNulls < 0 || int64(v.NumNulls) > n || repetition < 0 || definition < 0 || repetition > len(data) || definition > len(data)-repetition {
			return 0, errors.New("a page claims too many values")
		}
		levels, data := data[repetition:repetition+definition], data[repetition+definition:]
		if err := checkRuns(levels, levelWidth(leaf), n); err != nil {
			return 0, err
		}
		if !v.IsCompressed.Valid || v.IsCompressed.V {
			var err error
			if data, err = decompress(codec, data, size); err != nil {
				return 0, err
			}
		}
		return n, checkValues(data, v.Encoding, n, leaf)
	}
	return 0, nil // pages of indexes are skipped
}

func levelWidth(leaf *parquet.Column) int { return bits.Len(uint(leaf.MaxDefinitionLevel())) }

// cutLevels checks the levels before the values of a page and cuts them off.
func cutLevels(data []byte, encoding format.Encoding, n int64, leaf *parquet.Column) ([]byte, error) {
	if encoding != format.RLE {
		return nil, fmt.Errorf("levels in the encoding %s", encoding)
	}
	if len(data) < 4 {
		return nil, io.ErrUnexpectedEOF
	}
	length := int64(binary.LittleEndian.Uint32(data))
	if length > int64(len(data)-4) {
		return nil, io.ErrUnexpectedEOF
	}
	return data[4+length:], checkRuns(data[4:4+length], levelWidth(leaf), n)
}

// checkValues checks how many values an encoding claims to hold.
func checkValues(data []byte, encoding format.Encoding, n int64, leaf *parquet.Column) error {
	switch encoding {
	case format.Plain, format.ByteStreamSplit:
		return nil // a value takes its size
	case format.RLEDictionary, format.PlainDictionary: //nolint:staticcheck // old files have it
		if len(data) == 0 {
			return nil
		}
		if data[0] > 32 {
			return errors.New("an index is wider than 32 bits")
		}
		return checkRuns(data[1:], int(data[0]), n)
	case format.RLE:
		if leaf.Type().Kind() != parquet.Boolean || len(data) < 4 {
			return errors.New("runs of what are no truth values")
		}
		return checkRuns(data[4:], 1, n)
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		return checkDelta(data, n)
	}
	// Among them DELTA_BYTE_ARRAY, where each value may repeat all of the last.
	return fmt.Errorf("values in the encoding %s", encoding)
}

// checkRuns walks a hybrid of runs and bit-packed groups (Parquet's RLE encoding).
func checkRuns(data []byte, width int, n int64) error {
	total := uint64(0)
	for len(data) > 0 {
		head, k := binary.Uvarint(data)
		if k <= 0 {
			return io.ErrUnexpectedEOF
		}
		data = data[k:]
		count, size := head>>1, uint64((width+7)/8)
		if head&1 != 0 { // groups of eight
			if count > uint64(n)/8+1 {
				return errors.New("a page holds more values than it claims")
			}
			count, size = count*8, count*uint64(width)
		}
		if total += count; count > uint64(n)+8 || total > uint64(n)+8 {
			return errors.New("a page holds more values than it claims")
		}
		if size > uint64(len(data)) {
			return io.ErrUnexpectedEOF
		}
		data = data[size:]
	}
	return nil
}

// checkDelta checks the head of a delta encoding: block size, blocks in it, values.
func checkDelta(data []byte, n int64) error {
	var head [3]uint64
	for i := range head {
		v, k := binary.Uvarint(data)
		if k <= 0 {
			return io.ErrUnexpectedEOF
		}
		head[i], data = v, data[k:]
	}
	if head[0] > 1<<16 || head[1] == 0 || head[1] > 1<<10 || head[2] > uint64(n) {
		return errors.New("a page holds more values than it claims")
	}
	return nil
}
