// Package codec reads the compressed streams that Spark's compression codecs write:
// lz4, snappy, lzf and zstd, besides gzip and plain text. Spark's lz4 and snappy are
// framings of its Java libraries, not the interchange formats of the same names.
//
// Every reader is streaming: it holds one block at a time, at most [MaxBlock] bytes.
// What comes before a broken place is delivered; then comes [ErrCorrupt], or
// [io.ErrUnexpectedEOF] where the stream ends inside a block.
package codec

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// MaxBlock bounds one block of a framing and the window of zstd, in bytes. The
// largest that Spark's codecs write is 32 MiB (lz4-java); zstd's default window at
// Spark's levels is 8 MiB.
const MaxBlock = 32 << 20

// ErrCorrupt is wrapped by every error about bytes that a codec cannot have written.
var ErrCorrupt = errors.New("corrupt compressed data")

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// Name of a compression; the empty name is plain text.
type Name string

// The compressions that are read.
const (
	Plain    Name = ""
	Gzip     Name = "gzip"
	Zstd     Name = "zstd"
	LZ4Block Name = "lz4"
	LZ4Frame Name = "lz4-frame"
	Snappy   Name = "snappy"
	LZF      Name = "lzf"
)

// sniff is how many bytes tell the compressions apart.
const sniff = 8

// Detect tells the compression by the first bytes of a stream, of which 8 are enough.
// What matches none is plain.
func Detect(head []byte) Name {
	switch {
	case bytes.HasPrefix(head, []byte(lz4Magic)):
		return LZ4Block
	case bytes.HasPrefix(head, []byte(snappyMagic)):
		return Snappy
	case len(head) >= 3 && head[0] == 'Z' && head[1] == 'V' && head[2] <= 1:
		return LZF
	case len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		return Gzip
	case len(head) >= 4:
		switch magic := binary.LittleEndian.Uint32(head); {
		case magic == 0xfd2fb528, magic&^0xf == 0x184d2a50: // a frame, a skippable frame
			return Zstd
		case magic == 0x184d2204:
			return LZ4Frame
		}
	}
	return Plain
}

// FromFileName tells the compression by the extension that Spark, Databricks and
// people give a log. An ".inprogress" or ".compact" at the end is ignored.
func FromFileName(name string) Name {
	name = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), ".inprogress"), ".compact")
	switch path.Ext(name) {
	case ".gz", ".gzip":
		return Gzip
	case ".zstd", ".zst":
		return Zstd
	case ".lz4":
		return LZ4Block
	case ".snappy":
		return Snappy
	case ".lzf":
		return LZF
	}
	return Plain
}

// NewReader decompresses r. The compression is told by content; the file name decides
// only where the content is too short for that, as in a log that was cut in its first
// bytes. Close the reader; it does not close r.
func NewReader(r io.Reader, fileName string) (io.ReadCloser, Name, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	head, err := br.Peek(sniff)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, Plain, err
	}
	name := Detect(head)
	if name == Plain && len(head) < sniff && len(head) > 0 {
		name = FromFileName(fileName)
	}
	rc, err := open(br, name)
	if err != nil {
		return nil, name, err
	}
	return rc, name, nil
}

func open(br *bufio.Reader, name Name) (io.ReadCloser, error) {
	switch name {
	case Gzip:
		zr, err := gzip.NewReader(br)
		if err != nil {
			return nil, asCorrupt(err)
		}
		return &mapped{r: zr, close: func() { _ = zr.Close() }}, nil
	case Zstd:
		// One frame after the other in this goroutine, with the smallest buffers.
		zr, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(MaxBlock), zstd.WithDecoderMaxMemory(1<<62))
		if err != nil {
			return nil, asCorrupt(err)
		}
		return &mapped{r: zr, close: zr.Close}, nil
	case LZ4Frame:
		return &mapped{r: lz4.NewReader(br), close: func() {}}, nil
	case LZ4Block:
		return newBlockReader(&lz4Blocks{r: br}), nil
	case Snappy:
		return newBlockReader(&snappyBlocks{r: br}), nil
	case LZF:
		return newBlockReader(&lzfBlocks{r: br}), nil
	case Plain:
	}
	return io.NopCloser(br), nil
}

// mapped gives a library's errors the meaning of this package's.
type mapped struct {
	r     io.Reader
	close func()
}

func (m *mapped) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	return n, asCorrupt(err)
}

func (m *mapped) Close() error {
	m.close()
	return nil
}

func asCorrupt(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}
