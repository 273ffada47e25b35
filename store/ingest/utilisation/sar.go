package utilisation

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/karasu-project/karasu/store/ingest"
)

// Bounds of an export.
const (
	// MaxBytes bounds an export: a day of one node at every second, with everything,
	// takes about 1 GB.
	MaxBytes = 2 << 30
	// maxSarLine bounds a line.
	maxSarLine = 64 << 10
	// maxDevices bounds disks and interfaces of all nodes.
	maxDevices = 50_000
)

// SarOptions of reading. The zero value is good.
type SarOptions struct {
	// Location is where times are that name no zone; nil is UTC. The text of sar never
	// names one.
	Location *time.Location
}

const howToExport = "export it as sadf -d FILE -- -u -r -d -n DEV, or as sadf -j FILE -- -u -r -d -n DEV"

// ReadSar reads an export of sysstat: what sadf -d (CSV) or sadf -j (JSON) write, or
// the text of sar in the C locale, told apart by their first bytes. Several nodes may
// follow each other. What is no such export, or holds no utilisation, is an
// [*ingest.Problem]; any other error is of reading or of the context.
func ReadSar(ctx context.Context, in io.Reader, name string, o SarOptions) (*Usage, error) {
	if o.Location == nil {
		o.Location = time.UTC
	}
	source := &bounded{ctx: ctx, r: in}
	s := &sar{usage: newUsage(), location: o.Location, disks: make(map[device][]sample), interfaces: make(map[device][]sample)}
	text := bufio.NewReaderSize(source, maxSarLine)
	head, _ := text.Peek(512) // what is wrong shows when it is read
	var err error
	switch trimmed := bytes.TrimLeft(head, " \t\r\n\ufeff"); {
	case bytes.IndexByte(head, 0) >= 0:
		err = errors.New("is sar's binary data or no text: " + howToExport)
	case bytes.HasPrefix(trimmed, []byte("{")):
		err = s.readJSON(text)
	default:
		err = s.readLines(text)
	}
	if source.err != nil {
		return nil, fmt.Errorf("%s: reading: %w", name, source.err)
	}
	if err == nil {
		err = s.finish()
	}
	if err != nil {
		return nil, &ingest.Problem{File: name, Text: err.Error()}
	}
	return s.usage, nil
}

// bounded keeps the error of the source apart from those of a decoder.
type bounded struct {
	ctx context.Context //nolint:containedctx // lives for one export
	r   io.Reader
	n   int64
	err error
}

var errSize = fmt.Errorf("larger than %d bytes", int64(MaxBytes))

func (b *bounded) Read(p []byte) (int, error) {
	if b.err = b.ctx.Err(); b.err != nil {
		return 0, b.err
	}
	n, err := b.r.Read(p)
	if b.n += int64(n); b.n > MaxBytes {
		err = errSize
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// sar collects samples of an export.
type sar struct {
	usage             *Usage
	location          *time.Location
	disks, interfaces map[device][]sample
	held              int // samples of devices

	text textState
}

// moment is when and where a row was sampled.
type moment struct {
	node    string
	end     time.Time
	seconds float64
}

func (s *sar) sample(m moment, share float64) (sample, bool) {
	if y := m.end.Year(); y < 1990 || y > 2200 || !(m.seconds > 0 && m.seconds <= 86400) {
		return sample{}, false
	}
	return sample{node: s.usage.node(m.node), end: m.end.UnixMilli(), seconds: float32(m.seconds), share: share}, true
}

func (s *sar) addNode(r Resource, m moment, share float64) error {
	x, ok := s.sample(m, share)
	if !ok {
		return nil
	}
	return s.usage.add(r, x)
}

// addDevice takes a share of a device, unless it stands for no hardware.
func (s *sar) addDevice(devices map[device][]sample, m moment, name string, share float64) error {
	x, ok := s.sample(m, share)
	if !ok || name == "" {
		return nil
	}
	d := device{x.node, strings.Clone(name)}
	if _, known := devices[d]; !known && len(devices) == maxDevices {
		return fmt.Errorf("holds more than %d devices", maxDevices)
	}
	if s.held++; s.held > 2*maxSamples {
		return errTooMany
	}
	devices[d] = append(devices[d], x)
	return nil
}

// unreal are the beginnings of the names of disks and interfaces that stand for no
// hardware of their own: loop devices, memory, and ends of virtual networks.
var (
	unrealDisks      = []string{"loop", "ram", "zram", "sr", "fd", "dev1-", "dev2-", "dev7-", "dev11-"}
	unrealInterfaces = []string{"lo", "veth", "docker", "br-", "virbr", "cni", "cali", "flannel", "ifb", "tun", "tap", "dummy", "wg"}
)

func unreal(prefixes []string, name string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// cpu is used where it is neither idle, nor waits for a disk, nor is given to others.
func (s *sar) cpu(m moment, idle, iowait, steal float64) error {
	return s.addNode(CPU, m, max(0, 1-(idle+iowait+steal)/100))
}

// memory in KiB. Before version 12 sysstat counted buffers and caches as used, and
// then free and used are all; they are taken off, as what they hold can be dropped.
func (s *sar) memory(m moment, free, used, percent, buffers, cached float64) error {
	if total := free + used; total > 0 && abs(100*used/total-percent) < 0.02 {
		return s.addNode(Memory, m, max(0, used-buffers-cached)/total)
	}
	return s.addNode(Memory, m, percent/100)
}

func abs(v float64) float64 { return max(v, -v) }

func (s *sar) disk(m moment, name string, percent float64) error {
	if unreal(unrealDisks, name) {
		return nil
	}
	return s.addDevice(s.disks, m, name, min(percent/100, 1))
}

func (s *sar) network(m moment, name string, percent float64) error {
	if unreal(unrealInterfaces, name) {
		return nil
	}
	return s.addDevice(s.interfaces, m, name, min(percent/100, 1))
}

// finish merges devices. An interface whose utilisation is always zero has no known
// speed, or was not used; which of them nobody can tell, so it does not count.
func (s *sar) finish() error {
	for d, list := range s.interfaces {
		busy := false
		for _, x := range list {
			busy = busy || x.share > 0
		}
		if !busy {
			delete(s.interfaces, d)
		}
	}
	if err := s.usage.mergeDevices(Disk, s.disks); err != nil {
		return err
	}
	if err := s.usage.mergeDevices(Network, s.interfaces); err != nil {
		return err
	}
	for _, r := range Resources() {
		if len(s.usage.samples[r]) > 0 {
			return nil
		}
	}
	return errors.New("holds no utilisation of CPU, memory, disks or network: " + howToExport)
}
