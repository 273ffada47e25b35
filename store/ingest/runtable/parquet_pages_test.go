package runtable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

func varints(values ...uint64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// A few bytes that claim gigabytes are found out before anything is decoded.
func TestRunsClaimNoMoreThanThePage(t *testing.T) {
	for _, c := range []struct {
		name  string
		data  []byte
		width int
		n     int64
		ok    bool
	}{
		{"a run", append(varints(100<<1), 1), 1, 100, true},
		{"two runs", append(append(varints(60<<1), 1), append(varints(40<<1), 0)...), 1, 100, true},
		{"groups of eight, the last not full", append(varints(13<<1|1), make([]byte, 13)...), 1, 100, true},
		{"two billion values", append(varints(1<<31<<1), 1), 1, 100, false},
		{"many runs", bytes.Repeat(append(varints(100<<1), 1), 50), 1, 100, false},
		{"a billion groups", varints(1<<30<<1 | 1), 0, 100, false},
		{"groups that are not there", varints(12<<1|1, 1), 8, 100, false},
		{"a value that is not there", varints(100 << 1), 9, 100, false},
		{"a number without end", bytes.Repeat([]byte{0xff}, 20), 1, 100, false},
		{"runs of nothing", varints(0, 0, 0), 0, 100, true},
	} {
		if err := checkRuns(c.data, c.width, c.n); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, c := range []struct {
		name string
		data []byte
		ok   bool
	}{
		{"a hundred", varints(128, 4, 100, 2), true},
		{"a billion", varints(128, 4, 1<<30, 2), false},
		{"a huge block", varints(1<<40, 4, 100, 2), false},
		{"no blocks in a block", varints(128, 0, 100, 2), false},
		{"cut", varints(128, 4), false},
	} {
		if err := checkDelta(c.data, 100); (err == nil) != c.ok {
			t.Errorf("delta of %s: %v", c.name, err)
		}
	}
}

// Each codec is told how large a page is, and gives up beyond.
func TestPagesThatGrow(t *testing.T) {
	text := bytes.Repeat([]byte("karasu "), 1<<18)
	for _, codec := range []format.CompressionCodec{format.Snappy, format.Gzip, format.Brotli, format.Zstd, format.Lz4Raw} {
		packed, err := parquet.LookupCompressionCodec(codec).Encode(nil, text)
		if err != nil {
			t.Fatal(codec, err)
		}
		if got, err := decompress(codec, packed, len(text)); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %v", codec, len(got), err)
		}
		if got, err := decompress(codec, packed, 1000); err == nil {
			t.Errorf("%s: %d bytes where 1000 are claimed", codec, len(got))
		}
		for _, bad := range [][]byte{nil, packed[:len(packed)/2], {1, 2, 3}} {
			if got, err := decompress(codec, bad, len(text)); err == nil && len(got) == len(text) {
				t.Errorf("%s of %d bytes is read", codec, len(bad))
			}
		}
	}
	if _, err := decompress(format.LZO, nil, 1); err == nil || errors.Is(err, errSize) {
		t.Error(err)
	}
}
