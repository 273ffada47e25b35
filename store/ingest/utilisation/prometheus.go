package utilisation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/karasu-project/karasu/store/ingest/internal/rest"
)

// Defaults of a [Prometheus].
const (
	// DefaultRate is the time over which a query takes a rate: four scrapes at the
	// usual 15 s, so that a lost one leaves no hole.
	DefaultRate = time.Minute
	// DefaultPoints is the number of samples of a node in a run, at most. Servers give
	// up to 11,000.
	DefaultPoints = 500
	// minStep is the least time between samples.
	minStep = 15 * time.Second
)

// Errors of asking a server.
var (
	// ErrQuery says that a query does not fit.
	ErrQuery = errors.New("unusable query")
	// ErrShort says that a run is too short for a rate.
	ErrShort = errors.New("is too short")
)

// DefaultQueries returns queries of node_exporter's metrics, for each resource a share
// an instance. $instances stands for the matcher of the nodes, $rate for the time over
// which rates are taken.
//
//   - CPU: what is neither idle, nor waits for a disk, nor is given to others.
//   - Memory: what is not available for new use.
//   - Disk: the share of time in which the busiest disk did something.
//   - Network: the busiest direction of the busiest interface over its speed. Where
//     the speed is unknown there is no answer.
func DefaultQueries() map[Resource]string {
	const network = `rate(node_network_%[1]s_bytes_total{device!~"lo|veth.*|docker.*|br-.*|virbr.*|cni.*|cali.*|flannel.*",$instances}[$rate]) / (node_network_speed_bytes{$instances} > 0)`
	return map[Resource]string{
		CPU: `1 - sum by (instance) (rate(node_cpu_seconds_total{mode=~"idle|iowait|steal",$instances}[$rate]))` +
			` / count by (instance) (node_cpu_seconds_total{mode="idle",$instances})`,
		Memory: `1 - node_memory_MemAvailable_bytes{$instances} / node_memory_MemTotal_bytes{$instances}`,
		Disk:   `max by (instance) (rate(node_disk_io_time_seconds_total{device!~"loop.*|ram.*|zram.*|sr.*|fd.*",$instances}[$rate]))`,
		Network: `max by (instance) (label_replace(` + fmt.Sprintf(network, "receive") + `, "direction", "receive", "", "")` +
			` or label_replace(` + fmt.Sprintf(network, "transmit") + `, "direction", "transmit", "", ""))`,
	}
}

// PrometheusOptions of a [Prometheus]. The zero value is good.
type PrometheusOptions struct {
	// Instances are regular expressions of the nodes' instance labels, such as
	// "node[0-9]+:9100"; without any all instances count.
	Instances []string
	// Queries replace those of [DefaultQueries]; an empty one leaves the resource out.
	// Each must give shares from 0 to 1.
	Queries map[Resource]string
	// Rate is the time over which rates are taken; 0 is [DefaultRate].
	Rate time.Duration
	// Header is sent with every request, such as an authorisation.
	Header http.Header
	// Timeout of a request; 0 is 30 s.
	Timeout time.Duration
	// HTTP sends the requests; nil is a client of its own.
	HTTP *http.Client
}

// Prometheus asks a server with Prometheus's API for what runs used. It is safe for
// concurrent use.
type Prometheus struct {
	rest    *rest.Client
	queries map[Resource]string
	rate    time.Duration
}

// NewPrometheus returns a client of the server at an address such as
// http://prometheus:9090. It does not connect yet. Its error wraps [ErrQuery] where a
// query is none.
func NewPrometheus(address string, o PrometheusOptions) (*Prometheus, error) {
	c, err := rest.New(address, "Prometheus", rest.Options{Header: o.Header, Timeout: o.Timeout, HTTP: o.HTTP})
	if err != nil {
		return nil, err
	}
	if o.Rate == 0 {
		o.Rate = DefaultRate
	}
	if o.Rate < time.Second || o.Rate > time.Hour || o.Rate%time.Second != 0 {
		return nil, fmt.Errorf("%w: the rate must be between 1 s and 1 h, in seconds: %s", ErrQuery, o.Rate)
	}
	p := &Prometheus{rest: c, queries: DefaultQueries(), rate: o.Rate}
	maps.Copy(p.queries, o.Queries)
	instances := ".+"
	if len(o.Instances) > 0 {
		instances = strings.Join(o.Instances, "|")
	}
	fill := strings.NewReplacer("$instances", "instance=~"+strconv.Quote(instances))
	for r, q := range p.queries {
		if len(q) > 4096 {
			return nil, fmt.Errorf("%w: that of %s is longer than 4096 bytes", ErrQuery, r)
		}
		p.queries[r] = fill.Replace(q)
	}
	return p, nil
}

// Of returns what the nodes used in the window. A resource without an answer is left
// out with a reason; a server that cannot be asked, or an answer that is no share, is
// an error.
func (p *Prometheus) Of(ctx context.Context, w Window) (Summary, error) {
	if !w.End.After(w.Start) {
		return Summary{}, ErrWindow
	}
	// Every sample looks back over the step before it, and all of them lie in the run.
	step := max(minStep, time.Duration(math.Ceil(w.Seconds()/DefaultPoints))*time.Second)
	rate := max(p.rate, step)
	if w.End.Sub(w.Start) < rate {
		return Summary{}, fmt.Errorf("the run of %.0f s %w: the %s over which rates are taken; ask for a shorter rate", w.Seconds(), ErrShort, rate)
	}
	u := newUsage()
	for _, r := range Resources() {
		if p.queries[r] == "" {
			continue
		}
		if err := p.ask(ctx, u, r, w.Start.Add(rate), w.End, step, rate); err != nil {
			return Summary{}, err
		}
	}
	return u.Of(w), nil
}

// matrix is the answer to a range query.
type matrix struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		Type   string `json:"resultType"`
		Result []struct {
			Metric map[string]string    `json:"metric"`
			Values [][2]json.RawMessage `json:"values"`
		} `json:"result"`
	} `json:"data"`
}

func (p *Prometheus) ask(ctx context.Context, u *Usage, r Resource, start, end time.Time, step, rate time.Duration) error {
	query := strings.ReplaceAll(p.queries[r], "$rate", fmt.Sprintf("%ds", int(rate.Seconds())))
	seconds := func(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }
	var m matrix
	err := p.rest.Get(ctx, "api/v1/query_range", url.Values{
		"query": {query}, "start": {seconds(start)}, "end": {seconds(end)}, "step": {strconv.Itoa(int(step.Seconds()))},
	}, &m)
	var answer *rest.AnswerError
	if errors.As(err, &answer) && json.Unmarshal(answer.Body, &m) == nil && m.Error != "" {
		return fmt.Errorf("%w: Prometheus refuses that of %s: %.200q", ErrQuery, r, m.Error)
	}
	switch {
	case err != nil:
		return fmt.Errorf("ask for %s: %w", r, err)
	case m.Status != "success" || m.Data.Type != "matrix":
		return fmt.Errorf("%s answers with no matrix: is it Prometheus, and the query of %s one of instant vectors?", p.rest.URL(), r)
	}
	for i, series := range m.Data.Result {
		name := series.Metric["instance"]
		if name == "" {
			name = fmt.Sprintf("series %d", i+1)
		}
		node := u.node(name)
		for _, v := range series.Values {
			at, share, err := point(v)
			if err != nil {
				return fmt.Errorf("%s answers with a sample of %s that is none: %w", p.rest.URL(), r, err)
			}
			if math.IsNaN(share) {
				continue
			}
			if !(share >= -0.25 && share <= 1.25) { // rounding and late scrapes reach a little over
				return fmt.Errorf("%w: that of %s gives %g, want shares from 0 to 1", ErrQuery, r, share)
			}
			x := sample{node: node, end: at, seconds: float32(step.Seconds()), share: min(1, max(0, share))}
			if at == start.UnixMilli() {
				x.seconds = float32(rate.Seconds())
			}
			if err := u.add(r, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// point reads [1435781430.781, "0.5"].
func point(v [2]json.RawMessage) (ms int64, share float64, err error) {
	var at float64
	var text string
	if err := json.Unmarshal(v[0], &at); err != nil {
		return 0, 0, errors.New("its time is no number")
	}
	if err := json.Unmarshal(v[1], &text); err != nil {
		return 0, 0, errors.New("its value is no text")
	}
	if share, err = strconv.ParseFloat(text, 64); err != nil || !(at > 0 && at < 1<<33) {
		return 0, 0, errors.New("its time or value is no number")
	}
	return int64(at * 1000), share, nil
}
