package private

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

const (
	// packAbove is how long a value must be to be compressed.
	packAbove = 4 << 10
	// maxUnpacked bounds what a value may hold decompressed: one of damage, or one
	// that was made to fill the memory, is refused.
	maxUnpacked = 16 << 20

	packedPlain, packedZstd = 0, 1
)

// packer compresses values: one byte that says how, then the bytes. The zero value is
// ready; it is not safe for concurrent use.
type packer struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func (p *packer) pack(b []byte) ([]byte, error) {
	if len(b) <= packAbove {
		return append([]byte{packedPlain}, b...), nil
	}
	if p.enc == nil {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		if err != nil {
			return nil, fmt.Errorf("compress: %w", err)
		}
		p.enc = enc
	}
	return p.enc.EncodeAll(b, []byte{packedZstd}), nil
}

func (p *packer) unpack(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: empty value", ErrCorrupt)
	}
	switch b[0] {
	case packedPlain:
		return b[1:], nil
	case packedZstd:
		if p.dec == nil {
			dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
			if err != nil {
				return nil, fmt.Errorf("decompress: %w", err)
			}
			p.dec = dec
		}
		out, err := p.dec.DecodeAll(b[1:], nil)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		return out, nil
	}
	return nil, fmt.Errorf("%w: value packed in an unknown way (%d)", ErrCorrupt, b[0])
}

// close frees what the packer holds.
func (p *packer) close() {
	if p.dec != nil {
		p.dec.Close()
	}
}
