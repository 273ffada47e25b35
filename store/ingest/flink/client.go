package flink

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/internal/rest"
)

// maxJobs bounds the jobs of one server: job managers keep 500 or so, history servers
// what their disks hold.
const maxJobs = 100_000

// ClientOptions of a [Client]. The zero value is good.
type ClientOptions struct {
	// Known says of an execution's origin that it is imported already, so that the job
	// is not asked for again; nil knows none.
	Known func(origin string) bool
	// Header is sent with every request, such as an authorisation.
	Header http.Header
	// Timeout of a request; 0 is 30 s. Details of a job with 10,000 subtasks take a few
	// seconds to write.
	Timeout time.Duration
	// HTTP sends the requests; nil is a client of its own.
	HTTP *http.Client
}

// Client reads the jobs of a job manager or a history server. It is safe for
// concurrent use.
type Client struct {
	rest  *rest.Client
	known func(string) bool
}

// NewClient returns a client of the REST API at an address such as
// http://jobmanager:8081. It does not connect yet.
func NewClient(address string, o ClientOptions) (*Client, error) {
	r, err := rest.New(address, "Flink", rest.Options{Header: o.Header, Timeout: o.Timeout, HTTP: o.HTTP})
	if err != nil {
		return nil, err
	}
	return &Client{r, o.Known}, nil
}

// Executions yields the jobs that ended and are not known, in the server's order. A
// job that is skipped, or cannot be read, comes as an [*ingest.Problem] in its place,
// and may be asked for again; any other error, as when the server is not there, is the
// last.
func (c *Client) Executions(ctx context.Context) iter.Seq2[*model.Execution, error] {
	return func(yield func(*model.Execution, error) bool) {
		var list overview
		if err := c.rest.Get(ctx, "jobs/overview", nil, &list); err != nil {
			yield(nil, fmt.Errorf("list the jobs of Flink: %w", err))
			return
		}
		if len(list.Jobs) > maxJobs {
			yield(nil, fmt.Errorf("%s lists more than %d jobs", c.rest.URL(), maxJobs))
			return
		}
		var config clusterConfig
		if err := optional(c.rest.Get(ctx, "config", nil, &config)); err != nil {
			yield(nil, err)
			return
		}
		for _, listed := range list.Jobs {
			if c.known != nil && c.known("flink/"+listed.JID) {
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

// optional passes over answers that are not what was asked for: older versions lack
// some.
func optional(err error) error {
	var answer *rest.AnswerError
	if errors.As(err, &answer) {
		return nil
	}
	return err
}

func (c *Client) execution(ctx context.Context, id, state, version string) (*model.Execution, error) {
	if !validID(id) {
		return nil, &ingest.Problem{File: c.rest.URL(), Text: fmt.Sprintf("lists a job with the id %.40q, which is none of Flink", id)}
	}
	problem := func(text string) error { return &ingest.Problem{File: c.rest.URL("jobs", id), Text: text} }
	if !terminal(state) {
		return nil, problem(errRuns.Error())
	}
	j := &job{vertices: make(map[string]vertexDetails), version: version}
	var answer *rest.AnswerError
	if err := c.rest.Get(ctx, "jobs/"+id, nil, &j.details); errors.As(err, &answer) {
		return nil, &ingest.Problem{Text: answer.Error()}
	} else if err != nil {
		return nil, err
	}
	if j.details.JID != id {
		return nil, problem(fmt.Sprintf("is answered with the job %.40q", j.details.JID))
	}
	if _, err := j.execution(); err != nil { // before more is asked for
		return nil, problem(err.Error())
	}
	if err := optional(c.rest.Get(ctx, "jobs/"+id+"/config", nil, &j.config)); err != nil {
		return nil, err
	}
	for _, v := range j.details.Vertices {
		if !validID(v.ID) {
			continue
		}
		var details vertexDetails
		if err := optional(c.rest.Get(ctx, "jobs/"+id+"/vertices/"+v.ID, nil, &details)); err != nil {
			return nil, err
		}
		j.vertices[v.ID] = details
	}
	e, err := j.execution()
	if err != nil {
		return nil, problem(err.Error())
	}
	return e, nil
}
