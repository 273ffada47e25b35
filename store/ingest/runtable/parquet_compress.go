package runtable

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

var errSize = errors.New("a page is larger than it claims")

// decompress returns the page of the size that it claims; one that turns out larger
// is an error before it takes more memory.
func decompress(codec format.CompressionCodec, data []byte, size int) ([]byte, error) {
	switch codec {
	case format.Uncompressed:
		return data, nil
	case format.Snappy:
		if n, err := snappy.DecodedLen(data); err != nil || n > size {
			return nil, errSize
		}
		return snappy.Decode(nil, data)
	case format.Lz4Raw:
		out := make([]byte, size)
		n, err := lz4.UncompressBlock(data, out)
		return out[:max(n, 0)], err
	case format.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		return atMost(r, size)
	case format.Zstd:
		d, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage), zstd.WithDecoderMaxWindow(maxPage))
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return atMost(d, size)
	case format.Brotli:
		return atMost(brotli.NewReader(bytes.NewReader(data)), size)
	}
	return nil, fmt.Errorf("compression %s is not supported", codec)
}

func atMost(r io.Reader, size int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(size)+1))
	if err == nil && len(b) > size {
		err = errSize
	}
	return b, err
}
