package hadoop

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
)

// Bounds of a history.
const (
	// MaxLine bounds a line in bytes; a longer one is skipped and counted.
	MaxLine = 8 << 20
	// MaxBytes bounds a history: 500,000 tasks take about 5 GB.
	MaxBytes = 16 << 30
)

// Options of reading. The zero value is good.
type Options struct {
	// Progress is called now and then with the bytes read since the last call; nil is
	// none.
	Progress func(n int)
}

// ReadStream reads a history, and the job's configuration where conf is not nil. What
// is no history, or tells no job, is an [*ingest.Problem]; any other error is of
// reading or of the context. The name is for messages.
func ReadStream(ctx context.Context, in io.Reader, name string, conf io.Reader, o Options) (*model.Execution, error) {
	r := reader{ctx: ctx, in: bufio.NewReaderSize(in, 256<<10), progress: o.Progress, job: newJob()}
	if err := r.read(); err != nil {
		var p *ingest.Problem
		if errors.As(err, &p) {
			p.File = name
		}
		return nil, err
	}
	var settings *jobConf
	if conf != nil {
		c, err := readConf(conf)
		if err != nil {
			r.notes = append(r.notes, "the configuration beside it "+err.Error()+", so it is not used")
		}
		settings = c
	}
	e, err := r.job.execution(settings)
	if err != nil {
		return nil, &ingest.Problem{File: name, Text: err.Error()}
	}
	e.Quality.Bytes, e.Quality.BadLines, e.Quality.Cut = r.bytes, r.bad, r.cut
	e.Quality.Notes = append(e.Quality.Notes, r.notes...)
	return e, nil
}

type reader struct {
	ctx      context.Context //nolint:containedctx // lives for one history
	in       *bufio.Reader
	progress func(int)
	job      *job
	bytes    int64
	bad      int
	cut      bool
	notes    []string
}

func (r *reader) read() error {
	for n := 0; ; n++ {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		line, whole, err := r.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 {
			if bytes.HasPrefix(line, []byte("Avro-Binary")) {
				return r.binary()
			}
			if bytes.HasPrefix(line, []byte("Meta VERSION=")) {
				return &ingest.Problem{Text: "is a history of Hadoop 1, which has no containers; only those from 0.23 can be read"}
			}
		}
		if rerr := r.line(bytes.TrimSpace(line), whole, n); rerr != nil {
			return rerr
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
}

// line takes one line; n counts them from 0.
func (r *reader) line(line []byte, whole bool, n int) error {
	switch {
	case len(line) == 0 && whole, n == 0, bytes.HasPrefix(line, []byte(`{"type":"record"`)):
		return nil // the format's name, and the schema
	case len(line) == 0:
		r.bad++ // too long
		return nil
	}
	err := r.job.line(line)
	switch {
	case errors.Is(err, errTooMany):
		return &ingest.Problem{Text: err.Error()}
	case err != nil && !whole:
		r.cut = true
	case err != nil:
		r.bad++
	}
	return nil
}

// next returns a line, and whether it has its end. One that is too long is returned
// empty and as if it had no end. The error of the last line is [io.EOF].
func (r *reader) next() (line []byte, whole bool, err error) {
	long := false
	for {
		part, err := r.in.ReadSlice('\n')
		r.bytes += int64(len(part))
		if r.progress != nil && len(part) > 0 {
			r.progress(len(part))
		}
		switch {
		case r.bytes > MaxBytes:
			return nil, false, r.tooLarge()
		case long:
		case len(line)+len(part) > MaxLine:
			long, line = true, nil
		default:
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if err := r.ctx.Err(); err != nil {
				return nil, false, err
			}
			continue
		case errors.Is(err, io.EOF) && len(line) == 0 && !long:
			return nil, true, io.EOF
		case long:
			return nil, false, err
		case err != nil && !errors.Is(err, io.EOF):
			return nil, false, fmt.Errorf("reading: %w", err)
		}
		return line, err == nil, err
	}
}

func (r *reader) tooLarge() error {
	return &ingest.Problem{Text: fmt.Sprintf("is larger than %d bytes", int64(MaxBytes))}
}
