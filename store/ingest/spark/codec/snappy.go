package codec

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/s2"
)

// The framing of snappy-java's SnappyOutputStream: a header of 16 bytes (magic, version
// and oldest compatible version, big-endian), then blocks, each a big-endian 32-bit
// length and a raw snappy block. Another header may follow in place of a block where
// streams were concatenated.
const (
	snappyMagic      = "\x82SNAPPY\x00"
	snappyHeaderSize = len(snappyMagic) + 2*4
	snappyVersion    = 1
)

type snappyBlocks struct {
	r        io.Reader
	src, dst []byte
	started  bool
}

func (b *snappyBlocks) next() ([]byte, error) {
	for {
		var h [snappyHeaderSize]byte
		if err := readFull(b.r, h[:4], true); err != nil {
			return nil, err
		}
		if string(h[:4]) == snappyMagic[:4] {
			if err := readFull(b.r, h[4:], false); err != nil {
				return nil, err
			}
			if err := checkSnappyHeader(h); err != nil {
				return nil, err
			}
			b.started = true
			continue
		}
		if !b.started {
			return nil, corrupt("snappy: the stream has no header")
		}
		return b.decode(binary.BigEndian.Uint32(h[:4]))
	}
}

func checkSnappyHeader(h [snappyHeaderSize]byte) error {
	if string(h[:len(snappyMagic)]) != snappyMagic {
		return corrupt("snappy: not a header: %x", h)
	}
	if v := binary.BigEndian.Uint32(h[12:]); v > snappyVersion {
		return corrupt("snappy: written for readers of version %d or later, this one knows %d", v, snappyVersion)
	}
	return nil
}

func (b *snappyBlocks) decode(compressed uint32) ([]byte, error) {
	if compressed > MaxBlock {
		return nil, corrupt("snappy: a block of %d bytes is more than %d", compressed, MaxBlock)
	}
	var err error
	if b.src, err = readBlock(b.r, b.src, int(compressed)); err != nil {
		return nil, err
	}
	n, err := s2.DecodedLen(b.src)
	if err != nil || n > MaxBlock {
		return nil, corrupt("snappy: a block decompresses to %d bytes", n)
	}
	// At most 64 bytes come of 3: what claims more is not worth the memory.
	if n > 22*len(b.src) {
		return nil, corrupt("snappy: %d bytes cannot hold %d", len(b.src), n)
	}
	out, err := s2.Decode(sized(b.dst, n), b.src)
	if err != nil {
		return nil, errors.Join(ErrCorrupt, err)
	}
	b.dst = out
	return out, nil
}
