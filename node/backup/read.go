package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Visitor is given the contents of a backup, in order. What it gets is not proved until
// [Read] has returned nil. Its errors end the reading and are returned as they are.
type Visitor struct {
	Manifest func(Manifest) error
	File     func(part Part, name string, data []byte) error
	// Private and Commons get the databases. What they leave is read all the same.
	Private, Commons func(r io.Reader) error
}

// Read reads a backup whole and verifies it. Nothing in it is trusted: names, sizes and
// numbers are bounded, and every checksum is compared. Errors about the file wrap
// [ErrDamaged].
func Read(r io.Reader, v Visitor) error {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return damaged("it does not begin as a gzip file: %w", err)
	}
	a := &reader{tar: tar.NewReader(zip)}
	if err := a.next(); err != nil {
		return err
	}
	if err := a.manifest(v); err != nil {
		return err
	}
	for files := 0; a.isFile(); files++ {
		if files == maxFiles {
			return damaged("it holds more than %d files", maxFiles)
		}
		if err := a.file(v); err != nil {
			return err
		}
	}
	for _, db := range []struct {
		name  string
		visit func(io.Reader) error
	}{{"private", v.Private}, {"commons", v.Commons}} {
		parts := &partReader{a: a, name: db.name}
		if a.name != partName(db.name, 0) {
			return damaged("the %s database is missing; it goes on with %q", db.name, clip(a.name))
		}
		if err := db.visit(parts); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, parts); err != nil {
			return err
		}
	}
	if err := a.finish(); err != nil {
		return err
	}
	// The tar format ends before the file does, and gzip's own checksum is at the end.
	n, err := io.Copy(io.Discard, io.LimitReader(zip, partSize))
	if err == nil && n == partSize {
		err = errors.New("it goes on after its end")
	}
	if err != nil {
		return damaged("%w", err)
	}
	return nil
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, args...))
}

// clip shortens what a file says.
func clip(s string) string { return s[:min(len(s), 60)] }

// reader reads entries one after the other and notes their checksums.
type reader struct {
	tar  *tar.Reader
	name string
	size int64
	sums bytes.Buffer
}

// next goes to the next entry.
func (a *reader) next() error {
	h, err := a.tar.Next()
	switch {
	case errors.Is(err, io.EOF):
		return damaged("it ends without %s: it is cut", sumsName)
	case err != nil:
		return damaged("%w", err)
	case h.Typeflag != tar.TypeReg:
		return damaged("entry %q is no file", clip(h.Name))
	}
	a.name, a.size = h.Name, h.Size
	return nil
}

// data reads the entry and goes to the next one.
func (a *reader) data(most int64) ([]byte, error) {
	if a.size > most {
		return nil, damaged("entry %q has %d bytes, at most %d", clip(a.name), a.size, most)
	}
	b := make([]byte, a.size)
	if _, err := io.ReadFull(a.tar, b); err != nil {
		return nil, damaged("entry %q: %w", clip(a.name), err)
	}
	fmt.Fprintf(&a.sums, "%x  %s\n", sha256.Sum256(b), a.name)
	if a.sums.Len() > maxSums {
		return nil, damaged("it has too many entries")
	}
	return b, a.next()
}

func (a *reader) manifest(v Visitor) error {
	if a.name != manifestName {
		return damaged("it begins with %q, not with %s", clip(a.name), manifestName)
	}
	b, err := a.data(partSize)
	if err != nil {
		return err
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return damaged("%s: %w", manifestName, err)
	}
	if m.Format < 1 || m.Format > Format {
		return damaged("its format is %d, and this program reads up to %d; restore it with the version that wrote it", m.Format, Format)
	}
	return v.Manifest(m)
}

func (a *reader) isFile() bool {
	part, _, _ := strings.Cut(a.name, "/")
	return Part(part) == Config || Part(part) == Data
}

func (a *reader) file(v Visitor) error {
	part, name, _ := strings.Cut(a.name, "/")
	if !ValidFileName(name) {
		return damaged("a file cannot be called %q", clip(a.name))
	}
	b, err := a.data(maxFile)
	if err != nil {
		return err
	}
	return v.File(Part(part), name, b)
}

// finish compares the checksums.
func (a *reader) finish() error {
	if a.name != sumsName {
		return damaged("unknown entry %q", clip(a.name))
	}
	if a.size > maxSums {
		return damaged("%s has %d bytes", sumsName, a.size)
	}
	said, err := io.ReadAll(a.tar)
	if err != nil {
		return damaged("%s: %w", sumsName, err)
	}
	if !bytes.Equal(said, a.sums.Bytes()) {
		return damaged("the checksums do not fit its contents")
	}
	if _, err := a.tar.Next(); !errors.Is(err, io.EOF) {
		return damaged("something follows %s", sumsName)
	}
	return nil
}

// partReader is one database, put together from its parts.
type partReader struct {
	a    *reader
	name string
	n    int
	left []byte
}

func (p *partReader) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		if p.a.name != partName(p.name, p.n) {
			return 0, io.EOF
		}
		p.n++
		data, err := p.a.data(partSize)
		if err != nil {
			return 0, err
		}
		if len(data) == 0 {
			return 0, damaged("an empty part of the %s database", p.name)
		}
		p.left = data
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}
