package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// File is a file that goes into a backup.
type File struct {
	Part Part
	Name string
	Path string
}

// Source is what a backup is made of.
type Source struct {
	Manifest Manifest
	Files    []File
	// Private and Commons write the databases.
	Private, Commons func(ctx context.Context, w io.Writer) error
}

// Write writes a backup. It reads files one at a time and databases in parts, so that
// it needs a few MiB whatever their size.
func Write(ctx context.Context, w io.Writer, s Source) error {
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	s.Manifest.Format = Format
	a := &writer{tar: tar.NewWriter(zip), at: s.Manifest.Created.UTC().Truncate(time.Second)}
	manifest, err := json.MarshalIndent(s.Manifest, "", "  ")
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := a.add(manifestName, append(manifest, '\n')); err != nil {
		return err
	}
	for _, f := range s.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.file(f); err != nil {
			return err
		}
	}
	for _, db := range []struct {
		name  string
		write func(context.Context, io.Writer) error
	}{{"private", s.Private}, {"commons", s.Commons}} {
		parts := &partWriter{a: a, name: db.name}
		if err := errors.Join(db.write(ctx, parts), parts.flush()); err != nil {
			return err
		}
	}
	if err := a.add(sumsName, a.sums.Bytes()); err != nil {
		return err
	}
	if err := errors.Join(a.tar.Close(), zip.Close()); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// writer adds entries and keeps their checksums.
type writer struct {
	tar  *tar.Writer
	at   time.Time
	sums bytes.Buffer
}

func (a *writer) add(name string, data []byte) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(data)), ModTime: a.at, Format: tar.FormatPAX}
	if err := a.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if _, err := a.tar.Write(data); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	fmt.Fprintf(&a.sums, "%x  %s\n", sha256.Sum256(data), name)
	return nil
}

// file adds a file as it is now. One that is gone is left out.
func (a *writer) file(f File) error {
	if !ValidFileName(f.Name) {
		return fmt.Errorf("backup: a file cannot be called %q", f.Name)
	}
	in, err := os.Open(f.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer func() { _ = in.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return fmt.Errorf("backup: %w", err)
	case len(data) > maxFile:
		return fmt.Errorf("backup: %s has more than %d MB; move it out of the home", f.Path, maxFile>>20)
	}
	return a.add(string(f.Part)+"/"+f.Name, data)
}

// partWriter cuts a database into entries.
type partWriter struct {
	a    *writer
	name string
	n    int
	buf  []byte
}

func (p *partWriter) Write(b []byte) (int, error) {
	written := len(b)
	for len(b) > 0 {
		n := min(len(b), partSize-len(p.buf))
		p.buf = append(p.buf, b[:n]...)
		b = b[n:]
		if len(p.buf) == partSize {
			if err := p.flush(); err != nil {
				return 0, err
			}
		}
	}
	return written, nil
}

func (p *partWriter) flush() error {
	if len(p.buf) == 0 {
		return nil
	}
	err := p.a.add(partName(p.name, p.n), p.buf)
	p.n, p.buf = p.n+1, p.buf[:0]
	return err
}

func partName(db string, n int) string { return fmt.Sprintf("%s/%05d", db, n) }
