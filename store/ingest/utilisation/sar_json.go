package utilisation

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

var errJSON = errors.New("is not JSON as sadf -j writes it")

// statistic is what is used of one element of a host's statistics.
type statistic struct {
	Timestamp struct {
		Date     string          `json:"date"`
		Time     string          `json:"time"`
		UTC      json.RawMessage `json:"utc"` // 0, 1 or true; absent in the oldest
		Interval float64         `json:"interval"`
	} `json:"timestamp"`
	CPU    []cpuLoad `json:"cpu-load"`
	CPUAll []cpuLoad `json:"cpu-load-all"`
	Memory *struct {
		Free    float64  `json:"memfree"`
		Used    float64  `json:"memused"`
		Percent *float64 `json:"memused-percent"`
		Buffers float64  `json:"buffers"`
		Cached  float64  `json:"cached"`
	} `json:"memory"`
	Disk []struct {
		Device  string   `json:"disk-device"`
		Percent *float64 `json:"util-percent"`
	} `json:"disk"`
	Network struct {
		Interfaces []struct {
			Name    string   `json:"iface"`
			Percent *float64 `json:"ifutil-percent"`
		} `json:"net-dev"`
	} `json:"network"`
}

type cpuLoad struct {
	CPU    string   `json:"cpu"`
	Idle   *float64 `json:"idle"`
	IOWait float64  `json:"iowait"`
	Steal  float64  `json:"steal"`
}

// readJSON reads {"sysstat": {"hosts": [{"nodename": ..., "statistics": [...]}]}}
// element by element. What comes before a cut is kept.
func (s *sar) readJSON(in io.Reader) error {
	d := json.NewDecoder(in)
	elements := 0
	err := object(d, func(key string) error {
		if key != "sysstat" {
			return skip(d)
		}
		return object(d, func(key string) error {
			if key != "hosts" {
				return skip(d)
			}
			return array(d, func() error { return s.host(d, &elements) })
		})
	})
	switch {
	case err == nil, errors.Is(err, errTooMany):
		return err
	case elements > 0:
		s.usage.Cut = true
		return nil
	}
	return errJSON
}

func (s *sar) host(d *json.Decoder, elements *int) error {
	node := ""
	return object(d, func(key string) error {
		switch key {
		case "nodename":
			return d.Decode(&node)
		case "statistics":
			return array(d, func() error {
				var x statistic
				if err := d.Decode(&x); err != nil {
					return err
				}
				*elements++
				return s.statistic(node, &x)
			})
		}
		return skip(d)
	})
}

func (s *sar) statistic(node string, x *statistic) error {
	text := x.Timestamp.Date + " " + x.Timestamp.Time
	if utc := string(x.Timestamp.UTC); utc == "1" || utc == "true" {
		text += " UTC"
	}
	end, ok := s.timestamp(text)
	if !ok || !strings.Contains(text, "-") {
		s.usage.BadLines++
		return nil
	}
	m := moment{node, end, x.Timestamp.Interval}
	for _, c := range append(x.CPU, x.CPUAll...) {
		if c.CPU == "all" && c.Idle != nil {
			if err := s.cpu(m, *c.Idle, c.IOWait, c.Steal); err != nil {
				return err
			}
		}
	}
	if v := x.Memory; v != nil && v.Percent != nil {
		if err := s.memory(m, v.Free, v.Used, *v.Percent, v.Buffers, v.Cached); err != nil {
			return err
		}
	}
	for _, v := range x.Disk {
		if v.Percent != nil {
			if err := s.disk(m, v.Device, *v.Percent); err != nil {
				return err
			}
		}
	}
	for _, v := range x.Network.Interfaces {
		if v.Percent != nil {
			if err := s.network(m, v.Name, *v.Percent); err != nil {
				return err
			}
		}
	}
	return nil
}

// object reads an object; f reads the value of each key.
func object(d *json.Decoder, f func(key string) error) error {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errJSON
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := t.(string) // a key is one
		if err := f(key); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// array reads an array; f reads each element.
func array(d *json.Decoder, f func() error) error {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errJSON
	}
	for d.More() {
		if err := f(); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func skip(d *json.Decoder) error {
	var v json.RawMessage
	return d.Decode(&v)
}
