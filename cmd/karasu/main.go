// Command karasu is the daemon and the command line of Karasu in one binary.
//
// It is thin: what it knows how to do lives in the packages of this module, and
// all but a few commands ask the daemon through its local API.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals // who asks twice does not want to wait
		os.Exit(exitFailed)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

// cli is the command line. Each command is a struct with a Run method in a file of
// its own.
type cli struct {
	globals

	Demo   demoCmd   `cmd:"" help:"See it work: organisations in this process, with simulated or real runs. Needs no home."`
	Init   initCmd   `cmd:"" help:"Create the home of an organisation: identity, configuration, data folders."`
	Daemon daemonCmd `cmd:"" help:"Start the node; it runs until it is interrupted or terminated."`
	Status statusCmd `cmd:"" help:"What the daemon is and holds."`

	Import    importCmd    `cmd:"" help:"Import runs into the private store."`
	Watch     watchCmd     `cmd:"" help:"Import what comes to a folder, until interrupted."`
	Export    exportCmd    `cmd:"" help:"Write stored runs as a table."`
	Runs      runsCmd      `cmd:"" help:"Private runs."`
	Workloads workloadsCmd `cmd:"" help:"Workloads that have runs, applications that are none, and the rules between."`

	Search    searchCmd    `cmd:"" help:"Search for a job's configuration in few profiling runs."`
	Recommend recommendCmd `cmd:"" help:"Recommend configurations at once, without a search."`

	Checkpoint checkpointCmd `cmd:"" help:"Which stage outputs of a job to write to durable storage."`

	Predict predictCmd `cmd:"" help:"Predict how long a job takes, also on clusters that it never ran on."`

	Elastic elasticCmd `cmd:"" help:"What a distributed training job should run on, at its start and while it runs."`

	Doctor  doctorCmd  `cmd:"" help:"What works, what does not, and what to do. Works without a daemon, too."`
	Peers   peersCmd   `cmd:"" help:"Peers that the daemon knows."`
	Topics  topicsCmd  `cmd:"" help:"Topics, and what is known under each."`
	Org     orgCmd     `cmd:"" help:"The organisation's key and its hosts."`
	Members membersCmd `cmd:"" help:"Who is in the circle, where the network is not open."`
	Share   shareCmd   `cmd:"" help:"What leaves the organisation."`
	Audit   auditCmd   `cmd:"" help:"What has left, when, and to whom first."`
	Records recordsCmd `cmd:"" help:"Records of the commons, own and received."`

	Bench benchCmd `cmd:"" help:"Measure Karasu on run tables."`

	Catalog    catalogCmd    `cmd:"" help:"Machine types, their prices and power. Needs no daemon."`
	Backup     backupCmd     `cmd:"" help:"Copy the home to a file while its daemon runs."`
	Restore    restoreCmd    `cmd:"" help:"Make a home of a backup. The daemon must not run."`
	Fsck       fsckCmd       `cmd:"" help:"Check the databases of a home. The daemon must not run."`
	Version    versionCmd    `cmd:"" help:"The version of this program."`
	Completion completionCmd `cmd:"" help:"Write a shell's completion script."`
}

// globals are the flags of every command.
type globals struct {
	Home      string `help:"Folder of the organisation's configuration and data. Without it: $KARASU_HOME, then the XDG folders." placeholder:"DIR" type:"path"`
	API       string `help:"URL of a daemon's TCP API, instead of the unix socket of the home." placeholder:"URL" env:"KARASU_API"`
	TokenFile string `help:"File with the token for --api. Default: api.token of the home." placeholder:"FILE" type:"path" env:"KARASU_TOKEN_FILE"`
}

// app is what a command's Run method gets.
type app struct {
	globals
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	now            func() time.Time
	parser         *kong.Kong
}

// exited carries the exit code that kong asks for, after --help for example.
type exited int

// run is main without the process: it parses args, runs the command and returns
// the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) (code int) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(exited)
			if !ok {
				panic(r)
			}
			code = int(e)
		}
	}()
	var c cli
	parser, err := newParser(&c, stdout, stderr)
	if err != nil {
		complain(stderr, "%v", err)
		return exitFailed
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if err := readable(args); err != nil {
		complain(stderr, "%v", err)
		return exitUsage
	}
	command, err := parser.Parse(joinNegative(args))
	var file *fs.PathError
	switch {
	case errors.As(err, &file) && file.Op == "write": // the help, to a full disk
		complain(stderr, "%v", file)
		return exitFailed
	case err != nil:
		complain(stderr, "%s (%s)", oneLine(err.Error()), helpHint(err))
		return exitUsage
	}
	a := &app{globals: c.globals, ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr, getenv: getenv, now: time.Now, parser: parser}
	line, code := describe(command.Run(a))
	if line != "" {
		complain(stderr, "%s", line)
	}
	return code
}

// readable says which argument is no text. Names are, and what reads arguments would
// quietly change the others.
func readable(args []string) error {
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return fmt.Errorf("argument %d is not valid UTF-8: %q", i+1, shorten(clean(arg), maxNameColumns))
		}
	}
	return nil
}

// joinNegative writes --flag -4m as --flag=-4m, so that the flag says what is wrong with
// the value and not the parser that -4 is no flag.
func joinNegative(args []string) []string {
	var out []string
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		last := len(out) - 1
		if len(arg) > 1 && arg[0] == '-' && arg[1] >= '0' && arg[1] <= '9' && last >= 0 && strings.HasPrefix(out[last], "--") && !strings.Contains(out[last], "=") {
			out[last] += "=" + arg
			continue
		}
		out = append(out, arg)
	}
	return out
}

func newParser(c *cli, stdout, stderr io.Writer) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("karasu"),
		kong.Description("Learn from other organisations' runs which cluster a job needs, without showing them yours.\n\n"+
			"Start with: karasu init --org NAME, then karasu daemon.\n\n"+
			"Exit codes: 0 ok, 1 failed, 2 wrong use, 3 daemon not reachable, 4 a daemon runs (fsck)."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
}

// helpHint says where the help for a mistake is.
func helpHint(err error) string {
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil {
			return "see: " + node.FullPath() + " --help"
		}
	}
	return "see: karasu --help"
}
