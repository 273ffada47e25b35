package brain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/throughput"
	optimizer "github.com/karasu-project/karasu/optimizer/elastic"
)

// settings are what DLRover's messages have no field for. They come as keys that begin with
// [settingPrefix] in customised data and configurations.
type settings struct {
	Infrastructure string          `json:"infrastructure,omitempty"`
	Framework      string          `json:"framework,omitempty"`
	Algorithm      string          `json:"algorithm,omitempty"`
	MachineType    string          `json:"machine_type,omitempty"`
	Mode           throughput.Mode `json:"mode,omitempty"`
	MinWorkers     int             `json:"min_workers,omitempty"`
	MaxWorkers     int             `json:"max_workers,omitempty"`
	MinServers     int             `json:"min_servers,omitempty"`
	MaxServers     int             `json:"max_servers,omitempty"`
}

const (
	settingPrefix = "karasu."
	// maxJSON bounds what comes as JSON inside a message.
	maxJSON = 64 << 10
)

// with returns the settings with those of a configuration; keys of others are ignored.
func (s settings) with(config map[string]string) (settings, error) {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		name, ours := strings.CutPrefix(key, settingPrefix)
		if !ours {
			continue
		}
		if err := s.set(name, config[key]); err != nil {
			return s, fmt.Errorf("%s: %w", model.Clip(key), err)
		}
	}
	for _, b := range []struct {
		what        string
		least, most int
	}{{"workers", s.MinWorkers, s.MaxWorkers}, {"servers", s.MinServers, s.MaxServers}} {
		if b.most > 0 && b.least > b.most {
			return s, fmt.Errorf("%smin_%s %d is above %smax_%s %d: %w", settingPrefix, b.what, b.least, settingPrefix, b.what, b.most, optimizer.ErrInvalid)
		}
	}
	return s, nil
}

func (s *settings) set(name, value string) error {
	switch name {
	case "infrastructure":
		return slug(&s.Infrastructure, value)
	case "framework":
		return slug(&s.Framework, value)
	case "algorithm":
		return slug(&s.Algorithm, value)
	case "machine_type":
		s.MachineType = value
		return text("value", value)
	case "mode":
		s.Mode = throughput.Mode(value)
		if err := s.Mode.Validate(); err != nil {
			return fmt.Errorf("%w: %w", err, optimizer.ErrInvalid)
		}
		return nil
	case "min_workers":
		return count(&s.MinWorkers, value)
	case "max_workers":
		return count(&s.MaxWorkers, value)
	case "min_servers":
		return count(&s.MinServers, value)
	case "max_servers":
		return count(&s.MaxServers, value)
	}
	return fmt.Errorf("no such setting; there are infrastructure, framework, algorithm, machine_type, mode and min_ and max_ of workers and servers: %w", optimizer.ErrInvalid)
}

// slug takes a part of a topic.
func slug(p *string, value string) error {
	*p = value
	if err := (model.Topic{Infrastructure: value, Framework: value, Algorithm: value}).Validate(); err != nil {
		return fmt.Errorf("must be 1 to %d of a-z, 0-9, '.' and '-': %q: %w", model.MaxSlug, model.Clip(value), optimizer.ErrInvalid)
	}
	return nil
}

func count(p *int, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > optimizer.MaxReplicas {
		return fmt.Errorf("must be a whole number from 1 to %d: %q: %w", optimizer.MaxReplicas, model.Clip(value), optimizer.ErrInvalid)
	}
	*p = n
	return nil
}

// customised reads an object of JSON as a configuration. Values that are neither text nor
// numbers are nobody's settings.
func customised(raw string) (map[string]string, error) {
	var fields map[string]any
	if err := readJSON("customized_data", raw, &fields); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for key, v := range fields {
		switch v := v.(type) {
		case string:
			out[key] = v
		case json.Number:
			out[key] = v.String()
		default:
			if strings.HasPrefix(key, settingPrefix) {
				return nil, fmt.Errorf("customized_data: %s must be text or a number: %w", model.Clip(key), optimizer.ErrInvalid)
			}
		}
	}
	return out, nil
}

// asked reads the resources that a job asks for: of each role a count and of one pod cores
// and memory in MiB, as the master writes them.
func asked(raw string) (optimizer.Plan, error) {
	var fields struct {
		Groups map[string]struct {
			Count int `json:"count"`
			Node  struct {
				CPU    float64 `json:"cpu"`
				Memory float64 `json:"memory"`
			} `json:"node_resource"`
		} `json:"node_group_resources"`
	}
	if err := readJSON("resource", raw, &fields); err != nil {
		return optimizer.Plan{}, err
	}
	var p optimizer.Plan
	for role, g := range map[string]*optimizer.Group{"worker": &p.Workers, "ps": &p.Servers} {
		v := fields.Groups[role]
		*g = optimizer.Group{Replicas: v.Count, Pod: optimizer.Resources{CPU: v.Node.CPU, Memory: v.Node.Memory * mib}}
	}
	// A chief is one more worker.
	if n := fields.Groups["chief"].Count; n > 0 && p.Workers.Replicas <= optimizer.MaxReplicas {
		p.Workers.Replicas += min(n, optimizer.MaxReplicas)
	}
	if err := p.Validate(); err != nil {
		return optimizer.Plan{}, fmt.Errorf("resource: %w", err)
	}
	return p, nil
}

const mib = 1 << 20

func readJSON(field, raw string, into any) error {
	if len(raw) > maxJSON {
		return fmt.Errorf("%s is longer than %d bytes: %w", field, maxJSON, optimizer.ErrInvalid)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(raw)))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%s must be an object of JSON: %w: %w", field, err, optimizer.ErrInvalid)
	}
	if d.More() {
		return fmt.Errorf("%s goes on after its object of JSON: %w", field, optimizer.ErrInvalid)
	}
	return nil
}
