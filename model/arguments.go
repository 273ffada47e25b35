package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds of arguments.
const (
	// MaxArguments bounds the arguments of a workload.
	MaxArguments = 32
	// MaxArgumentText bounds a name and a text value, in bytes.
	MaxArgumentText = 256
	// MaxArgumentNumber bounds a numeric value in size.
	MaxArgumentNumber = 1e18
)

// Argument is one of a job's parameters, or something else that describes its
// input: line_length=100, k=5, format=parquet. Names are the algorithm's and become
// public where runtime models are shared; text values never leave.
type Argument struct {
	// Name is of [a-z0-9._-].
	Name string
	// Number is the value where Text is empty.
	Number float64
	Text   string
}

// String returns "name=value".
func (a Argument) String() string { return a.Name + "=" + a.Value() }

// Value returns the number in the shortest form that is exact, or the text.
func (a Argument) Value() string {
	if a.Text != "" {
		return a.Text
	}
	return strconv.FormatFloat(a.Number, 'g', -1, 64)
}

// ParseArgument reads a value: a decimal number where it looks like one, else a
// text. The result is normalised and valid.
func ParseArgument(name, value string) (Argument, error) {
	a := Argument{Name: name, Text: value}
	a = a.normalize()
	if a.Text == "" {
		return Argument{}, invalid("argument "+Clip(a.Name), "has no value")
	}
	// Infinity, NaN and hexadecimal numbers are texts.
	if strings.Trim(a.Text, "+-.0123456789eE") == "" && strings.ContainsAny(a.Text, "0123456789") {
		v, err := strconv.ParseFloat(a.Text, 64)
		if err == nil || math.IsInf(v, 0) {
			a.Number, a.Text = v, ""
		}
	}
	return a, a.Validate()
}

// ParseArguments reads "name=value" pairs into a canonical list.
func ParseArguments(pairs []string) (Arguments, error) {
	var as Arguments
	for _, p := range pairs {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, invalid("argument", "must look like line_length=100: %q", Clip(p))
		}
		a, err := ParseArgument(name, value)
		if err != nil {
			return nil, err
		}
		as = append(as, a)
	}
	as = as.Normalize()
	if err := as.Validate(); err != nil {
		return nil, err
	}
	return as, nil
}

func (a Argument) normalize() Argument {
	a.Name = strings.ToLower(norm.NFC.String(strings.TrimSpace(a.Name)))
	a.Text = norm.NFC.String(strings.TrimSpace(a.Text))
	a.Number += 0 // -0 is 0
	if a.Text != "" {
		a.Number = 0
	}
	return a
}

// Validate checks a normalised argument.
func (a Argument) Validate() error {
	if a.Name == "" || len(a.Name) > MaxArgumentText {
		return invalid("argument name", "must have 1 to %d bytes: %q", MaxArgumentText, Clip(a.Name))
	}
	for _, c := range []byte(a.Name) {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return invalid("argument name", "may hold only a-z, 0-9, '.', '_' and '-': %q", Clip(a.Name))
		}
	}
	field := "argument " + Clip(a.Name)
	switch {
	case len(a.Text) > MaxArgumentText:
		return invalid(field, "is longer than %d bytes: %q", MaxArgumentText, Clip(a.Text))
	case !utf8.ValidString(a.Text):
		return invalid(field, "is not valid UTF-8: %q", Clip(a.Text))
	case strings.ContainsFunc(a.Text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return invalid(field, "holds a control character: %q", Clip(a.Text))
	case !(math.Abs(a.Number) <= MaxArgumentNumber):
		return invalid(field, "must be a number within ±%g: %g", MaxArgumentNumber, a.Number)
	}
	return nil
}

// Arguments of a workload. Canonical ones are sorted by name, which is distinct.
type Arguments []Argument

// Normalize returns the canonical list: names in lower case, spaces trimmed, text in
// Unicode normalisation form C, sorted by name, equal ones once. Nothing is nil.
func (as Arguments) Normalize() Arguments {
	if len(as) == 0 {
		return nil
	}
	out := make(Arguments, len(as))
	for i, a := range as {
		out[i] = a.normalize()
	}
	slices.SortStableFunc(out, func(a, b Argument) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(out)
}

// Validate checks a normalised list.
func (as Arguments) Validate() error {
	if len(as) > MaxArguments {
		return invalid("arguments", "are more than %d: %d", MaxArguments, len(as))
	}
	for i, a := range as {
		if err := a.Validate(); err != nil {
			return err
		}
		if i > 0 && as[i-1].Name == a.Name {
			return invalid("argument "+Clip(a.Name), "is given twice: %q and %q", Clip(as[i-1].Value()), Clip(a.Value()))
		}
		if i > 0 && as[i-1].Name > a.Name {
			return invalid("arguments", "are not sorted by name")
		}
	}
	return nil
}

// Get returns the argument of that name.
func (as Arguments) Get(name string) (Argument, bool) {
	for _, a := range as {
		if a.Name == name {
			return a, true
		}
	}
	return Argument{}, false
}

// Key is a string that tells canonical lists apart, such as a map needs.
func (as Arguments) Key() string {
	var b strings.Builder
	for _, a := range as {
		kind := 'n'
		if a.Text != "" {
			kind = 't'
		}
		fmt.Fprintf(&b, "%c%q=%q/", kind, a.Name, a.Value())
	}
	return b.String()
}
