// Package sparkhistory takes event logs from a Spark History Server: its list of
// applications, and for each attempt the zip of its event log, which is streamed into
// the parser.
package sparkhistory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/karasu-project/karasu/store/ingest/internal/text"
	"github.com/karasu-project/karasu/store/ingest/spark"
)

// Bounds of what a server may answer.
const (
	// MaxApplications bounds the applications of a list, and the attempts that are kept
	// of it: some 25 MB.
	MaxApplications = 100_000
	// maxList bounds the list, in bytes; one of MaxApplications has a quarter of that. It is
	// read entry by entry, so it need not fit into memory.
	maxList = 256 << 20
	// maxEntry bounds one application with its attempts, in bytes: some 700 attempts.
	maxEntry = 256 << 10
	// maxName bounds an id and what is kept of a name, in bytes.
	maxName = 512
	// maxArchive bounds the zip of one log, in bytes.
	maxArchive = 64 << 30
	// listTimeout bounds the wait for the list; a server that has just started reads
	// all logs first.
	listTimeout = 5 * time.Minute
	// idleTimeout bounds the wait for the next bytes of a log.
	idleTimeout = 2 * time.Minute
)

// Errors that say why a server cannot be read.
var (
	// ErrNoServer says that what answers is no History Server.
	ErrNoServer = errors.New("is no Spark History Server")
	// ErrRefused says that the server wants credentials.
	ErrRefused = errors.New("refuses to answer")
	// ErrGone says that the server has no log of an attempt (any more).
	ErrGone = errors.New("has no log of it")
)

// Client reads one server. It is safe for concurrent use.
type Client struct {
	// base ends in /api/v1.
	base string
	http *http.Client
	// header is sent with every request.
	header http.Header
}

// New returns a client of the server at an address such as http://history:18080, or of a
// proxy's path to it. Header is sent with every request, as for a proxy that wants a
// token; it may be nil.
func New(address string, header http.Header, transport http.RoundTripper) (*Client, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the server must look like http://history.example.org:18080: %q", address)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the server's address must end before ? and #: %q", address)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/api/v1") + "/api/v1"
	return &Client{base: u.String(), http: &http.Client{Transport: transport}, header: header}, nil
}

// Attempt is one attempt of an application that has ended.
type Attempt struct {
	// ApplicationID and Name are the application's. ID is empty where the application
	// has no numbered attempts.
	ApplicationID, Name, ID string
	// Start is when it began, End when it ended.
	Start, End time.Time
}

// Origin is that of the execution that its log holds.
func (a Attempt) Origin() string { return spark.Origin(a.ApplicationID, a.ID, a.Start) }

// Label names the attempt for people.
func (a Attempt) Label() string {
	if a.ID == "" {
		return a.ApplicationID
	}
	return a.ApplicationID + "/" + a.ID
}

type application struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Attempts []struct {
		ID         string `json:"attemptId"`
		StartTime  string `json:"startTime"`
		EndTime    string `json:"endTime"`
		StartEpoch int64  `json:"startTimeEpoch"`
		EndEpoch   int64  `json:"endTimeEpoch"`
		Completed  bool   `json:"completed"`
	} `json:"attempts"`
}

// Completed lists the attempts that have ended at or after a time (zero is all), at most
// so many of the latest (0 is all), in the server's order: the latest first.
func (c *Client) Completed(ctx context.Context, since time.Time, limit int) ([]Attempt, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	query := url.Values{"status": {"completed"}}
	if !since.IsZero() {
		query.Set("minEndDate", since.UTC().Format("2006-01-02T15:04:05.000GMT"))
	}
	if limit > 0 {
		query.Set("limit", fmt.Sprint(limit))
	}
	res, err := c.get(ctx, "/applications?"+query.Encode())
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // only read
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "application/json" {
		return nil, fmt.Errorf("%s %w: it answers with %s; give the address of its web page, such as http://history:18080", c.base, ErrNoServer, named(kind))
	}
	out, err := readList(res.Body, since)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("%s: the list of applications did not come: %w", c.base, ctx.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("%s %w: its list of applications cannot be read: %w", c.base, ErrNoServer, err)
	}
	return out, nil
}

// readList reads applications one by one and keeps the attempts that have ended since.
func readList(r io.Reader, since time.Time) ([]Attempt, error) {
	body := &limited{r: &limited{r: r, left: maxList}, left: maxEntry}
	d := json.NewDecoder(body)
	begin, err := d.Token()
	if err != nil {
		return nil, err
	}
	if begin != json.Delim('[') {
		return nil, errors.New("it is no list")
	}
	var out []Attempt
	for n := 1; d.More(); n++ {
		if n > MaxApplications {
			return nil, fmt.Errorf("it has more than %d applications; ask for fewer with --since or --limit", MaxApplications)
		}
		var app application
		if err := d.Decode(&app); err != nil {
			return nil, fmt.Errorf("application %d: %w", n, err)
		}
		body.left = maxEntry
		for _, at := range app.Attempts {
			a := Attempt{ApplicationID: app.ID, Name: text.Clip(app.Name, maxName), ID: at.ID, Start: moment(at.StartEpoch, at.StartTime), End: moment(at.EndEpoch, at.EndTime)}
			if !at.Completed || a.End.Before(since) {
				continue
			}
			if app.ID == "" || len(app.ID) > maxName || len(at.ID) > maxName {
				return nil, fmt.Errorf("application %d, %q, has an attempt %q", n, text.Clip(app.ID, 60), text.Clip(at.ID, 60))
			}
			if out = append(out, a); len(out) > MaxApplications {
				return nil, fmt.Errorf("it has more than %d attempts; ask for fewer with --since or --limit", MaxApplications)
			}
		}
	}
	_, err = d.Token()
	return out, err
}

// moment prefers the number, which servers before 2.0 do not give. An attempt that has
// not ended has -1 and a text of 1969.
func moment(epoch int64, text string) time.Time {
	if epoch > 0 {
		return time.UnixMilli(epoch).UTC()
	}
	t, err := time.Parse("2006-01-02T15:04:05.000MST", text)
	if err != nil || t.Year() < 1990 {
		return time.Time{}
	}
	return t.UTC()
}

// get asks for a path. What is no success is an error that says what to do.
func (c *Client) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.base, err)
	}
	for k, v := range c.header {
		req.Header[k] = v
	}
	res, err := c.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // it would repeat the address
		}
		return nil, fmt.Errorf("%s is not reachable: %w", c.base, err)
	}
	switch s := res.StatusCode; {
	case s == http.StatusOK:
		return res, nil
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		err = fmt.Errorf("%s %w (%s): it wants credentials; give them with --header", c.base, ErrRefused, res.Status)
	case s == http.StatusNotFound && !strings.HasPrefix(path, "/applications?"):
		err = fmt.Errorf("%s %w", c.base, ErrGone)
	case s == http.StatusNotFound:
		err = fmt.Errorf("%s %w (%s); give the address of its web page, such as http://history:18080", c.base, ErrNoServer, res.Status)
	default:
		err = fmt.Errorf("%s answers %s", c.base, res.Status)
	}
	_ = res.Body.Close() // only read
	return nil, err
}

// limited fails where a body is longer than it may be.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errors.New("the answer is too long")
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

func named(kind string) string {
	if kind == "" {
		return "something without a type"
	}
	return kind
}
