package runtable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
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

// A few bytes that claim gigabytes are found out before anything is allocated for them.
func TestRunsClaimNoMoreThanThePage(t *testing.T) {
	for _, c := range []struct {
		name  string
		data  []byte
		width int
		want  []uint32 // nil is an error
	}{
		{"a run", append(varints(3<<1), 1), 1, []uint32{1, 1, 1}},
		{"two runs", append(append(varints(2<<1), 5), append(varints(1<<1), 7)...), 3, []uint32{5, 5, 7}},
		{"a group of eight, not full", append(varints(1<<1|1), 0b101), 1, []uint32{1, 0, 1}},
		{"a group of odd width", append(varints(1<<1|1), 0b10_001_000, 0b0000_0011, 0), 3, []uint32{0, 1, 6}},
		{"a wide run", append(varints(3<<1), 1, 2, 3), 20, []uint32{0x30201, 0x30201, 0x30201}},
		{"no width", nil, 0, []uint32{0, 0, 0}},
		{"two billion values", append(varints(1<<31<<1), 1), 1, nil},
		{"too many runs", append(append(varints(2<<1), 1), append(varints(2<<1), 1)...), 1, nil},
		{"a billion groups", varints(1<<30<<1 | 1), 1, nil},
		{"a group that is not there", varints(1<<1|1, 1), 8, nil},
		{"a value that is not there", varints(3 << 1), 9, nil},
		{"too few", append(varints(2<<1), 1), 1, nil},
		{"a number without end", bytes.Repeat([]byte{0xff}, 20), 1, nil},
		{"runs of nothing", varints(0, 0, 0), 1, nil},
	} {
		got, err := decodeRuns(c.data, c.width, 3)
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
	// 7, 5, 3, 1, 2, 3, 4, 5 is the specification's example: -2 at least, then 0 and 3.
	example := append(append(varints(8, 1, 8, 14, 3), 2), 0b11_00_00_00, 0b00_11_11_11)
	got, rest, err := decodeDelta(append(example, 'x'), 8)
	if err != nil || !slices.Equal(got, []int64{7, 5, 3, 1, 2, 3, 4, 5}) || string(rest) != "x" {
		t.Error(got, rest, err)
	}
	for i := range example {
		if _, _, err := decodeDelta(example[:i], 8); err == nil {
			t.Errorf("cut at %d is whole", i)
		}
	}
	for name, data := range map[string][]byte{
		"another number of values": varints(128, 4, 9, 2), "a billion": varints(128, 4, 1<<30, 2), "a huge block": varints(1<<40, 4, 8, 2),
		"no blocks in a block": varints(128, 0, 8, 2), "no block": varints(0, 0, 8, 2), "too wide": append(varints(8, 1, 8, 14, 3), 65),
	} {
		if _, _, err := decodeDelta(data, 8); err == nil {
			t.Errorf("delta of %s is read", name)
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

func TestFootersThatClaimTooMuch(t *testing.T) {
	for _, c := range []struct {
		name string
		b    []byte
		ok   bool
	}{
		{"empty", []byte{0}, true},
		{"of each kind", []byte{0x11, 0x13, 7, 0x15, 0x80, 1, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x18, 1, 'x', 0x19, 0x15, 2, 0x1b, 1, 0x55, 1, 1, 0x1c, 0x13, 9, 0, 0x05, 0x20, 4, 0x1b, 0, 0}, true},
		{"a list of two billion", append([]byte{0x19, 0xfc}, varints(1<<31-1)...), false},
		{"a list of more than there is", append([]byte{0x19, 0xfc}, varints(1000)...), false},
		{"many lists", append(bytes.Repeat(append(append([]byte{0x19, 0xf3}, varints(90_000)...), make([]byte, 90_000)...), 6), 0), false},
		{"a text of more than there is", []byte{0x18, 100, 'x', 0}, false},
		{"structures in structures", bytes.Repeat([]byte{0x1c}, 1000), false},
		{"lists in lists", bytes.Repeat([]byte{0x19}, 1000), false},
		{"an unknown kind", []byte{0x1f, 0}, false},
		{"no end", []byte{0x13, 7}, false},
	} {
		w := thriftWalker{b: c.b}
		if err := w.structure(0); (err == nil) != c.ok || c.ok && len(w.b) > 0 {
			t.Errorf("%s: %v, %d bytes left", c.name, err, len(w.b))
		}
	}
}

func TestEncodings(t *testing.T) {
	texts := func(values ...string) []byte {
		var b []byte
		for _, v := range values {
			b = append(b, v...)
		}
		return b
	}
	// Lengths 1, 1 and 2 are a first of 1 and differences of 0 and 1.
	lengths := append(varints(8, 1, 3, 2, 0), 1, 0b10)
	prefixes := append(varints(8, 1, 3, 0, 0), 1, 0b11) // 0, 1 and 2
	for _, c := range []struct {
		name     string
		kind     kind
		encoding format.Encoding
		data     []byte
		want     []string
	}{
		{"truth in runs", kind{physical: parquet.Boolean}, format.RLE, append([]byte{2, 0, 0, 0}, append(varints(3<<1), 1)...), []string{"True", "True", "True"}},
		{"lengths", kind{physical: parquet.ByteArray}, format.DeltaLengthByteArray, append(bytes.Clone(lengths), texts("a", "b", "cc")...), []string{"a", "b", "cc"}},
		{"prefixes", kind{physical: parquet.ByteArray}, format.DeltaByteArray, append(append(bytes.Clone(prefixes), lengths...), texts("a", "b", "cc")...), []string{"a", "ab", "abcc"}},
		{"negative numbers", kind{physical: parquet.Int32}, format.DeltaBinaryPacked, append(varints(8, 1, 3, 1, 1), 0), []string{"-1", "-2", "-3"}},
	} {
		got, err := c.kind.decode(c.data, c.encoding, 3)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		for i := range c.data {
			if _, err := c.kind.decode(c.data[:i], c.encoding, 3); err == nil && c.encoding != format.DeltaBinaryPacked {
				t.Errorf("%s cut at %d is whole", c.name, i)
			}
		}
	}
	if _, err := (kind{physical: parquet.Double}).decode(nil, format.RLE, 1); err == nil {
		t.Error("runs of what are no truth values")
	}
}
