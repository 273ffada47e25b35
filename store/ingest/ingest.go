// Package ingest turns files and answers of services into runs. Importers live in
// the packages below it, each behind [Source].
//
// An importer never stores anything and never guesses: what it cannot read as a
// run it reports with the place and with what to do about it. Whether a source
// with problems is imported in part is the caller's decision.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/karasu-project/karasu/model"
)

// MaxShown bounds the problems that [Collect] keeps; the rest is only counted.
const MaxShown = 20

// ErrProblem is wrapped by every [Problem].
var ErrProblem = errors.New("cannot be imported")

// Source yields the runs of one file or service.
type Source interface {
	// Runs yields validated, normalised runs in the source's order. In place of a
	// run that cannot be used it yields a [*Problem] and goes on. Any other error
	// is about the source as a whole and is the last that it yields. A source is
	// read once.
	Runs(ctx context.Context) iter.Seq2[model.Run, error]
}

// Problem says where and why something cannot be imported.
//
//nolint:errname // it is one problem of a report, and an error on the way there
type Problem struct {
	// File is the source's name; empty is unknown.
	File string
	// Line starts at 1; 0 is the source as a whole.
	Line int
	// Field is the column or field; empty is the whole line.
	Field string
	// Text completes "<field> ...", such as "is missing: add it".
	Text string
	// LeftOut says that nothing is wrong: it is left out on purpose.
	LeftOut bool
}

// Error returns "file:line: field text", without what is unknown.
func (p *Problem) Error() string {
	place := p.File
	if p.Line > 0 {
		place = fmt.Sprintf("%s:%d", place, p.Line)
	}
	text := p.Text
	if p.Field != "" {
		text = p.Field + " " + text
	}
	if place == "" {
		return text
	}
	return place + ": " + text
}

// Unwrap returns [ErrProblem].
func (p *Problem) Unwrap() error { return ErrProblem }

// Report is what a source held.
type Report struct {
	Runs []model.Run
	// Problems are the first [MaxShown].
	Problems []*Problem
	// Bad counts all problems.
	Bad int
}

// Err returns nil where there were no problems, and otherwise an error that
// counts them and names the first. It wraps [ErrProblem].
func (r *Report) Err() error {
	switch r.Bad {
	case 0:
		return nil
	case 1:
		return r.Problems[0]
	}
	return fmt.Errorf("%w (and %d more)", r.Problems[0], r.Bad-1)
}

// Collect reads a source to its end. Problems are in the report; an error is about
// the source as a whole, and then there is no report.
func Collect(ctx context.Context, s Source) (*Report, error) {
	rep := &Report{}
	for run, err := range s.Runs(ctx) {
		var p *Problem
		switch {
		case err == nil:
			rep.Runs = append(rep.Runs, run)
		case errors.As(err, &p):
			rep.Bad++
			if len(rep.Problems) < MaxShown {
				rep.Problems = append(rep.Problems, p)
			}
		default:
			return nil, err
		}
	}
	return rep, ctx.Err()
}
