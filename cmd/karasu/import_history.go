package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/sparkhistory"
)

type importHistoryCmd struct {
	URL    string     `arg:"" name:"url" help:"Address of the server's web page, such as http://history:18080." placeholder:"URL"`
	Since  sinceDay   `help:"Only applications that ended at or after this day, such as 2026-03-01." placeholder:"DATE"`
	Limit  int        `help:"At most so many of the latest applications." placeholder:"N"`
	Header []httpLine `help:"Sent with every request, as for a proxy that wants a token." placeholder:"NAME: VALUE" sep:"none"`
	importFlags
}

// Help implements kong's interface for examples.
func (importHistoryCmd) Help() string {
	return `Asks a Spark History Server for the applications that have ended and for the event log
of each that is not stored yet, so a second import takes only what is new. Otherwise as
karasu import spark.

Examples:

  karasu import spark-history http://history.example.org:18080 --since 2026-03-01
  karasu import spark-history https://proxy/spark --header "Authorization: Bearer ..."`
}

// Run takes the logs that are not stored yet.
func (c importHistoryCmd) Run(a *app) error {
	if c.Limit < 0 {
		return usagef("--limit must be above zero: %d", c.Limit)
	}
	server, err := sparkhistory.New(c.URL, headers(c.Header), nil)
	if err != nil {
		return &usageError{err}
	}
	known, err := c.known(a)
	if err != nil {
		return err
	}
	attempts, err := server.Completed(a.ctx, time.Time(c.Since), c.Limit)
	if err != nil {
		return err
	}
	stored := 0
	var fresh []sparkhistory.Attempt
	for _, at := range attempts {
		if known(at.Origin()) {
			stored++
			continue
		}
		fresh = append(fresh, at)
	}
	if stored > 0 && !c.JSON {
		a.note("%s stored before", plural(stored, "application was", "applications were"))
	}
	return c.importExecutions(a, sparkLogs, true, func(yield func(importItem, error) bool) {
		for _, at := range fresh {
			item := importItem{name: at.Label(), read: func(ctx context.Context, progress func(int)) ([]model.Execution, error) {
				return one(server.Read(ctx, at, progress))
			}}
			if !yield(item, nil) {
				return
			}
		}
	})
}

// known says of an origin whether it is stored and finished. A dry run asks nobody.
func (f importFlags) known(a *app) (func(origin string) bool, error) {
	if f.DryRun {
		return func(string) bool { return false }, nil
	}
	client, err := a.client()
	if err != nil {
		return nil, err
	}
	if _, err := client.Status(a.ctx, connect.NewRequest(&karasuv1.StatusRequest{})); err != nil {
		return nil, err
	}
	return func(origin string) bool {
		res, err := client.GetExecution(a.ctx, connect.NewRequest(&karasuv1.GetExecutionRequest{Origin: origin}))
		return err == nil && res.Msg.GetExecution().GetOutcome() != ""
	}, nil
}

// sinceDay is a date, or a time with its zone.
type sinceDay time.Time

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *sinceDay) UnmarshalText(text []byte) error {
	for _, layout := range []string{"2006-01-02", time.RFC3339} {
		if t, err := time.Parse(layout, string(text)); err == nil {
			*d = sinceDay(t)
			return nil
		}
	}
	return fmt.Errorf("must be a day such as 2026-03-01, or a time such as 2026-03-01T12:00:00Z: %q", text)
}

// httpLine is a header of a request.
type httpLine struct{ name, value string }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *httpLine) UnmarshalText(text []byte) error {
	name, value, ok := strings.Cut(string(text), ":")
	h.name, h.value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || h.name == "" || strings.ContainsAny(h.name+h.value, "\r\n\x00") || strings.ContainsAny(h.name, " \t") {
		return errors.New(`must look like "Authorization: Bearer TOKEN"`)
	}
	return nil
}

func headers(lines []httpLine) http.Header {
	h := http.Header{}
	for _, l := range lines {
		h.Add(l.name, l.value)
	}
	return h
}

// executions makes items of what a service yields: each is read as it comes, so there
// is no telling how many there will be.
func executions(name string, found iter.Seq2[*model.Execution, error]) iter.Seq2[importItem, error] {
	return func(yield func(importItem, error) bool) {
		for e, err := range found {
			var p *ingest.Problem
			if err != nil && !errors.As(err, &p) {
				yield(importItem{}, err)
				return
			}
			label := name
			if p != nil {
				label = p.File
			}
			item := importItem{name: label, read: func(context.Context, func(int)) ([]model.Execution, error) { return one(e, err) }}
			if !yield(item, nil) {
				return
			}
		}
	}
}
