// Package rest asks services for JSON documents, with bounds on time and size, and
// without passwords in its errors.
package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// DefaultTimeout bounds one request.
const DefaultTimeout = 30 * time.Second

// MaxAnswer bounds an answer, in bytes: 500 samples of 2,000 nodes from Prometheus. It
// is held in memory together with what it says.
const MaxAnswer = 32 << 20

// ErrAddress says that an address is none of a service.
var ErrAddress = errors.New("must look like http://host:port")

// Options of a [Client]. The zero value is good.
type Options struct {
	// Header is sent with every request, such as an authorisation.
	Header http.Header
	// Timeout of a request; 0 is [DefaultTimeout].
	Timeout time.Duration
	// HTTP sends the requests; nil is a client of its own, which follows a few
	// redirects to the same host.
	HTTP *http.Client
}

// Client asks one service. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	options Options
}

// New returns a client of the service at an address; what it is completes "the address
// of ...". It does not connect yet.
func New(address, service string, o Options) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the address of %s %w", service, ErrAddress) // without it: it may hold a password
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if req.URL.Host != via[0].URL.Host || len(via) > 3 {
				return http.ErrUseLastResponse
			}
			return nil
		}}
	}
	return &Client{base: u, options: o}, nil
}

// URL returns the address of a path for messages, without a password.
func (c *Client) URL(path ...string) string {
	return strings.TrimSuffix(c.base.JoinPath(path...).Redacted(), "/")
}

// AnswerError says that the service answered, but not with what was asked for.
type AnswerError struct {
	// Status is that of HTTP.
	Status int
	// Body is the beginning of an answer that is not OK, for who knows its form.
	Body []byte
	text string
}

// Error implements error. It names the address.
func (e *AnswerError) Error() string { return e.text }

// Get asks for a JSON document. Its error is an [*AnswerError] where the service
// answers.
func (c *Client) Get(ctx context.Context, path string, query url.Values, into any) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	u := c.base.JoinPath(path)
	name := u.Redacted()
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fmt.Errorf("%s: %w", name, ErrAddress)
	}
	maps.Copy(req.Header, c.options.Header)
	res, err := c.options.HTTP.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // it names the address, with its password
		}
		return fmt.Errorf("%s does not answer: %w", name, err)
	}
	defer res.Body.Close() //nolint:errcheck // only read
	answer := func(format string, args ...any) *AnswerError {
		return &AnswerError{Status: res.StatusCode, text: strings.Join(strings.Fields(name+" answers "+fmt.Sprintf(format, args...)), " ")}
	}
	limit := int64(MaxAnswer)
	if res.StatusCode != http.StatusOK {
		limit = 4096
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case res.StatusCode != http.StatusOK:
		e := answer("%d %s", res.StatusCode, http.StatusText(res.StatusCode))
		e.Body = b
		return e
	case err != nil:
		return fmt.Errorf("%s breaks off: %w", name, err)
	case int64(len(b)) > limit:
		return answer("with more than %d MiB", MaxAnswer>>20)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return answer("with JSON of another form: %v", err)
	}
	return nil
}
