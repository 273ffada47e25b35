package spark

import (
	"bytes"
	"io"
)

// Sizes of the line buffer. Most lines have some kilobytes; job starts of wide jobs and
// plans of large queries reach 25 MB.
const (
	firstBuffer = 256 << 10
	// MaxLine bounds a line that is decoded; a longer one is skipped and counted.
	MaxLine = 64 << 20
)

// lineReader splits a stream into lines. It holds one line.
type lineReader struct {
	r          io.Reader
	buf        []byte
	start, end int // the unread bytes of buf
	err        error
	read       int64 // bytes of the stream so far
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: r, buf: make([]byte, firstBuffer)}
}

// line is one line without its end.
type line struct {
	text []byte
	// skipped says that the text is only its first part, as it is not wanted or is
	// longer than [MaxLine].
	skipped, tooLong bool
	// open says that the stream ended before the line did.
	open bool
}

// next returns the next line, whose text is valid until the call after. Where the line
// does not fit into the buffer, wanted decides by its first part whether to read it
// whole. The error is the stream's, after all lines before it; io.EOF is its end.
func (l *lineReader) next(wanted func(head []byte) bool) (line, error) {
	scanned := 0
	for {
		if i := bytes.IndexByte(l.buf[l.start+scanned:l.end], '\n'); i >= 0 {
			text := l.buf[l.start : l.start+scanned+i]
			l.start += scanned + i + 1
			return line{text: text}, nil
		}
		scanned = l.end - l.start
		if l.err != nil {
			if scanned == 0 {
				return line{}, l.err
			}
			text := l.buf[l.start:l.end]
			l.start = l.end
			return line{text: text, open: true}, nil
		}
		if scanned == len(l.buf) {
			if tooLong := scanned >= MaxLine; tooLong || !wanted(l.buf) {
				return l.discard(tooLong), nil
			}
			l.buf = append(make([]byte, 0, 2*len(l.buf)), l.buf...)
			l.buf = l.buf[:cap(l.buf)]
		}
		l.fill(scanned)
	}
}

// fill moves the unread bytes to the front and reads more.
func (l *lineReader) fill(unread int) {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.start, l.end = 0, unread
	}
	const patience = 100 // reads of nothing, as in bufio
	for range patience {
		var n int
		n, l.err = l.r.Read(l.buf[l.end:])
		l.end += n
		l.read += int64(n)
		if n > 0 || l.err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}

// discard passes over the rest of a line that fills the buffer.
func (l *lineReader) discard(tooLong bool) line {
	const head = 4 << 10
	text := bytes.Clone(l.buf[:head])
	for {
		l.start, l.end = 0, 0
		l.fill(0)
		if i := bytes.IndexByte(l.buf[:l.end], '\n'); i >= 0 {
			l.start = i + 1
			return line{text: text, skipped: true, tooLong: tooLong}
		}
		if l.err != nil {
			l.start, l.end = 0, 0
			return line{text: text, skipped: true, tooLong: tooLong, open: true}
		}
	}
}
