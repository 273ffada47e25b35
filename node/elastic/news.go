package elastic

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/elastic"
)

const (
	// MaxLine bounds one report in bytes: some 5,000 pods.
	MaxLine = 1 << 20
	// MaxNews bounds how many reports and events are taken at once: a week of one a minute.
	MaxNews = 10_080
)

// ReadNews reads reports and events, one JSON object a line; those with a "kind" are events.
// What names no job is of the given one, and what has no time happened now. Errors begin
// with "name:line: ", say what is wrong there, and wrap elastic.ErrInvalid, or are the
// reader's.
func ReadNews(r io.Reader, name, job string, now time.Time) (News, error) {
	var out News
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if len(out.Reports)+len(out.Events) >= MaxNews {
			return News{}, fmt.Errorf("%s:%d: more than %d reports and events at once: %w", name, n, MaxNews, elastic.ErrInvalid)
		}
		if err := out.add(line, job, now); err != nil {
			return News{}, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return News{}, fmt.Errorf("%s:%d: longer than %d bytes: %w", name, n+1, MaxLine, elastic.ErrInvalid)
	} else if err != nil {
		return News{}, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// add takes one report or event in JSON.
func (n *News) add(raw []byte, job string, now time.Time) error {
	var head struct {
		Kind *string `json:"kind"`
	}
	// What is no object at all fails again below, where the words are better.
	if json.Unmarshal(raw, &head) == nil && head.Kind != nil {
		var e elastic.Event
		if err := decodeStrict(raw, &e); err != nil {
			return err
		}
		e.Job, e.Time = orName(e.Job, job), orNow(e.Time, now)
		n.Events = append(n.Events, e)
		return e.Validate()
	}
	var r elastic.Report
	if err := decodeStrict(raw, &r); err != nil {
		return err
	}
	r.Job, r.Time = orName(r.Job, job), orNow(r.Time, now)
	n.Reports = append(n.Reports, r)
	return r.Validate()
}

func orName(name, otherwise string) string {
	if name == "" {
		name = otherwise
	}
	return model.NormalizeName(name)
}

func orNow(t, now time.Time) time.Time {
	if t.IsZero() {
		return now.UTC()
	}
	return t
}

// decodeStrict reads one JSON object without unknown fields: a misspelt one would count as
// missing. Errors are one line and wrap elastic.ErrInvalid.
func decodeStrict(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more than one object")
		}
	}
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind) && kind.Field != "":
		err = fmt.Errorf("%s cannot be a JSON %s", kind.Field, kind.Value)
	case errors.As(err, &kind):
		err = fmt.Errorf("want a JSON object, not a %s", kind.Value)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the JSON object is cut")
	default:
		err = errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return fmt.Errorf("%w: %w", err, elastic.ErrInvalid)
}

// parseNews reads a body: one object, over several lines perhaps, or one a line.
func parseNews(raw []byte, job string, now time.Time) (News, error) {
	var one News
	if err := one.add(bytes.TrimSpace(raw), job, now); err == nil {
		return one, nil
	}
	return ReadNews(bytes.NewReader(raw), "body", job, now)
}

// single is the job that all news are of.
func (n News) single() (id string, ok bool) {
	jobs := map[string]bool{}
	for _, r := range n.Reports {
		id, jobs[r.Job] = r.Job, true
	}
	for _, e := range n.Events {
		id, jobs[e.Job] = e.Job, true
	}
	return id, len(jobs) == 1
}
