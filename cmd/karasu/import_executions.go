package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"time"

	"connectrpc.com/connect"
	"github.com/schollz/progressbar/v3"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/proto/karasu/v1/karasuv1connect"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/naming"
	"github.com/karasu-project/karasu/store/wire"
)

const (
	// executionBatch and executionBytes bound one request; one execution alone may
	// have up to wire.MaxExecution.
	executionBatch = 100
	executionBytes = 1 << 20
	// maxShownProblems bounds the lines about files that are skipped.
	maxShownProblems = 20
)

// importFlags are those of every import of executions.
type importFlags struct {
	Infrastructure string `help:"Infrastructure of rules that name none, such as aws-emr." placeholder:"SLUG"`
	MachineType    string `help:"Machine type of the workers; it comes before what the records tell." placeholder:"NAME" xor:"machine"`
	MachineMap     string `help:"File with a line for each machine type: a pattern on host names, and the type." placeholder:"FILE" type:"path" xor:"machine"`
	DryRun         bool   `help:"Read everything and name it by the rules of config.toml, store nothing. Needs no daemon."`
	jsonFlag
}

// importItem is something that executions are read from.
type importItem struct {
	name string
	// bytes as stored, for the progress; 0 is unknown.
	bytes int64
	// read calls progress with the bytes that it has read since the last call.
	read func(ctx context.Context, progress func(int)) ([]model.Execution, error)
}

// skippedItem is a file that holds no execution.
type skippedItem struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// execution is one that was read, and what became of it.
type importedExecution struct {
	Origin  string   `json:"origin"`
	Name    string   `json:"name"`
	File    string   `json:"file"`
	Result  string   `json:"result"`
	RunID   string   `json:"run_id"`
	Job     string   `json:"job"`
	Topic   string   `json:"topic"`
	Reason  string   `json:"reason"`
	Detail  string   `json:"detail"`
	Dropped []string `json:"dropped"`

	// Of a dry run, without what is large.
	execution *model.Execution
	stages    int
}

// executionImport is an import under way.
type executionImport struct {
	a        *app
	flags    importFlags
	hints    naming.Hints
	machines naming.Machines
	name     func(e model.Execution, h naming.Hints) importedExecution // of a dry run
	client   karasuv1connect.KarasuServiceClient
	bar      *progressbar.ProgressBar
	// byItem says that the bar counts items: nobody knows how large they are.
	byItem bool
	// service says that a service was asked, which may have nothing new.
	service bool

	// The request that is being filled, and the files that its executions are from.
	req   *karasuv1.ImportExecutionsRequest
	files []string
	size  int

	done    []importedExecution
	skipped []skippedItem
}

// importExecutions reads items and stores what they hold, then prints a summary. What
// names the items for people, and service says that a service is
// asked. All are found before the first is read, so that progress has an end.
func (f importFlags) importExecutions(a *app, what noun, service bool, items iter.Seq2[importItem, error]) error {
	im := &executionImport{a: a, flags: f, service: service}
	if err := im.prepare(); err != nil {
		return err
	}
	list, err := im.list(items)
	if err != nil {
		return err
	}
	im.progress(list)
	for _, item := range list {
		if err = im.item(item); err != nil {
			break
		}
	}
	return im.end(what, len(list), err)
}

// importStream is [importFlags.importExecutions] of what comes one by one. Service says
// that a service is asked.
func (f importFlags) importStream(a *app, what noun, service bool, items iter.Seq2[importItem, error]) error {
	im := &executionImport{a: a, flags: f, service: service}
	if err := im.prepare(); err != nil {
		return err
	}
	n := 0
	for item, err := range items {
		var p *ingest.Problem
		switch {
		case errors.As(err, &p):
			im.skip(p.File, p)
		case err == nil:
			n++
			err = im.item(item)
		}
		if err != nil && p == nil {
			return im.end(what, n, err)
		}
	}
	return im.end(what, n, nil)
}

// end sends what is left and prints the summary, or says why the import ended early.
func (im *executionImport) end(what noun, items int, err error) error {
	if err == nil {
		err = im.flush()
	}
	if im.bar != nil {
		_ = im.bar.Finish() // it is only for looking at
	}
	switch {
	case im.a.ctx.Err() != nil && (im.flags.DryRun || len(im.done) == 0):
		err = errors.New("interrupted; nothing was stored")
	case im.a.ctx.Err() != nil:
		err = fmt.Errorf("interrupted; %s stored, and what is imported again changes nothing", plural(len(im.done), "application was", "applications were"))
	}
	if err != nil {
		return err
	}
	return im.summary(what, items)
}

// prepare checks the flags before anything is read.
func (im *executionImport) prepare() error {
	im.hints = naming.Hints{Infrastructure: im.flags.Infrastructure, MachineType: im.flags.MachineType}
	if err := im.hints.Validate(); err != nil {
		return &usageError{err}
	}
	if im.flags.MachineMap != "" {
		f, err := os.Open(im.flags.MachineMap)
		if err != nil {
			return &usageError{fmt.Errorf("--machine-map: %w", err)}
		}
		defer func() { _ = f.Close() }() // it was only read
		if im.machines, err = naming.ParseMachines(im.flags.MachineMap, f); err != nil {
			return &usageError{err}
		}
	}
	var err error
	if im.flags.DryRun {
		im.name, err = im.a.dryNamer()
		return err
	}
	if im.client, err = im.a.client(); err != nil {
		return err
	}
	// Not after minutes of reading:
	_, err = im.client.Status(im.a.ctx, connect.NewRequest(&karasuv1.StatusRequest{}))
	return err
}

// list finds all items, so that progress has an end.
func (im *executionImport) list(items iter.Seq2[importItem, error]) ([]importItem, error) {
	var list []importItem
	for item, err := range items {
		var p *ingest.Problem
		switch {
		case errors.As(err, &p):
			im.skip(p.File, p)
		case err != nil:
			return nil, err
		default:
			list = append(list, item)
		}
		if im.a.ctx.Err() != nil {
			return nil, errors.New("interrupted; nothing was stored")
		}
	}
	return list, nil
}

func (im *executionImport) progress(list []importItem) {
	var total int64
	for _, item := range list {
		total += item.bytes
	}
	if im.byItem = total == 0; im.byItem {
		total = int64(len(list))
	}
	if total < 2 || !isTerminal(im.a.stderr) {
		return
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(im.a.stderr), progressbar.OptionSetDescription("importing"), progressbar.OptionShowBytes(!im.byItem),
		progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100 * time.Millisecond), progressbar.OptionClearOnFinish(),
	}
	if im.byItem {
		options = append(options, progressbar.OptionShowIts(), progressbar.OptionShowCount())
	}
	im.bar = progressbar.NewOptions64(total, options...)
}

// item reads one item. An error ends the import.
func (im *executionImport) item(item importItem) error {
	var seen int64
	progress := func(n int) {
		seen += int64(n)
		if im.bar != nil && !im.byItem {
			_ = im.bar.Add(n) // a progress bar that fails is no reason to stop
		}
	}
	executions, err := item.read(im.a.ctx, progress)
	if im.a.ctx.Err() != nil {
		return im.a.ctx.Err()
	}
	progress(int(max(0, item.bytes-seen)))
	if im.bar != nil && im.byItem {
		_ = im.bar.Add(1) // as above
	}
	if err != nil {
		im.skip(item.name, err)
	}
	for _, e := range executions {
		if err := im.add(item.name, e); err != nil {
			return err
		}
	}
	return nil
}

// skip notes a file that holds nothing.
func (im *executionImport) skip(name string, err error) {
	text := err.Error()
	var p *ingest.Problem
	var path *fs.PathError
	switch {
	case errors.As(err, &p) && p.Line == 0 && p.Field == "":
		text = p.Text
	case errors.As(err, &path):
		text = "cannot be read: " + path.Err.Error()
	}
	im.skipped = append(im.skipped, skippedItem{name, text})
	if len(im.skipped) <= maxShownProblems && !im.flags.JSON {
		if im.bar != nil {
			_ = im.bar.Clear()
		}
		im.a.note("%s: %s", clean(name), oneLine(text))
	}
}

// add puts an execution into the request, and sends that where it is full.
func (im *executionImport) add(file string, e model.Execution) error {
	h := im.hints
	if m := im.machines.Of(e); m != "" {
		h.MachineType = m
	}
	if im.flags.DryRun {
		d := im.name(e, h)
		if e.Graph != nil {
			d.stages = len(e.Graph.Stages)
		}
		e.Graph, e.Executors, e.Properties = nil, nil, nil
		d.File, d.execution = file, &e
		im.done = append(im.done, d)
		return nil
	}
	m, dropped := wire.FromExecution(e)
	if len(dropped) > 0 {
		im.a.note("%s: too large to store; left out: %s", clean(file), plainList(dropped))
	}
	hints := &karasuv1.ExecutionHints{Infrastructure: h.Infrastructure, MachineType: h.MachineType}
	n := proto.Size(m)
	if im.req != nil && (len(im.req.Executions) >= executionBatch || im.size+n > executionBytes || !proto.Equal(im.req.Hints, hints)) {
		if err := im.flush(); err != nil {
			return err
		}
	}
	if im.req == nil {
		im.req = &karasuv1.ImportExecutionsRequest{Hints: hints}
	}
	im.req.Executions, im.files, im.size = append(im.req.Executions, m), append(im.files, file), im.size+n
	return nil
}

// flush sends the request. One that is on its way when the user interrupts is waited
// for, so that the count is right.
func (im *executionImport) flush() error {
	if im.req == nil {
		return nil
	}
	res, err := im.client.ImportExecutions(context.WithoutCancel(im.a.ctx), connect.NewRequest(im.req))
	if err != nil {
		if n := len(im.done); n > 0 { // and perhaps some of the request
			im.a.note("at least %s stored, and what is imported again changes nothing", plural(n, "application was", "applications were"))
		}
		return err
	}
	for i, m := range res.Msg.GetExecutions() {
		im.done = append(im.done, importedExecution{
			Origin: m.GetOrigin(), Name: m.GetName(), File: im.files[i], Result: resultText(m.GetResult()), RunID: m.GetRunId(),
			Job: m.GetJob(), Topic: m.GetTopic(), Reason: m.GetReason(), Detail: m.GetDetail(), Dropped: append([]string{}, m.GetDropped()...),
		})
	}
	im.req, im.files, im.size = nil, nil, 0
	return nil
}
