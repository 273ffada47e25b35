package codec

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/pierrec/lz4/v4"
)

// The framing of lz4-java's LZ4BlockOutputStream. Each block has a header of 21 bytes:
// the magic; a token, whose high four bits are the method and whose low four bits are
// log2 of the largest block, minus 10; little-endian 32-bit lengths, compressed and
// decompressed; and the low 28 bits of the XXH32 of the decompressed bytes. A stream
// ends with an empty block, and another may follow.
const (
	lz4Magic      = "LZ4Block"
	lz4HeaderSize = len(lz4Magic) + 1 + 3*4
	lz4MethodRaw  = 0x10
	lz4MethodLZ4  = 0x20
	lz4LevelBase  = 10
	lz4Seed       = 0x9747b28c
	lz4SumMask    = 0x0fffffff
)

type lz4Blocks struct {
	r         io.Reader
	src, dst  []byte
	lastEmpty bool
}

func (b *lz4Blocks) next() ([]byte, error) {
	for {
		var h [lz4HeaderSize]byte
		if err := readFull(b.r, h[:], true); err != nil {
			if errors.Is(err, io.EOF) && !b.lastEmpty {
				return nil, io.ErrUnexpectedEOF // the writer was not closed
			}
			return nil, err
		}
		if string(h[:len(lz4Magic)]) != lz4Magic {
			return nil, corrupt("lz4: a block does not start with %s", lz4Magic)
		}
		token := h[len(lz4Magic)]
		compressed := binary.LittleEndian.Uint32(h[9:])
		size := binary.LittleEndian.Uint32(h[13:])
		sum := binary.LittleEndian.Uint32(h[17:])
		limit := uint32(1) << (lz4LevelBase + token&0xf)
		if size > limit || compressed > limit+limit/255+16 {
			return nil, corrupt("lz4: a block of %d bytes in %d, more than the %d that its stream allows", size, compressed, limit)
		}
		if b.lastEmpty = size == 0; b.lastEmpty {
			if compressed != 0 || sum != 0 {
				return nil, corrupt("lz4: an empty block of %d bytes", compressed)
			}
			continue
		}
		return b.decode(token&0xf0, int(compressed), int(size), sum)
	}
}

func (b *lz4Blocks) decode(method byte, compressed, size int, sum uint32) ([]byte, error) {
	var err error
	if b.src, err = readBlock(b.r, b.src, compressed); err != nil {
		return nil, err
	}
	out := b.src
	switch method {
	case lz4MethodRaw:
		if compressed != size {
			return nil, corrupt("lz4: a stored block of %d bytes in %d", size, compressed)
		}
	case lz4MethodLZ4:
		b.dst = sized(b.dst, size)
		n, err := lz4.UncompressBlock(b.src, b.dst)
		if err != nil || n != size {
			return nil, corrupt("lz4: a block decompresses to %d of %d bytes", n, size)
		}
		out = b.dst
	default:
		return nil, corrupt("lz4: method %#x", method)
	}
	if xxh32(out, lz4Seed)&lz4SumMask != sum {
		return nil, corrupt("lz4: the checksum of a block does not match")
	}
	return out, nil
}
