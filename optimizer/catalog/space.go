package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// MaxDefaultSpace bounds what [Catalog.DefaultSpace] returns.
const MaxDefaultSpace = 100

// maxDefaultVCPUs leaves out of a default space the clusters that few would rent
// to try: 16 x 16 cores.
const maxDefaultVCPUs = 256

// DefaultScaleOuts returns the scale-outs of a default space, in nodes: dense
// where adding a node changes much, up to 32.
func DefaultScaleOuts() []int { return []int{2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32} }

// Choice is a configuration with what the catalog knows of its machine type.
type Choice struct {
	Configuration model.Configuration
	Machine       MachineType
}

// Space returns every machine type at every scale-out, machine types outermost.
// Names are spelt as in the catalog. A name or a scale-out twice counts once.
func (c *Catalog) Space(infrastructure string, machineTypes []string, scaleOuts []int) ([]Choice, error) {
	var machines []MachineType
	for _, name := range machineTypes {
		m, err := c.Lookup(infrastructure, name)
		if err != nil {
			return nil, err
		}
		machines = append(machines, m)
	}
	return space(machines, scaleOuts)
}

// Choices returns the given configurations with what the catalog knows of them,
// in their order.
func (c *Catalog) Choices(infrastructure string, configurations []model.Configuration) ([]Choice, error) {
	var out []Choice
	for _, want := range configurations {
		m, err := c.Lookup(infrastructure, want.MachineType)
		if err != nil {
			return nil, err
		}
		one, err := space([]MachineType{m}, []int{want.ScaleOut})
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(out, func(o Choice) bool { return o.Configuration == one[0].Configuration }) {
			out = append(out, one[0])
		}
	}
	return out, nil
}

func space(machines []MachineType, scaleOuts []int) ([]Choice, error) {
	seen := make(map[model.Configuration]bool, len(machines)*len(scaleOuts))
	out := make([]Choice, 0, len(machines)*len(scaleOuts))
	for _, m := range machines {
		for _, n := range scaleOuts {
			conf := model.Configuration{MachineType: m.Name, ScaleOut: n}
			if err := conf.Validate(); err != nil {
				return nil, err
			}
			if !seen[conf] {
				seen[conf] = true
				out = append(out, Choice{conf, m})
			}
		}
	}
	return out, nil
}

// DefaultMachineTypes returns the machine types of an infrastructure's default
// space: for AWS and GCP the compute-, general- and memory-optimised family of a
// current x86 generation in three sizes of 4, 8 and 16 vCPUs, so that cores per
// node and memory per core vary apart from each other; for any other
// infrastructure all that it has.
//
// With needWatts, families of which the catalog knows the power are taken: on AWS
// those are one to two generations older.
func (c *Catalog) DefaultMachineTypes(infrastructure string, needWatts bool) ([]MachineType, error) {
	clouds := c.cloudsOf(infrastructure)
	if len(clouds) == 0 {
		return nil, c.unknownInfrastructure(infrastructure)
	}
	var names []string
	switch own := clouds[0]; {
	case clouds[len(clouds)-1] == "aws" && c.onlyOverrides(own, "aws"):
		families := []string{"c7i", "m7i", "r7i"}
		if needWatts {
			families = []string{"c5", "m5", "r5"}
		}
		names = cross(families, ".", []string{"xlarge", "2xlarge", "4xlarge"})
	case clouds[len(clouds)-1] == "gcp" && c.onlyOverrides(own, "gcp"):
		names = cross([]string{"n2-highcpu", "n2-standard", "n2-highmem"}, "-", []string{"4", "8", "16"})
	default:
		var all []MachineType
		for _, m := range c.MachineTypes(infrastructure) {
			if _, known := m.Watts(0); m.Cloud == own && (known || !needWatts) {
				all = append(all, m)
			}
		}
		return all, nil
	}
	var machines []MachineType
	for _, name := range names {
		m, err := c.Lookup(infrastructure, name)
		if err != nil {
			return nil, err
		}
		machines = append(machines, m)
	}
	return machines, nil
}

// onlyOverrides says whether every row under own is also one under the cloud: then
// own only changes prices and has no machines of its own.
func (c *Catalog) onlyOverrides(own, cloud string) bool {
	for _, k := range c.order {
		if _, also := c.rows[key{cloud, k.name}]; k.cloud == own && !also {
			return false
		}
	}
	return true
}

// DefaultSpace returns a sensible set of candidates for an infrastructure:
// [Catalog.DefaultMachineTypes] at [DefaultScaleOuts], without clusters above 256
// vCPUs unless a machine type would have none left; at most [MaxDefaultSpace].
// For AWS and GCP that is 9 machine types and 90 configurations. An infrastructure
// with more machine types than fit is an error that asks for a choice.
func (c *Catalog) DefaultSpace(infrastructure string, needWatts bool) ([]Choice, error) {
	machines, err := c.DefaultMachineTypes(infrastructure, needWatts)
	if err != nil {
		return nil, err
	}
	scaleOuts := DefaultScaleOuts()
	for {
		var out []Choice
		for _, m := range machines {
			fit := slices.DeleteFunc(slices.Clone(scaleOuts), func(n int) bool { return float64(n)*m.VCPUs > maxDefaultVCPUs })
			if len(fit) == 0 {
				fit = scaleOuts[:1]
			}
			part, err := space([]MachineType{m}, fit)
			if err != nil {
				return nil, err
			}
			out = append(out, part...)
		}
		if len(out) <= MaxDefaultSpace {
			return out, nil
		}
		if len(scaleOuts) < 4 {
			return nil, fmt.Errorf("%s has %d machine types, too many to try all: say which (at most %d configurations by default): %w",
				infrastructure, len(machines), MaxDefaultSpace, model.ErrInvalid)
		}
		scaleOuts = everyOther(scaleOuts)
	}
}

// everyOther keeps the first of each two.
func everyOther(in []int) []int {
	var out []int
	for i := 0; i < len(in); i += 2 {
		out = append(out, in[i])
	}
	return out
}

func cross(families []string, separator string, sizes []string) []string {
	out := make([]string, 0, len(families)*len(sizes))
	for _, f := range families {
		for _, s := range sizes {
			out = append(out, strings.Join([]string{f, s}, separator))
		}
	}
	return out
}
