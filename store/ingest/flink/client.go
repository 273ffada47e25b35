package flink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
)

// DefaultTimeout bounds one request. Details of a job with 10,000 subtasks take a few
// seconds to write.
const DefaultTimeout = 30 * time.Second

// maxJobs bounds the jobs of one server: job managers keep 500 or so, history servers
// what their disks hold.
const maxJobs = 100_000

var errAddress = errors.New("must look like http://jobmanager:8081")

// ClientOptions of a [Client]. The zero value is good.
type ClientOptions struct {
	// Known says of an execution's origin that it is imported already, so that the job
	// is not asked for again; nil knows none.
	Known func(origin string) bool
	// Header is sent with every request, such as an authorisation.
	Header http.Header
	// Timeout of a request; 0 is [DefaultTimeout].
	Timeout time.Duration
	// HTTP sends the requests; nil is a client of its own.
	HTTP *http.Client
}

// Client reads the jobs of a job manager or a history server. It is safe for
// concurrent use.
type Client struct {
	base    *url.URL
	options ClientOptions
}

// NewClient returns a client of the REST API at an address such as
// http://jobmanager:8081. It does not connect yet.
func NewClient(address string, o ClientOptions) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the address of Flink %w", errAddress) // without it: it may hold a password
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{}
	}
	return &Client{base: u, options: o}, nil
}

// Executions yields the jobs that ended and are not known, in the server's order. A
// job that is skipped, or cannot be read, comes as an [*ingest.Problem] in its place,
// and may be asked for again; any other error, as when the server is not there, is the
// last.
func (c *Client) Executions(ctx context.Context) iter.Seq2[*model.Execution, error] {
	return func(yield func(*model.Execution, error) bool) {
		var list overview
		if err := c.get(ctx, "/jobs/overview", &list); err != nil {
			yield(nil, err)
			return
		}
		if len(list.Jobs) > maxJobs {
			yield(nil, fmt.Errorf("%s: lists more than %d jobs", c.base.Redacted(), maxJobs))
			return
		}
		var config clusterConfig
		var answer *answerError
		if err := c.get(ctx, "/config", &config); err != nil && !errors.As(err, &answer) {
			yield(nil, err)
			return
		}
		for _, listed := range list.Jobs {
			if c.options.Known != nil && c.options.Known("flink/"+listed.JID) {
				continue
			}
			e, err := c.execution(ctx, listed.JID, listed.State, config.Version)
			var p *ingest.Problem
			if !yield(e, err) || err != nil && !errors.As(err, &p) {
				return
			}
		}
	}
}

func (c *Client) execution(ctx context.Context, id, state, version string) (*model.Execution, error) {
	problem := func(err error) error {
		return &ingest.Problem{File: c.base.JoinPath("jobs", id).Redacted(), Text: err.Error()}
	}
	if !validID(id) {
		return nil, &ingest.Problem{File: c.base.Redacted(), Text: fmt.Sprintf("lists a job with the id %.40q, which is none of Flink", id)}
	}
	if !terminal(state) {
		return nil, problem(errRuns)
	}
	j := &job{vertices: make(map[string]vertexDetails), version: version}
	var answer *answerError
	if err := c.get(ctx, "/jobs/"+id, &j.details); errors.As(err, &answer) {
		return nil, problem(errors.New(answer.text))
	} else if err != nil {
		return nil, err
	}
	if j.details.JID != id {
		return nil, problem(fmt.Errorf("is answered with the job %.40q", j.details.JID))
	}
	if _, err := j.execution(); err != nil { // before more is asked for
		return nil, problem(err)
	}
	if err := c.get(ctx, "/jobs/"+id+"/config", &j.config); err != nil && !errors.As(err, &answer) {
		return nil, err
	}
	for _, v := range j.details.Vertices {
		if !validID(v.ID) {
			continue
		}
		var details vertexDetails
		if err := c.get(ctx, "/jobs/"+id+"/vertices/"+v.ID, &details); err == nil {
			j.vertices[v.ID] = details
		} else if !errors.As(err, &answer) {
			return nil, err
		}
	}
	e, err := j.execution()
	if err != nil {
		return nil, problem(err)
	}
	return e, nil
}

// answerError says that a server answered, but not with what was asked for.
type answerError struct{ text string }

func (e *answerError) Error() string { return e.text }

// get asks for a JSON document.
func (c *Client) get(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	u := c.base.JoinPath(path)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fmt.Errorf("%s: %w", u.Redacted(), errAddress)
	}
	for k, v := range c.options.Header {
		req.Header[k] = v
	}
	res, err := c.options.HTTP.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // it names the address, with its password
		}
		return fmt.Errorf("%s does not answer: %w", u.Redacted(), err)
	}
	defer res.Body.Close() //nolint:errcheck // only read
	if res.StatusCode != http.StatusOK {
		text := fmt.Sprintf("%s answers %s", u.Redacted(), res.Status)
		if path == "/jobs/overview" {
			return fmt.Errorf("%s: is it Flink's REST API?", text)
		}
		return &answerError{text}
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, maxPart+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s breaks off: %w", u.Redacted(), err)
	case len(b) > maxPart:
		return &answerError{fmt.Sprintf("%s answers with more than %d MiB", u.Redacted(), maxPart>>20)}
	}
	if err := json.Unmarshal(b, into); err != nil {
		return &answerError{strings.ReplaceAll(fmt.Sprintf("%s answers with what is not Flink's JSON: %v", u.Redacted(), err), "\n", " ")}
	}
	return nil
}
