package codec

import (
	"encoding/binary"
	"io"
)

// The framing of ning's compress-lzf: chunks of "ZV", a type, a big-endian 16-bit length
// of what follows and, for compressed chunks, a 16-bit decompressed length.
const (
	lzfStored     = 0
	lzfCompressed = 1
)

type lzfBlocks struct {
	r        io.Reader
	src, dst []byte
}

func (b *lzfBlocks) next() ([]byte, error) {
	var h [7]byte
	if err := readFull(b.r, h[:5], true); err != nil {
		return nil, err
	}
	if h[0] != 'Z' || h[1] != 'V' {
		return nil, corrupt("lzf: a chunk does not start with ZV")
	}
	n := int(binary.BigEndian.Uint16(h[3:]))
	switch h[2] {
	case lzfStored:
		var err error
		b.src, err = readBlock(b.r, b.src, n)
		return b.src, err
	case lzfCompressed:
		if err := readFull(b.r, h[5:], false); err != nil {
			return nil, err
		}
		var err error
		if b.src, err = readBlock(b.r, b.src, n); err != nil {
			return nil, err
		}
		b.dst = sized(b.dst, int(binary.BigEndian.Uint16(h[5:])))
		return b.dst, lzfDecode(b.dst, b.src)
	}
	return nil, corrupt("lzf: chunk type %d", h[2])
}

// lzfDecode fills dst. A control byte below 32 is the length of a literal run minus 1;
// otherwise its high three bits are the length of a copy minus 2 (7: one more byte adds
// to it) and its low five bits the high bits of the distance minus 1.
func lzfDecode(dst, src []byte) error {
	d := 0
	for s := 0; s < len(src); {
		c := int(src[s])
		s++
		if c < 32 {
			n := c + 1
			if s+n > len(src) || d+n > len(dst) {
				return corrupt("lzf: a literal runs over the end")
			}
			copy(dst[d:], src[s:s+n])
			s, d = s+n, d+n
			continue
		}
		n := c >> 5
		if n == 7 {
			if s >= len(src) {
				return corrupt("lzf: a copy is cut")
			}
			n += int(src[s])
			s++
		}
		n += 2
		if s >= len(src) {
			return corrupt("lzf: a copy is cut")
		}
		from := d - (c&0x1f)<<8 - int(src[s]) - 1
		s++
		if from < 0 || d+n > len(dst) {
			return corrupt("lzf: a copy from outside of the chunk")
		}
		for i := range n { // may overlap: bytes just written are read again
			dst[d+i] = dst[from+i]
		}
		d += n
	}
	if d != len(dst) {
		return corrupt("lzf: a chunk decompresses to %d of %d bytes", d, len(dst))
	}
	return nil
}
