package runtable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// decode reads n values in an encoding of Parquet's specification.
func (k kind) decode(data []byte, encoding format.Encoding, n int) ([]string, error) {
	switch encoding {
	case format.Plain:
		return k.plain(data, n)
	case format.RLE:
		if k.physical != parquet.Boolean {
			break
		}
		runs, _, err := prefixed(data)
		if err != nil {
			return nil, err
		}
		bits, err := decodeRuns(runs, 1, n)
		if err != nil {
			return nil, err
		}
		out := make([]string, n)
		for i, b := range bits {
			out[i] = truth(b == 1)
		}
		return out, nil
	case format.DeltaBinaryPacked:
		if k.physical != parquet.Int32 && k.physical != parquet.Int64 {
			break
		}
		numbers, _, err := decodeDelta(data, n)
		if err != nil {
			return nil, err
		}
		out := make([]string, n)
		for i, v := range numbers {
			if k.physical == parquet.Int32 {
				v = int64(int32(v))
			}
			out[i] = k.integer(v)
		}
		return out, nil
	case format.DeltaLengthByteArray:
		values, err := decodeLengths(data, n)
		if err != nil {
			return nil, err
		}
		return k.texts(values)
	case format.DeltaByteArray:
		values, err := decodePrefixes(data, n)
		if err != nil {
			return nil, err
		}
		return k.texts(values)
	case format.ByteStreamSplit:
		size := k.size()
		if size == 0 || len(data) < size*n {
			return nil, io.ErrUnexpectedEOF
		}
		joined := make([]byte, size*n)
		for i := range n {
			for j := range size {
				joined[i*size+j] = data[j*n+i]
			}
		}
		return k.plain(joined, n)
	}
	return nil, fmt.Errorf("values in the encoding %s", encoding)
}

func (k kind) texts(values [][]byte) ([]string, error) {
	out := make([]string, len(values))
	for i, v := range values {
		var err error
		if out[i], err = k.text(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// plain reads n values one behind the other.
func (k kind) plain(data []byte, n int) ([]string, error) {
	out := make([]string, n)
	for i := range out {
		var v []byte
		switch size := k.size(); {
		case k.physical == parquet.Boolean:
			if i/8 >= len(data) {
				return nil, io.ErrUnexpectedEOF
			}
			out[i] = truth(data[i/8]>>(i%8)&1 == 1)
			continue
		case k.physical == parquet.ByteArray:
			var err error
			if v, data, err = prefixed(data); err != nil {
				return nil, err
			}
		case size == 0 || size > len(data):
			return nil, io.ErrUnexpectedEOF
		default:
			v, data = data[:size], data[size:]
		}
		var err error
		if out[i], err = k.text(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// decodeRuns reads n numbers of a width in bits from a hybrid of runs and bit-packed
// groups of eight (Parquet's RLE encoding). What lies behind them is padding.
func decodeRuns(data []byte, width, n int) ([]uint32, error) {
	if width == 0 {
		return make([]uint32, n), nil
	}
	out := make([]uint32, 0, n)
	bytes := (width + 7) / 8
	for len(out) < n {
		head, k := binary.Uvarint(data)
		if k <= 0 {
			return nil, io.ErrUnexpectedEOF
		}
		data = data[k:]
		if head&1 != 0 {
			groups := head >> 1
			if groups > uint64(n)/8+1 {
				return nil, errMoreValues
			}
			packed := int(groups) * width
			if packed > len(data) {
				return nil, io.ErrUnexpectedEOF
			}
			for i := range min(int(groups)*8, n-len(out)) {
				out = append(out, uint32(unpack(data, i*width, width)))
			}
			data = data[packed:]
			continue
		}
		count := head >> 1
		if count > uint64(n-len(out)) {
			return nil, errMoreValues
		}
		if bytes > len(data) {
			return nil, io.ErrUnexpectedEOF
		}
		v := uint32(unpack(data, 0, bytes*8))
		for range count {
			out = append(out, v)
		}
		data = data[bytes:]
	}
	return out, nil
}

// unpack reads a number of up to 64 bits, the least first, from a position in bits.
// The data must hold it.
func unpack(data []byte, at, width int) uint64 {
	var v uint64
	for i := 0; i < width; {
		b := uint64(data[(at+i)/8]) >> ((at + i) % 8)
		take := min(8-(at+i)%8, width-i)
		v |= (b & (1<<take - 1)) << i
		i += take
	}
	return v
}

// decodeDelta reads n numbers as differences, and returns what lies behind them.
func decodeDelta(data []byte, n int) ([]int64, []byte, error) {
	var head [3]uint64 // numbers in a block, miniblocks in it, numbers in all
	for i := range head {
		v, k := binary.Uvarint(data)
		if k <= 0 {
			return nil, nil, io.ErrUnexpectedEOF
		}
		head[i], data = v, data[k:]
	}
	last, k := binary.Varint(data)
	if k <= 0 {
		return nil, nil, io.ErrUnexpectedEOF
	}
	data = data[k:]
	if head[0] == 0 || head[0] > 1<<16 || head[1] == 0 || head[1] > head[0] || head[0]%head[1] != 0 || head[2] != uint64(n) {
		return nil, nil, errMoreValues
	}
	minis, per := int(head[1]), int(head[0]/head[1])
	out := make([]int64, 0, n)
	if n > 0 {
		out = append(out, last)
	}
	for len(out) < n {
		least, k := binary.Varint(data)
		if k <= 0 || len(data)-k < minis {
			return nil, nil, io.ErrUnexpectedEOF
		}
		widths := data[k : k+minis]
		data = data[k+minis:]
		for _, w := range widths {
			if len(out) == n {
				break // the rest of the last block is not written
			}
			width := int(w)
			size := (per*width + 7) / 8
			if width > 64 || size > len(data) {
				return nil, nil, io.ErrUnexpectedEOF
			}
			for i := range min(per, n-len(out)) {
				last += least + int64(unpack(data, i*width, width)) // overflow is part of the encoding
				out = append(out, last)
			}
			data = data[size:]
		}
	}
	return out, data, nil
}

// decodeLengths reads n texts: their lengths, and then all of them.
func decodeLengths(data []byte, n int) ([][]byte, error) {
	lengths, data, err := decodeDelta(data, n)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, n)
	for i, l := range lengths {
		if l < 0 || l > int64(len(data)) {
			return nil, io.ErrUnexpectedEOF
		}
		out[i], data = data[:l], data[l:]
	}
	return out, nil
}

var errPrefix = errors.New("texts that repeat others are too long together")

// decodePrefixes reads n texts, each of which repeats the beginning of the last.
func decodePrefixes(data []byte, n int) ([][]byte, error) {
	lengths, data, err := decodeDelta(data, n)
	if err != nil {
		return nil, err
	}
	out, err := decodeLengths(data, n)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	var last []byte
	for i, l := range lengths {
		if l < 0 || l > int64(len(last)) {
			return nil, io.ErrUnexpectedEOF
		}
		if total += l + int64(len(out[i])); total > maxPage {
			return nil, errPrefix
		}
		if l > 0 {
			out[i] = append(append(make([]byte, 0, int(l)+len(out[i])), last[:l]...), out[i]...)
		}
		last = out[i]
	}
	return out, nil
}
