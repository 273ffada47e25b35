package codec

import (
	"errors"
	"io"
)

// blocks is a framing: next returns the next block decompressed, which is valid until
// the next call; io.EOF at the end of the stream.
type blocks interface {
	next() ([]byte, error)
}

// blockReader makes a reader of a framing. An error comes after all that was
// decompressed before it, and stays.
type blockReader struct {
	b    blocks
	rest []byte
	err  error
}

func newBlockReader(b blocks) *blockReader { return &blockReader{b: b} }

func (r *blockReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.rest, r.err = r.b.next()
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *blockReader) Close() error {
	r.rest, r.err = nil, io.ErrClosedPipe
	return nil
}

// readFull fills p. An end before p is full is an unexpected one, unless nothing was
// read and the stream may end here.
func readFull(r io.Reader, p []byte, mayEnd bool) error {
	_, err := io.ReadFull(r, p)
	if errors.Is(err, io.EOF) && !mayEnd {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readBlock reads n bytes into buf, which grows with what arrives and not with what a
// header claims.
func readBlock(r io.Reader, buf []byte, n int) ([]byte, error) {
	buf = buf[:0]
	for len(buf) < n {
		from := len(buf)
		to := min(n, max(cap(buf), from+64<<10))
		if to > cap(buf) {
			buf = append(make([]byte, 0, min(n, max(to, 2*cap(buf)))), buf...)
		}
		buf = buf[:to]
		if err := readFull(r, buf[from:], false); err != nil {
			return buf[:0], err
		}
	}
	return buf, nil
}

// sized returns a slice of n bytes, in buf where it is large enough.
func sized(buf []byte, n int) []byte {
	if cap(buf) < n {
		return make([]byte, n)
	}
	return buf[:n]
}
