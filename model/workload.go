package model

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds of a workload's fields.
const (
	// MaxSlug bounds infrastructure, framework and algorithm, in bytes. Three of
	// them and the prefix stay far below the 255 bytes that tools expect of a topic.
	MaxSlug = 48
	// MaxName bounds private names, in bytes.
	MaxName = 512
	// MaxInputBytes is 2^60 (1 EiB).
	MaxInputBytes = 1 << 60
)

// Workload is a recurring job on one kind of infrastructure, with one data set.
type Workload struct {
	// Infrastructure, Framework and Algorithm are public slugs of [a-z0-9.-], such
	// as "aws-ec2", "spark", "pagerank". They name the topic.
	Infrastructure, Framework, Algorithm string
	// Job is the organisation's own name for the workload. It never leaves.
	Job string
	// Dataset describes the input in the organisation's own words. It never leaves.
	Dataset string
	// InputBytes is the input size; 0 is unknown.
	InputBytes float64
	// Arguments are the job's parameters and what else describes its input. They may
	// differ between runs of one workload.
	Arguments Arguments
}

// Topic identifies the pubsub topic that a workload belongs to.
type Topic struct{ Infrastructure, Framework, Algorithm string }

// TopicPrefix starts the name of every topic; 1 is the major wire version.
const TopicPrefix = "/karasu/1/"

// String returns the topic's name, "/karasu/1/<infrastructure>/<framework>/<algorithm>".
func (t Topic) String() string {
	return TopicPrefix + t.Infrastructure + "/" + t.Framework + "/" + t.Algorithm
}

// ParseTopic reverses [Topic.String].
func ParseTopic(s string) (Topic, error) {
	rest, ok := strings.CutPrefix(s, TopicPrefix)
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 {
		return Topic{}, invalid("topic", "is not %s<infrastructure>/<framework>/<algorithm>: %q", TopicPrefix, Clip(s))
	}
	t := Topic{parts[0], parts[1], parts[2]}
	return t, t.Validate()
}

// Validate checks the three slugs.
func (t Topic) Validate() error {
	for _, f := range []struct{ name, value string }{
		{"infrastructure", t.Infrastructure}, {"framework", t.Framework}, {"algorithm", t.Algorithm},
	} {
		if err := validateSlug(f.name, f.value); err != nil {
			return err
		}
	}
	return nil
}

// Topic returns the topic that the workload belongs to.
func (w Workload) Topic() Topic { return Topic{w.Infrastructure, w.Framework, w.Algorithm} }

// Normalize returns the workload with slugs in lower case, spaces trimmed and
// names in Unicode normalisation form C, so that one name has one spelling.
func (w Workload) Normalize() Workload {
	for _, p := range []*string{&w.Infrastructure, &w.Framework, &w.Algorithm} {
		*p = strings.ToLower(strings.TrimSpace(*p))
	}
	w.Job, w.Dataset = NormalizeName(w.Job), NormalizeName(w.Dataset)
	w.Arguments = w.Arguments.Normalize()
	return w
}

// NormalizeName trims spaces and applies Unicode normalisation form C.
func NormalizeName(s string) string { return norm.NFC.String(strings.TrimSpace(s)) }

// Validate checks a normalized workload. Its job may be empty only where the
// caller allows that.
func (w Workload) Validate() error {
	if err := w.Topic().Validate(); err != nil {
		return err
	}
	for _, f := range []struct{ name, value string }{{"job", w.Job}, {"dataset", w.Dataset}} {
		if err := validateName(f.name, f.value); err != nil {
			return err
		}
	}
	if w.InputBytes != 0 && !(w.InputBytes >= 1 && w.InputBytes <= MaxInputBytes) {
		return invalid("input size", "must be between 1 byte and 1 EiB, or left out where unknown: %g", w.InputBytes)
	}
	return w.Arguments.Validate()
}

// InputSizeLog2 returns the rounded base-2 logarithm of the input size in bytes:
// the bucket that is shared. 0 is unknown.
func (w Workload) InputSizeLog2() int {
	if w.InputBytes < 1 {
		return 0
	}
	return inputSizeLog2(w.InputBytes)
}

// maxInputSizeLog2 is log2 of [MaxInputBytes].
const maxInputSizeLog2 = 60

func inputSizeLog2(bytes float64) int { return int(math.Round(math.Log2(bytes))) }

// Identity is the string that tells the workload from others of one organisation.
// Input size and arguments are not in it: they may change from run to run.
// It holds private names: hash it with a secret key before it leaves.
func (w Workload) Identity() string {
	return fmt.Sprintf("%q/%q/%q/%q/%q", w.Infrastructure, w.Framework, w.Algorithm, w.Job, w.Dataset)
}

func validateSlug(field, s string) error {
	if s == "" {
		return invalid(field, "is missing")
	}
	if len(s) > MaxSlug {
		return invalid(field, "is longer than %d bytes: %q", MaxSlug, Clip(s))
	}
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '-') {
			return invalid(field, "may hold only a-z, 0-9, '.' and '-': %q", Clip(s))
		}
	}
	return nil
}

func validateName(field, s string) error {
	switch {
	case len(s) > MaxName:
		return invalid(field, "is longer than %d bytes: %q", MaxName, Clip(s))
	case !utf8.ValidString(s):
		return invalid(field, "is not valid UTF-8: %q", Clip(s))
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return invalid(field, "holds a control character: %q", Clip(s))
	}
	return nil
}

// Clip shortens a string for an error message: to 60 bytes, between characters.
func Clip(s string) string {
	const limit = 60
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "..."
}
