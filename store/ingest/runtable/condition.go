package runtable

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// condition compares a column of the file with a value: as numbers where both are
// some, and otherwise as texts without regard to capitals. An empty value is neither
// less nor greater than anything.
type condition struct {
	column, operator, value string
}

// operators in the order in which they are looked for.
var operators = []string{"!=", "<=", ">=", "=", "<", ">"}

func parseCondition(s string) (condition, error) {
	at, operator := len(s), ""
	for _, o := range operators {
		if i := strings.Index(s, o); i >= 0 && i < at {
			at, operator = i, o
		}
	}
	if operator == "" {
		return condition{}, fmt.Errorf("condition %q must look like completed = False or runtime_s >= 7200", model.Clip(s))
	}
	c := condition{lower(s[:at]), operator, strings.TrimSpace(s[at+len(operator):])}
	if c.column == "" {
		return condition{}, fmt.Errorf("condition %q names no column", model.Clip(s))
	}
	if _, number := finite(c.value); !number && operator != "=" && operator != "!=" {
		return condition{}, fmt.Errorf("condition %q compares with %q, which is not a number", model.Clip(s), model.Clip(c.value))
	}
	return c, nil
}

func (c condition) holds(value string) bool {
	a, aNumber := finite(value)
	b, bNumber := finite(c.value)
	numbers := aNumber && bNumber
	equal := strings.EqualFold(strings.TrimSpace(value), c.value)
	if numbers {
		equal = a == b
	}
	switch c.operator {
	case "=":
		return equal
	case "!=":
		return !equal
	case "<":
		return numbers && a < b
	case "<=":
		return numbers && a <= b
	case ">":
		return numbers && a > b
	}
	return numbers && a >= b
}

func finite(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// Seconds in the units of time.
var timeUnits = map[string]float64{"ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}

// checkUnit says whether a documented column can be in the unit.
func checkUnit(column, unit string) error {
	if unit == "" {
		return nil
	}
	ok, want := false, "takes no unit"
	switch {
	case column == "runtime_s":
		_, ok = timeUnits[unit]
		want = "is in ms, s, min, h or d"
	case column == "input_bytes":
		_, ok = sizeUnit(strings.ToLower(unit))
		want = "is in B, KB, KiB, MB, MiB and so on"
	case isUtilisation(column):
		ok, want = unit == "%", "is in %, or a share"
	}
	if !ok {
		return fmt.Errorf("column %s %s, not %q", model.Clip(column), want, model.Clip(unit))
	}
	return nil
}

func isUtilisation(column string) bool {
	resource, percentile, _ := strings.Cut(column, "_")
	switch resource {
	case "cpu", "memory", "disk", "network":
		return percentile == "p10" || percentile == "p50" || percentile == "p90"
	}
	return false
}

var errNumber = errors.New("is not a number")

// inUnit returns a bare number of the unit as the documented column's parser takes it.
func inUnit(value, unit string) (string, error) {
	if unit == "" || value == "" {
		return value, nil
	}
	v, number := finite(value)
	if !number {
		return "", fmt.Errorf("%w: %q", errNumber, model.Clip(value))
	}
	if factor, isTime := timeUnits[unit]; isTime {
		return strconv.FormatFloat(v*factor, 'g', -1, 64), nil
	}
	if v == -1 { // unknown, in any unit of size
		return value, nil
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + unit, nil
}

// references returns the names in braces.
func references(template string) []string {
	var names []string
	for {
		_, rest, open := strings.Cut(template, "{")
		name, after, closed := strings.Cut(rest, "}")
		if !open || !closed {
			return names
		}
		names = append(names, lower(name))
		template = after
	}
}

// expand replaces names in braces.
func expand(template string, value func(name string) string) string {
	var b strings.Builder
	for {
		before, rest, open := strings.Cut(template, "{")
		name, after, closed := strings.Cut(rest, "}")
		if !open || !closed {
			b.WriteString(template)
			return b.String()
		}
		b.WriteString(before)
		b.WriteString(value(lower(name)))
		template = after
	}
}
