package flink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/internal/text"
)

// Bounds of a file.
const (
	// MaxBytes bounds a file: subtasks take about a KiB each, in three forms.
	MaxBytes = 2 << 30
	// maxPart bounds one document of an archive, and one answer of the REST API.
	maxPart = 64 << 20
)

// Read reads a file: the details of a job, or an archive of the history server. What
// is none of them, or a job that makes no execution, is an [*ingest.Problem]; any
// other error is of reading or of the context. The name is for messages.
func Read(ctx context.Context, in io.Reader, name string) (*model.Execution, error) {
	source := &countingReader{ctx: ctx, r: in}
	j, cut, err := readJob(source)
	if source.err != nil {
		return nil, fmt.Errorf("%s: reading: %w", name, source.err)
	}
	var e *model.Execution
	if err == nil {
		e, err = j.execution()
	}
	if err != nil {
		return nil, &ingest.Problem{File: name, Text: err.Error()}
	}
	e.Quality.Bytes, e.Quality.Cut = source.n, cut
	return e, nil
}

// countingReader keeps the error of the source apart from those of a decoder.
type countingReader struct {
	ctx context.Context //nolint:containedctx // lives for one file
	r   io.Reader
	n   int64
	err error
}

func (c *countingReader) Read(p []byte) (int, error) {
	if c.err = c.ctx.Err(); c.err != nil {
		return 0, c.err
	}
	n, err := c.r.Read(p)
	if c.n += int64(n); c.n > MaxBytes {
		return 0, io.ErrUnexpectedEOF
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// readJob reads the one object of a file field by field, so that an archive need not
// fit into memory. A cut archive is kept as far as it has the job itself.
func readJob(in io.Reader) (j *job, cut bool, err error) {
	d := json.NewDecoder(in)
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false, errNoJob
	}
	j = &job{vertices: make(map[string]vertexDetails)}
	fields := make(map[string]json.RawMessage)
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false, damaged(err)
		}
		if key == "archive" {
			if err := j.archive(d); err != nil {
				if j.details.JID == "" {
					return nil, false, damaged(err)
				}
				return j, true, nil
			}
			continue
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, false, damaged(err)
		}
		if s, ok := key.(string); ok && len(fields) < 100 {
			fields[s] = v
		}
	}
	if j.details.JID != "" {
		return j, false, nil
	}
	b, err := json.Marshal(fields)
	if err != nil {
		return nil, false, damaged(err)
	}
	if err := json.Unmarshal(b, &j.details); err != nil {
		return nil, false, damaged(err)
	}
	return j, false, nil
}

func damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("is cut before the job is told: copy the file again")
	}
	return fmt.Errorf("is not JSON as Flink writes it: %s", strings.Join(strings.Fields(text.Clip(err.Error(), 100)), " "))
}

// archive reads [{"path": ..., "json": "..."}, ...].
func (j *job) archive(d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errNoJob
	}
	for d.More() {
		var part struct {
			Path string `json:"path"`
			JSON string `json:"json"`
		}
		if err := d.Decode(&part); err != nil {
			return err
		}
		if err := j.part(part.Path, part.JSON); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// part takes one document of an archive. What is not used is passed over.
func (j *job) part(path, document string) error {
	id, rest, _ := strings.Cut(strings.TrimPrefix(path, "/jobs/"), "/")
	if !strings.HasPrefix(path, "/jobs/") || !validID(id) || len(document) > maxPart {
		return nil
	}
	var err error
	switch vertex, isVertex := strings.CutPrefix(rest, "vertices/"); {
	case rest == "":
		if j.details.JID != "" && j.details.JID != id {
			return fmt.Errorf("holds two jobs: %s and %s", j.details.JID, id)
		}
		err = json.Unmarshal([]byte(document), &j.details)
	case rest == "config":
		err = json.Unmarshal([]byte(document), &j.config)
	case isVertex && validID(vertex) && len(j.vertices) < maxVertices:
		var v vertexDetails
		if err = json.Unmarshal([]byte(document), &v); err == nil {
			j.vertices[vertex] = v
		}
	}
	return err
}
