package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	service "github.com/karasu-project/karasu/node/elastic"
	"github.com/karasu-project/karasu/optimizer/elastic"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type elasticReportCmd struct {
	File    string   `arg:"" optional:"" help:"Reports and events in JSON, one a line; - is standard input." placeholder:"FILE"`
	Job     string   `help:"Name of the job; of a file, where its lines name none." placeholder:"NAME"`
	Step    *count   `help:"Global step reached." placeholder:"N"`
	Samples count    `help:"Samples processed so far." placeholder:"N"`
	Speed   *speed   `help:"Global steps a second; 0 while the job pauses." placeholder:"RATE"`
	Workers replicas `help:"Workers that run." placeholder:"N"`
	Servers replicas `help:"Parameter servers that run." placeholder:"N"`
	Event   string   `help:"Instead of a report, what happened: oom, evicted, pending or restarted." words:"oom,evicted,pending,restarted" placeholder:"KIND"`
	Role    string   `help:"Of the pod of an event: worker or ps." words:"worker,ps" placeholder:"NAME"`
	Pod     string   `help:"Pod of an event." placeholder:"NAME"`
	Pods    replicas `help:"Pods that were evicted or are pending." placeholder:"N"`
	Memory  byteSize `help:"Limit of the pod that ran out of memory: 8GiB." placeholder:"SIZE"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (elasticReportCmd) Help() string {
	return `A report that was taken before, or is older than one that was, changes nothing. A file is taken
as a whole or, where a line is wrong, not at all. The fields of a line:

  {"job":"cnn-7","time":"2026-03-01T12:00:00Z","step":1200,"steps_per_second":19.5,"workers":4,
   "servers":1,"pods":[{"name":"cnn-7-ps-0","role":"ps","cpu":3.9,"cpu_limit":4,"memory":6e9}]}
  {"job":"cnn-7","kind":"oom","role":"worker","pod":"cnn-7-worker-2","memory":8589934592}

Also: samples, seconds (that the speed was measured over), and of pods memory_limit and step_seconds. Without a time
it is now.

Examples:

  karasu elastic report --job cnn-7 --step 1200 --speed 19.5 --workers 4 --servers 1
  karasu elastic report reports.jsonl
  karasu elastic report --job cnn-7 --event oom --role worker --memory 8GiB`
}

// speed in steps a second.
type speed float64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *speed) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("must be steps a second, such as 19.5, or 0: %q", text)
	}
	*s = speed(v)
	return nil
}

// news is what is to be told.
func (c elasticReportCmd) news(a *app) (service.News, error) {
	flags := c.Step != nil || c.Speed != nil || c.Samples > 0 || c.Workers+c.Servers+c.Pods > 0 || c.Role != "" || c.Pod != "" || c.Memory > 0
	now := a.now()
	switch {
	case c.File != "" && (flags || c.Event != ""):
		return service.News{}, usagef("a file excludes all flags but --job")
	case c.File != "":
		return c.read(a, now)
	case c.Job == "":
		return service.News{}, usagef("say which job: --job NAME, or name a file of reports")
	case c.Event != "" && (c.Step != nil || c.Speed != nil || c.Samples > 0 || c.Workers+c.Servers > 0):
		return service.News{}, usagef("--event takes --role, --pod, --pods and --memory only; report the rest apart")
	case c.Event != "":
		e := elastic.Event{
			Job: c.Job, Time: now, Kind: elastic.EventKind(c.Event), Role: elastic.Role(c.Role), Pod: c.Pod,
			Pods: int(c.Pods), Memory: float64(c.Memory),
		}
		return service.News{Events: []elastic.Event{e}}, wrongUse(e.Validate())
	case c.Step == nil || c.Speed == nil || c.Workers == 0:
		return service.News{}, usagef("a report needs --step, --speed and --workers; or name a file, or what happened with --event")
	case c.Role != "" || c.Pod != "" || c.Pods > 0 || c.Memory > 0:
		return service.News{}, usagef("--role, --pod, --pods and --memory are for --event")
	}
	r := elastic.Report{
		Job: c.Job, Time: now, Step: int64(*c.Step), Samples: float64(c.Samples), StepsPerSecond: float64(*c.Speed),
		Workers: int(c.Workers), Servers: int(c.Servers),
	}
	return service.News{Reports: []elastic.Report{r}}, wrongUse(r.Validate())
}

func wrongUse(err error) error {
	if err == nil {
		return nil
	}
	return usagef("%w", err)
}

// read takes a file or standard input.
func (c elasticReportCmd) read(a *app, now time.Time) (service.News, error) {
	in, name := a.stdin, "standard input"
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return service.News{}, wrongUse(err)
		}
		defer func() { _ = f.Close() }()
		in, name = f, c.File
	}
	news, err := service.ReadNews(in, name, c.Job, now)
	switch {
	case errors.Is(err, elastic.ErrInvalid):
		return news, wrongUse(err)
	case err == nil && len(news.Reports)+len(news.Events) == 0:
		return news, usagef("%s holds no report", name)
	}
	return news, err
}

// Run tells the daemon.
func (c elasticReportCmd) Run(a *app) error {
	news, err := c.news(a)
	if err != nil {
		return err
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	req := &karasuv1.ReportElasticRequest{}
	for _, r := range news.Reports {
		req.Reports = append(req.Reports, service.FromReport(r))
	}
	for _, e := range news.Events {
		req.Events = append(req.Events, service.FromEvent(e))
	}
	res, err := client.ReportElastic(a.ctx, connect.NewRequest(req))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		m := res.Msg
		fmt.Fprintf(w, "taken %s", number(m.GetTaken()))
		if n := m.GetRepeated(); n > 0 {
			fmt.Fprintf(w, "; %s taken before", number(n))
		}
		if n := m.GetLate(); n > 0 {
			fmt.Fprintf(w, "; %s older than what was taken before", number(n))
		}
		fmt.Fprintln(w)
		for _, d := range m.GetDecisions() {
			fmt.Fprintf(w, "%s: ", clean(d.GetJob()))
			printDecision(w, d)
		}
	})
}
