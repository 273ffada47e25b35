package runtable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Bounds of a footer. The library allocates a list before it reads it, with up to
// 600 bytes an element.
const (
	maxFooter = 32 << 20
	// maxList bounds one list, maxElements all lists together: 200 row groups of 2000
	// columns.
	maxList     = 100_000
	maxElements = 500_000
	maxStructs  = 64
)

var errFooter = errors.New("its footer cannot be read")

// checkFooter checks a footer before the library reads it.
func checkFooter(r io.ReaderAt, size int64) error {
	const ends = 12 // the mark at both ends and the footer's length
	var tail [8]byte
	if size < ends {
		return damaged(errors.New("it is too short"))
	}
	if _, err := r.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	if string(tail[4:]) != parquetMagic {
		return damaged(errors.New("its end is missing"))
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > maxFooter || n > size-ends {
		return damaged(errors.New("its footer is too long"))
	}
	b := make([]byte, n)
	if _, err := r.ReadAt(b, size-int64(len(tail))-n); err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	w := thriftWalker{b: b}
	if err := w.structure(0); err != nil {
		return damaged(err)
	}
	return nil
}

// thriftWalker walks over a structure in Thrift's compact protocol and checks that
// lengths in it fit.
type thriftWalker struct {
	b        []byte
	elements int
}

func (w *thriftWalker) skip(n uint64) error {
	if n > uint64(len(w.b)) {
		return errFooter
	}
	w.b = w.b[n:]
	return nil
}

func (w *thriftWalker) byte() (byte, error) {
	if len(w.b) == 0 {
		return 0, errFooter
	}
	v := w.b[0]
	w.b = w.b[1:]
	return v, nil
}

func (w *thriftWalker) varint() (uint64, error) {
	v, n := binary.Uvarint(w.b)
	if n <= 0 {
		return 0, errFooter
	}
	w.b = w.b[n:]
	return v, nil
}

// structure walks over fields: a byte with the type and the step to the next number,
// which follows where the step is 0.
func (w *thriftWalker) structure(depth int) error {
	if depth > maxStructs {
		return errFooter
	}
	for {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 {
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if kind := head & 15; kind > 2 { // truth values are in the head
			if err := w.value(kind, depth); err != nil {
				return err
			}
		}
	}
}

func (w *thriftWalker) value(kind byte, depth int) error {
	switch kind {
	case 1, 2, 3:
		return w.skip(1)
	case 4, 5, 6:
		_, err := w.varint()
		return err
	case 7:
		return w.skip(8)
	case 8:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case 9, 10:
		return w.list(depth)
	case 11:
		return w.dictionary(depth)
	case 12:
		return w.structure(depth + 1)
	case 13:
		return w.skip(16)
	}
	return errFooter
}

func (w *thriftWalker) list(depth int) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	return w.repeat(n, depth, head&15)
}

func (w *thriftWalker) dictionary(depth int) error {
	n, err := w.varint()
	if err != nil || n == 0 {
		return err
	}
	kinds, err := w.byte()
	if err != nil {
		return err
	}
	return w.repeat(n, depth, kinds>>4, kinds&15)
}

func (w *thriftWalker) repeat(n uint64, depth int, kinds ...byte) error {
	if n > maxList || depth > maxStructs {
		return errFooter
	}
	if w.elements += int(n); w.elements > maxElements {
		return errFooter
	}
	for range n {
		for _, kind := range kinds {
			if err := w.value(kind, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
