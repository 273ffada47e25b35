package spark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/spark/codec"
)

// MaxLogBytes bounds a log's decompressed size: a terabyte is no event log, but a few
// megabytes that were compressed to deceive.
const MaxLogBytes = 1 << 40

// Options of reading. The zero value is good.
type Options struct {
	// Progress is called now and then with the bytes read since the last call, as
	// stored (compressed); nil is none.
	Progress func(n int)
	// Planned adds the stages of running jobs that have not been submitted, as the jobs
	// name them: without outcome and amounts, at the end of the log. It is for decisions
	// while an application runs; what is stored tells what ran.
	Planned bool
}

// Read reads the log into an execution. What is not an event log, or has nothing in it
// that tells an application, is an [*ingest.Problem]; any other error is of reading the
// files or of the context.
func (l Log) Read(ctx context.Context, o Options) (*model.Execution, error) {
	if len(l.parts) == 0 {
		return nil, &ingest.Problem{File: l.Name, Text: "holds only a status and no events: the log was deleted or not written yet"}
	}
	r := reader{ctx: ctx, options: o, parser: NewParser()}
	r.parser.version, r.parser.planned = l.version, o.Planned
	for _, p := range l.parts {
		r.cut = r.cut || p.gap
		if err := r.part(l, p); err != nil {
			return nil, err
		}
	}
	return r.execution(l.Name, l.notes)
}

// ReadStream reads one file from a stream, such as a download. The name is for messages
// and, where the content is too short, for the compression.
func ReadStream(ctx context.Context, in io.Reader, name string, o Options) (*model.Execution, error) {
	r := reader{ctx: ctx, options: o, parser: NewParser()}
	r.parser.planned = o.Planned
	if err := r.stream(in, name); err != nil {
		return nil, err
	}
	return r.execution(name, nil)
}

// reader feeds a parser.
type reader struct {
	ctx     context.Context //nolint:containedctx // lives for one log
	options Options
	parser  *Parser
	bytes   int64
	cut     bool
	notes   []string
}

func (r *reader) part(l Log, p part) error {
	f, err := l.fsys.Open(p.name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	return r.stream(f, p.name)
}

// source is the stored stream: it counts, and keeps its error apart from those of a
// decoder.
type source struct {
	r        io.Reader
	ctx      context.Context //nolint:containedctx // lives for one stream
	progress func(int)
	err      error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	if n > 0 && s.progress != nil {
		s.progress(n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// stream reads one file. Where it is broken it ends there, which is noted.
func (r *reader) stream(in io.Reader, name string) error {
	src := &source{r: in, ctx: r.ctx, progress: r.options.Progress}
	rc, compression, err := codec.NewReader(src, name)
	if src.err != nil {
		return src.err
	}
	if err != nil {
		r.brokenOff(compression, err)
		return nil
	}
	defer rc.Close() //nolint:errcheck // only read
	err = r.lines(rc)
	switch {
	case src.err != nil:
		return src.err
	case err == nil, errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, codec.ErrCorrupt):
		r.brokenOff(compression, err)
		return nil
	}
	return err
}

func (r *reader) brokenOff(compression codec.Name, err error) {
	r.cut = true
	if errors.Is(err, io.ErrUnexpectedEOF) {
		r.notes = append(r.notes, fmt.Sprintf("a %s file ends in the middle; what comes before is kept", compression))
		return
	}
	r.notes = append(r.notes, fmt.Sprintf("%v; what comes before is kept", err))
}

var errTooLong = fmt.Errorf("%w: more than %d bytes decompressed", codec.ErrCorrupt, int64(MaxLogBytes))

func (r *reader) lines(in io.Reader) error {
	lr := newLineReader(in)
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		ln, err := lr.next(Wanted)
		if err != nil {
			r.bytes += lr.read
			return err
		}
		if r.bytes+lr.read > MaxLogBytes {
			return errTooLong
		}
		switch {
		case ln.tooLong:
			r.parser.quality.BadLines++
		case ln.open && (ln.skipped || !whole(ln.text)):
			r.cut = true
			r.notes = append(r.notes, "the last line is cut; what comes before is kept")
		default:
			r.parser.Line(ln.text)
		}
	}
}

// execution ends the reading of a log.
func (r *reader) execution(name string, notes []string) (*model.Execution, error) {
	e, err := r.parser.Execution()
	if err != nil {
		text := err.Error()
		if r.cut && len(r.notes) > 0 && errors.Is(err, ErrNoEvents) {
			text = "holds no Spark event that can be read: " + r.notes[0]
		}
		return nil, &ingest.Problem{File: name, Text: text}
	}
	e.Quality.Bytes, e.Quality.Cut = r.bytes, r.cut
	e.Quality.Notes = slices.Concat(notes, r.notes, e.Quality.Notes)
	e.Quality.Notes = e.Quality.Notes[:min(len(e.Quality.Notes), model.MaxNotes)]
	return e, nil
}
