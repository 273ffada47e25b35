package utilisation

import (
	"bufio"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// textState is where a reader of lines is.
type textState struct {
	columns []string // of the section, without those of place and time
	node    string   // of the text of sar
	day     time.Time
	// at is the time of the last sample since the begin of its day, interval that
	// between it and the one before; days counts midnights.
	at, interval time.Duration
	days         int
}

// readLines reads CSV or text, line by line: both have a header before each section.
func (s *sar) readLines(in *bufio.Reader) error {
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			s.usage.BadLines++
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
			line = nil
		}
		ok, lerr := s.line(strings.TrimSpace(string(line)))
		switch {
		case lerr != nil:
			return lerr
		case !ok && errors.Is(err, io.EOF):
			s.usage.Cut = true
		case !ok:
			s.usage.BadLines++
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// line takes a line and says whether it is one of an export.
func (s *sar) line(line string) (ok bool, err error) {
	switch {
	case line == "":
		return true, nil
	case strings.HasPrefix(line, "# hostname;"):
		s.text.columns = strings.Split(line, ";")[1:]
		if len(s.text.columns) < 3 || s.text.columns[1] != "timestamp" {
			s.text.columns = nil
			return false, nil
		}
		s.text.columns = s.text.columns[2:]
		return true, nil
	case strings.Contains(line, ";"):
		return s.csvRow(strings.Split(line, ";"))
	}
	return s.textLine(strings.Fields(line))
}

// csvRow reads hostname;interval;timestamp;values...
func (s *sar) csvRow(fields []string) (bool, error) {
	if len(fields) >= 4 && strings.HasPrefix(fields[3], "LINUX-RESTART") || len(fields) == 4 && fields[3] == "COM" {
		return true, nil
	}
	if len(fields) < 4 || len(fields)-3 != len(s.text.columns) {
		return len(s.text.columns) > 0 && !s.used(), nil
	}
	seconds, err := strconv.ParseFloat(fields[1], 64)
	if end, ok := s.timestamp(fields[2]); ok && err == nil {
		return s.row(moment{strings.Clone(fields[0]), end, seconds}, fields[3:])
	}
	return false, nil
}

// used says whether the section is one of those that are read. Of others, some have
// more values than columns.
func (s *sar) used() bool {
	return slices.ContainsFunc(s.text.columns, func(c string) bool {
		return c == "%idle" || c == "%memused" || c == "%util" || c == "%ifutil"
	})
}

// timestamp reads a time as sadf writes it: with UTC, in seconds since 1970, or local.
func (s *sar) timestamp(text string) (time.Time, bool) {
	if t, err := time.Parse("2006-01-02 15:04:05 UTC", text); err == nil {
		return t, true
	}
	if t, err := time.ParseInLocation("2006-01-02 15:04:05", text, s.location); err == nil {
		return t, true
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && n < 1<<40 {
		return time.Unix(n, 0), true
	}
	return time.Time{}, false
}

// textLine reads a line of sar's text: the first names the node and the day, each
// section has a header with a time, rows have a time only.
func (s *sar) textLine(fields []string) (bool, error) {
	t := &s.text
	switch {
	case fields[0] == "Linux":
		return s.textHead(fields), nil
	case strings.HasPrefix(fields[0], "Average"), slices.Contains(fields, "RESTART"):
		return true, nil
	}
	at, rest, ok := clock(fields)
	if !ok || t.day.IsZero() || len(rest) == 0 {
		return false, nil
	}
	if !slices.ContainsFunc(rest, isNumber) { // a header
		if !slices.Equal(t.columns, rest) {
			t.columns, t.days = slices.Clone(rest), 0
		} else if at < t.at {
			t.days++
		}
		t.at, t.interval = at, 0
		return true, nil
	}
	if at != t.at {
		t.interval = at - t.at
		if at < t.at {
			t.interval += 24 * time.Hour
			t.days++
		}
		t.at = at
	}
	if len(rest) != len(t.columns) {
		return len(t.columns) > 0 && !s.used(), nil
	}
	y, m, d := t.day.Date()
	end := time.Date(y, m, d+t.days, 0, 0, 0, 0, s.location).Add(at)
	return s.row(moment{t.node, end, t.interval.Seconds()}, rest)
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// textHead reads "Linux 6.1.0 (node1) 	11/30/26 	_x86_64_	(2 CPU)".
func (s *sar) textHead(fields []string) bool {
	s.text = textState{}
	for _, f := range fields[1:] {
		if s.text.node == "" && strings.HasPrefix(f, "(") {
			s.text.node = strings.Trim(f, "()")
		}
		for _, layout := range []string{"01/02/06", "01/02/2006", "2006-01-02"} {
			if day, err := time.Parse(layout, f); err == nil {
				s.text.day = day
			}
		}
	}
	return s.text.node != "" && !s.text.day.IsZero()
}

// clock reads 22:13:46, or 10:13:46 PM.
func clock(fields []string) (at time.Duration, rest []string, ok bool) {
	t, err := time.Parse("15:04:05", fields[0])
	if err != nil {
		return 0, nil, false
	}
	h, rest := t.Hour(), fields[1:]
	if len(rest) > 0 && (rest[0] == "AM" || rest[0] == "PM") {
		h %= 12
		if rest[0] == "PM" {
			h += 12
		}
		rest = rest[1:]
	}
	return time.Duration(h)*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second, rest, true
}

// row takes the values of a section's columns. Sections of something else are passed
// over.
func (s *sar) row(m moment, values []string) (bool, error) {
	columns := s.text.columns
	has := func(name string) bool { return slices.Contains(columns, name) }
	bad := false
	get := func(name string) float64 {
		i := slices.Index(columns, name)
		if i < 0 {
			return 0
		}
		v, err := strconv.ParseFloat(values[i], 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			bad = true
		}
		return v
	}
	var err error
	switch {
	case columns[0] == "CPU" && has("%idle"):
		if idle, iowait, steal := get("%idle"), get("%iowait"), get("%steal"); !bad && (values[0] == "all" || values[0] == "-1") {
			err = s.cpu(m, idle, iowait, steal)
		}
	case has("%memused") && has("kbmemfree"):
		if free, used, percent, buffers, cached := get("kbmemfree"), get("kbmemused"), get("%memused"), get("kbbuffers"), get("kbcached"); !bad {
			err = s.memory(m, free, used, percent, buffers, cached)
		}
	case has("DEV") && has("%util"):
		if percent := get("%util"); !bad {
			err = s.disk(m, values[slices.Index(columns, "DEV")], percent)
		}
	case has("IFACE") && has("%ifutil"):
		if percent := get("%ifutil"); !bad {
			err = s.network(m, values[slices.Index(columns, "IFACE")], percent)
		}
	}
	return !bad, err
}
