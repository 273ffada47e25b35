package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
)

// The files in testdata were written by the Java libraries that Spark uses: lz4-java
// 1.8.0, snappy-java 1.1.10, compress-lzf 1.1.2, zstd-jni 1.5.5, with blocks of 4 KiB
// and a flush now and then. Each holds sample twice, as two streams in a row.

// sample is text, then 6000 bytes that do not compress, then the text again.
func sample() []byte {
	var text, b bytes.Buffer
	for i := range 1500 {
		fmt.Fprintf(&text, "line %d of a log with %d tasks\n", i, i*i%97)
	}
	b.Write(text.Bytes())
	x := uint64(42)
	for range 6000 {
		x = x*6364136223846793005 + 1442695040888963407
		b.WriteByte(byte(x >> 56))
	}
	b.Write(text.Bytes())
	return b.Bytes()
}

var samples = []struct {
	file string
	name Name
}{{"sample.lz4", LZ4Block}, {"sample.snappy", Snappy}, {"sample.lzf", LZF}, {"sample.zstd", Zstd}, {"sample.gz", Gzip}}

func load(tb testing.TB, file string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func decompress(r io.Reader, fileName string) ([]byte, Name, error) {
	rc, name, err := NewReader(r, fileName)
	if err != nil {
		return nil, name, err
	}
	b, err := io.ReadAll(rc)
	return b, name, errors.Join(err, rc.Close())
}

func TestJavaWritten(t *testing.T) {
	want := bytes.Repeat(sample(), 2)
	for _, s := range samples {
		t.Run(s.file, func(t *testing.T) {
			in := load(t, s.file)
			for how, r := range map[string]io.Reader{
				"at once": bytes.NewReader(in), "byte by byte": iotest.OneByteReader(bytes.NewReader(in)),
			} {
				got, name, err := decompress(r, "misleading.txt")
				if err != nil || name != s.name || !bytes.Equal(got, want) {
					t.Errorf("%s: %s, %d bytes of %d, %v", how, name, len(got), len(want), err)
				}
			}
		})
	}
}

// TestCut cuts at every place: what comes before is delivered and right, and the error
// tells the cut unless that falls between two streams or blocks.
func TestCut(t *testing.T) {
	if testing.Short() {
		t.Skip("reads much")
	}
	want := bytes.Repeat(sample(), 2)
	for _, s := range samples {
		t.Run(s.file, func(t *testing.T) {
			in := load(t, s.file)
			most := 0
			for n := 0; n < len(in); n += 397 {
				got, _, err := decompress(bytes.NewReader(in[:n]), s.file)
				if !bytes.HasPrefix(want, got) {
					t.Fatalf("cut at %d: other bytes than were written", n)
				}
				if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrCorrupt) {
					t.Fatalf("cut at %d: %v", n, err)
				}
				most = max(most, len(got))
			}
			if most < len(want)-128<<10 {
				t.Errorf("at most %d bytes of %d were kept", most, len(want))
			}
		})
	}
}

// TestFlip changes single bytes: whatever comes of it is bounded and ends.
func TestFlip(t *testing.T) {
	if testing.Short() {
		t.Skip("reads much")
	}
	want := bytes.Repeat(sample(), 2)
	for _, s := range samples {
		in := load(t, s.file)
		for i := 0; i < len(in); i += 401 {
			b := bytes.Clone(in)
			b[i] ^= 1 << (i % 8)
			got, _, err := decompress(bytes.NewReader(b), s.file)
			if len(got) > 2*len(want) {
				t.Fatalf("%s: byte %d changed: %d bytes, %v", s.file, i, len(got), err)
			}
			if checked := s.name == LZ4Block || s.name == Gzip; checked && err == nil && !bytes.Equal(got, want) {
				// A flipped magic makes the rest plain text or another stream.
				if i >= sniff {
					t.Fatalf("%s: byte %d changed unnoticed", s.file, i)
				}
			}
		}
	}
}

func TestDetect(t *testing.T) {
	for _, tc := range []struct {
		head string
		file string
		want Name
	}{
		{`{"Event":"SparkListenerLogStart"`, "log.lz4", Plain},
		{"", "log.zstd", Plain},
		{"\x1f\x8b\x08", "log", Gzip},
		{"\x28\xb5\x2f\xfd1234", "log", Zstd},
		{"\x50\x2a\x4d\x181234", "log", Zstd},
		{"ZV\x01\x00\x10\x00\x20", "log", LZF},
		{"LZ4Block\x25", "log", LZ4Block},
		{"LZ4B", "log.lz4", LZ4Block},
		{"\x82SNAPPY\x00\x00", "log", Snappy},
		{"\x04\x22\x4d\x18____", "log", LZ4Frame},
	} {
		if _, name, _ := NewReader(bytes.NewReader([]byte(tc.head)), tc.file); name != tc.want {
			t.Errorf("%q in %s: %q, want %q", tc.head, tc.file, name, tc.want)
		}
	}
	for file, want := range map[string]Name{"a.lz4": LZ4Block, "a.zstd.inprogress": Zstd, "events_2_a.snappy.compact": Snappy,
		"a.LZF": LZF, "eventlog-2021-06-15--15-00.gz": Gzip, "application_1_2": Plain} {
		if got := FromFileName(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

// TestClaims feeds headers that claim sizes which are not there.
func TestClaims(t *testing.T) {
	for name, in := range map[string]string{
		"lz4 beyond its block size":    "LZ4Block\x20" + "\x00\x08\x00\x00" + "\x00\x08\x00\x00" + "\x00\x00\x00\x00",
		"lz4 of another method":        "LZ4Block\x35" + "\x01\x00\x00\x00" + "\x01\x00\x00\x00" + "\x00\x00\x00\x00" + "x",
		"lz4 with a wrong checksum":    "LZ4Block\x15" + "\x01\x00\x00\x00" + "\x01\x00\x00\x00" + "\x00\x00\x00\x00" + "x",
		"snappy block of 2 GB":         snappyMagic + "\x00\x00\x00\x01\x00\x00\x00\x01" + "\x7f\xff\xff\xff",
		"snappy bomb":                  snappyMagic + "\x00\x00\x00\x01\x00\x00\x00\x01" + "\x00\x00\x00\x06" + "\x80\x80\x80\x0f\x00\x41",
		"snappy for newer readers":     snappyMagic + "\x00\x00\x00\x01\x00\x00\x00\x09",
		"lzf of another type":          "ZV\x01\x00\x01\x00\x01\x00" + "ZV\x05\x00\x01",
		"lzf copy from before":         "ZV\x01\x00\x02\x00\x03\x20\x00",
		"lzf chunk that is too short":  "ZV\x01\x00\x02\x00\x03\x00x",
		"lzf literal over the end":     "ZV\x01\x00\x02\x00\x09\x08x",
		"zstd with a window of 1 GiB":  "\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00",
		"lz4 empty block with content": "LZ4Block\x25" + "\x01\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "x",
	} {
		if got, _, err := decompress(bytes.NewReader([]byte(in)), ""); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %d bytes, %v; want ErrCorrupt", name, len(got), err)
		}
	}
}

// TestXXH32 has the vectors of the specification.
func TestXXH32(t *testing.T) {
	for _, tc := range []struct {
		in   string
		seed uint32
		want uint32
	}{
		{"", 0, 0x02cc5d05}, {"a", 0, 0x550d7456}, {"abc", 0, 0x32d153ff},
		{"Nobody inspects the spammish repetition", 0, 0xe2293b2f},
	} {
		if got := xxh32([]byte(tc.in), tc.seed); got != tc.want {
			t.Errorf("%q: %#x, want %#x", tc.in, got, tc.want)
		}
	}
}

func FuzzReader(f *testing.F) {
	small := sample()[:300]
	f.Add(small, "log")
	for _, s := range samples {
		f.Add(load(f, s.file)[:400], s.file)
	}
	f.Add([]byte("ZV\x00\x00\x03abcZV\x01\x00\x04\x00\x06\x02abc"), "x.lzf")
	f.Fuzz(func(t *testing.T, in []byte, file string) {
		rc, _, err := NewReader(bytes.NewReader(in), file)
		if err != nil {
			return
		}
		defer func() { _ = rc.Close() }()
		const most = 8 << 20
		n, err := io.Copy(io.Discard, io.LimitReader(rc, most))
		if n > int64(len(in))*200_000 { // no format has a ratio above that of a zstd run of one byte
			t.Fatalf("%d bytes of %d", n, len(in))
		}
		if err == nil && n < most {
			if _, err := rc.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Fatalf("after the end: %v", err)
			}
		}
	})
}
