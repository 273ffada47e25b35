package naming

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// maxMachines bounds the lines of a machine map.
const maxMachines = 10_000

// Machine says that hosts whose name matches are of a machine type.
type Machine struct {
	host        *regexp.Regexp
	machineType string
}

// Machines in their order: the first that matches counts.
type Machines []Machine

// ParseMachines reads a machine map: "PATTERN TYPE" lines, a regular expression on the
// host's name and the machine type. Empty lines and those that begin with # say
// nothing. Errors name the file and the line.
func ParseMachines(name string, r io.Reader) (Machines, error) {
	var out Machines
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 2*maxPattern)
	line := 0
	for scan.Scan() {
		line++
		text := strings.TrimSpace(strings.TrimPrefix(scan.Text(), "\ufeff"))
		if text == "" || text[0] == '#' {
			continue
		}
		if len(out) >= maxMachines {
			return nil, fmt.Errorf("%s:%d: there are more than %d lines", name, line, maxMachines)
		}
		m, err := parseMachine(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		out = append(out, m)
	}
	if err := scan.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s:%d: the line is longer than %d bytes; want a pattern on host names and a machine type", name, line+1, 2*maxPattern)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

func parseMachine(text string) (Machine, error) {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return Machine{}, fmt.Errorf("must be a pattern on host names and a machine type, such as ^ip-10-1- m5.xlarge: %q", model.Clip(text))
	}
	re, err := compile("host pattern", fields[0])
	if err != nil {
		var r *RuleError
		errors.As(err, &r)
		return Machine{}, errors.New(r.Text())
	}
	if err := (model.Configuration{MachineType: fields[1], ScaleOut: 1}).Validate(); err != nil {
		return Machine{}, err
	}
	return Machine{re, fields[1]}, nil
}

// Of returns the machine type of most of an execution's workers whose host a pattern
// matches, of equally many the first in the map's order; empty where none matches.
func (ms Machines) Of(e model.Execution) string {
	if len(ms) == 0 {
		return ""
	}
	hosts := map[string]bool{}
	count := map[string]int{}
	for _, x := range e.Executors {
		if x.Host == "" || hosts[x.Host] {
			continue
		}
		hosts[x.Host] = true
		for _, m := range ms {
			if m.host.MatchString(x.Host) {
				count[m.machineType]++
				break
			}
		}
	}
	best := ""
	for _, m := range ms {
		if count[m.machineType] > count[best] {
			best = m.machineType
		}
	}
	return best
}
