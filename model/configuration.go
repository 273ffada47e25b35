package model

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxScaleOut bounds the number of nodes of a configuration.
const MaxScaleOut = 100_000

// Configuration is a machine type and how many of it.
type Configuration struct {
	// MachineType is the provider's name, such as "m4.xlarge".
	MachineType string
	// ScaleOut is the number of nodes.
	ScaleOut int
}

// String returns the form that users type, such as "8xm4.xlarge".
func (c Configuration) String() string { return fmt.Sprintf("%dx%s", c.ScaleOut, c.MachineType) }

// ParseConfiguration reverses [Configuration.String]. Spaces around the x are allowed.
func ParseConfiguration(s string) (Configuration, error) {
	n, machine, ok := strings.Cut(s, "x")
	nodes, err := strconv.Atoi(strings.TrimSpace(n))
	if !ok || err != nil {
		return Configuration{}, invalid("configuration", "must look like 8xm4.xlarge: %q", Clip(s))
	}
	c := Configuration{MachineType: strings.TrimSpace(machine), ScaleOut: nodes}
	return c, c.Validate()
}

// Validate checks the name and the range of the scale-out.
func (c Configuration) Validate() error {
	if err := validateMachineType(c.MachineType); err != nil {
		return err
	}
	if c.ScaleOut < 1 || c.ScaleOut > MaxScaleOut {
		return invalid("scale-out", "must be between 1 and %d nodes: %d", MaxScaleOut, c.ScaleOut)
	}
	return nil
}

func validateMachineType(s string) error {
	if s == "" {
		return invalid("machine type", "is missing")
	}
	if len(s) > MaxSlug*2 {
		return invalid("machine type", "is longer than %d bytes: %q", MaxSlug*2, Clip(s))
	}
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_+", r)) {
			return invalid("machine type", "may hold only letters, digits and . - _ +: %q", Clip(s))
		}
	}
	return nil
}

// Resources are what one node of a machine type has.
type Resources struct {
	// VCPUs is the number of virtual CPUs (cores) of a node.
	VCPUs float64
	// MemoryGiB is the memory of a node.
	MemoryGiB float64
}

// Bounds of a node's resources: a thousandth of a core or of a GiB is less than any
// container is given, and ratios of what lies within stay far from overflow.
const (
	minResource  = 1.0 / 1024
	maxVCPUs     = 1 << 16
	maxMemoryGiB = 1 << 20
)

// Validate checks that both are of a size that exists.
func (r Resources) Validate() error {
	if !(r.VCPUs >= minResource && r.VCPUs <= maxVCPUs) {
		return invalid("vCPUs", "must be between 1/1024 and %d: %g", maxVCPUs, r.VCPUs)
	}
	if !(r.MemoryGiB >= minResource && r.MemoryGiB <= maxMemoryGiB) {
		return invalid("memory", "must be between 1/1024 and %d GiB: %g", maxMemoryGiB, r.MemoryGiB)
	}
	return nil
}
