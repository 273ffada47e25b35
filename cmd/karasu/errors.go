package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"connectrpc.com/connect"
)

// Exit codes, as documented for users.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitInUse       = 4
)

// usageError is wrong use of the command line: exit code 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef makes an error of wrong use.
func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// unreachableError means that no daemon answers: exit code 3.
type unreachableError struct {
	where string
	err   error
}

func (e *unreachableError) Error() string {
	return fmt.Sprintf("the daemon is not reachable at %s (%v); start it with: karasu daemon", e.where, e.err)
}
func (e *unreachableError) Unwrap() error { return e.err }

// inUseError means that a running daemon has what a command needs for itself: exit
// code 4.
type inUseError struct{ err error }

func (e *inUseError) Error() string { return e.err.Error() }
func (e *inUseError) Unwrap() error { return e.err }

// describe turns an error into the line that is printed and the exit code.
func describe(err error) (line string, code int) {
	var (
		usage       *usageError
		unreachable *unreachableError
		inUse       *inUseError
		remote      *connect.Error
	)
	switch {
	case err == nil:
		return "", exitOK
	case errors.Is(err, context.Canceled):
		return "interrupted", exitFailed
	case errors.As(err, &unreachable):
		return oneLine(unreachable.Error()), exitUnreachable
	case errors.As(err, &inUse):
		return oneLine(err.Error()), exitInUse
	case errors.As(err, &usage):
		return oneLine(err.Error()), exitUsage
	case errors.As(err, &remote):
		// Its Error() would put the code in front, which says nothing to users.
		return oneLine(strings.Replace(err.Error(), remote.Error(), remoteLine(remote), 1)), remoteExit(remote)
	}
	return oneLine(err.Error()), exitFailed
}

func remoteExit(err *connect.Error) int {
	if err.Code() == connect.CodeInvalidArgument {
		return exitUsage
	}
	return exitFailed
}

func remoteLine(err *connect.Error) string {
	switch err.Code() {
	case connect.CodeInvalidArgument, connect.CodeNotFound, connect.CodeFailedPrecondition, connect.CodeAlreadyExists, connect.CodePermissionDenied:
		return err.Message()
	case connect.CodeUnauthenticated:
		return "the daemon wants a token: name its file with --token-file (api.token in the daemon's home)"
	case connect.CodeUnimplemented:
		return "the daemon does not know this request; is it of another version? (karasu status)"
	case connect.CodeDeadlineExceeded:
		return "the daemon did not answer in time"
	case connect.CodeCanceled:
		return "interrupted"
	}
	return "the daemon failed: " + err.Message()
}

// oneLine joins the lines of a message: one error, one line.
func oneLine(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	return clean(strings.Join(lines, "; "))
}

// complain writes one line to standard error. What cannot be written there cannot
// be told to anybody.
func complain(stderr io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(stderr, "karasu: "+format+"\n", args...)
}

// note tells the user something beside the answer, on standard error.
func (a *app) note(format string, args ...any) { complain(a.stderr, format, args...) }
