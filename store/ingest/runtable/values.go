package runtable

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model"
)

// field names the column in an error about its value.
func field(column string, err error) error {
	var f *model.FieldError
	if errors.As(err, &f) {
		return &model.FieldError{Field: column, Problem: f.Problem}
	}
	return &model.FieldError{Field: column, Problem: err.Error()}
}

// parseSeconds reads seconds or a duration such as 13m20s; empty is 0, which only
// a failed run may have.
func parseSeconds(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	if v, err := strconv.ParseFloat(s, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		if v == 0 && !strings.ContainsAny(s, "123456789") {
			return 0, nil
		}
		return v, model.ValidateSeconds("", v)
	}
	d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		return 0, fmt.Errorf("is not a time: %q; write seconds such as 800, or 13m20s", model.Clip(s))
	}
	return d.Seconds(), model.ValidateSeconds("", d.Seconds())
}

// parseCount reads a whole number; spreadsheets may write 4 as 4.0.
func parseCount(s string) (int, error) {
	if s == "" {
		return 0, errors.New("is missing")
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<31 {
		return 0, fmt.Errorf("is not a whole number: %q", model.Clip(s))
	}
	if v < 1 || v > model.MaxScaleOut {
		return 0, fmt.Errorf("must be between 1 and %d: %q", model.MaxScaleOut, model.Clip(s))
	}
	return int(v), nil
}

// parseSize reads bytes, or a size with a unit: KB is 1000 bytes, KiB is 1024.
// Empty, 0 and -1 are unknown, which is 0.
func parseSize(s string) (float64, error) {
	if s == "" || s == "-1" {
		return 0, nil
	}
	number := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit := strings.ToLower(strings.TrimSpace(s[len(number):]))
	if v, err := strconv.ParseFloat(s, 64); err == nil { // 1e9 ends like a number, NaN like a unit
		return checkSize(s, v)
	}
	v, err := strconv.ParseFloat(number, 64)
	factor, known := sizeUnit(unit)
	if err != nil || !known {
		return 0, fmt.Errorf("is not a size: %q; write bytes, or such as 10 GB", model.Clip(s))
	}
	return checkSize(s, v*factor)
}

func checkSize(s string, v float64) (float64, error) {
	switch {
	case v == 0 || v == -1:
		return 0, nil
	case !(v >= 1 && v <= model.MaxInputBytes):
		return 0, fmt.Errorf("must be between 1 byte and 1 EiB, or empty where unknown: %q", model.Clip(s))
	}
	return v, nil
}

func sizeUnit(unit string) (float64, bool) {
	if unit == "b" {
		return 1, true
	}
	prefix, binary := strings.CutSuffix(unit, "ib")
	if !binary {
		var bytes bool
		if prefix, bytes = strings.CutSuffix(unit, "b"); !bytes {
			return 0, false
		}
	}
	exponent := strings.Index("kmgtpe", prefix) + 1
	if len(prefix) != 1 || exponent == 0 {
		return 0, false
	}
	base := 1000.0
	if binary {
		base = 1024
	}
	return math.Pow(base, float64(exponent)), true
}

// parseTime reads a time; one without a zone is UTC, a bare number seconds or
// milliseconds since 1970. Empty is unknown.
func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		switch {
		case n >= 1e9 && n < 1e11:
			return time.Unix(n, 0).UTC(), nil
		case n >= 1e12 && n < 1e14:
			return time.UnixMilli(n).UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("is not a time: %q; write such as 2026-03-01T12:00:00Z", model.Clip(s))
}

// metrics reads the utilisation columns. Of each resource all three percentiles
// are given or none.
func (p *plan) metrics(record []string) (model.Metrics, error) {
	var m model.Metrics
	for _, f := range []struct {
		name string
		to   **model.Percentiles
	}{{"cpu", &m.CPU}, {"memory", &m.Memory}, {"disk", &m.Disk}, {"network", &m.Network}} {
		var values [3]float64
		given := 0
		for i, percentile := range []string{"_p10", "_p50", "_p90"} {
			s, err := p.number(record, f.name+percentile)
			if err != nil {
				return m, field(f.name+percentile, err)
			}
			if s == "" {
				continue
			}
			v, err := parseShare(s)
			if err != nil {
				return m, field(f.name+percentile, err)
			}
			values[i] = v
			given++
		}
		switch given {
		case 0:
		case len(values):
			*f.to = &model.Percentiles{P10: values[0], P50: values[1], P90: values[2]}
		default:
			return m, &model.FieldError{Field: f.name + "_p10, _p50, _p90", Problem: "must be given together or not at all"}
		}
	}
	return m, nil
}

func parseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("is not a share from 0 to 1, or such as 85%%: %q", model.Clip(s))
	}
	return v, nil
}

// outcomes are words of schedulers, beside those of package model.
var outcomes = map[string]model.Outcome{
	"success": model.OK, "succeeded": model.OK, "finished": model.OK, "completed": model.OK,
	"failure": model.Failed, "error": model.Failed, "killed": model.Failed,
	"timed_out": model.Timeout,
}

// parseOutcome reads how a run ended, in upper or lower case.
func parseOutcome(s string) (model.Outcome, error) {
	word := strings.ToLower(s)
	if o, known := outcomes[word]; known {
		return o, nil
	}
	o, err := model.ParseOutcome(word)
	if err != nil {
		return 0, fmt.Errorf("must be ok, failed or timeout (or such as SUCCEEDED, KILLED, TIMED_OUT): %q", model.Clip(s))
	}
	return o, nil
}

// maxHeaderText bounds what a message shows of a header: a file that is no table may
// have anything there.
const maxHeaderText = 200

func headerText(names []string) string {
	text := strings.Join(names, ", ")
	if len(text) > maxHeaderText {
		text = strings.ToValidUTF8(text[:maxHeaderText], "") + "..."
	}
	return text
}
