package main

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/karasu-project/karasu/optimizer/catalog"
)

type catalogCmd struct {
	List  catalogListCmd  `cmd:"" help:"List machine types."`
	Show  catalogShowCmd  `cmd:"" help:"All that is known of one machine type."`
	Space catalogSpaceCmd `cmd:"" help:"The candidates that a search has where none are named."`

	Regions catalogRegionsCmd `cmd:"" help:"Regions with the carbon intensity of their grids."`
}

// catalogFlags say which catalog is shown.
type catalogFlags struct {
	Infrastructure string `help:"Only those of an infrastructure or cloud, such as aws-emr or gcp." placeholder:"NAME"`
	File           string `help:"Catalog file over the built-in table. Default: that of config.toml." placeholder:"FILE" type:"path"`
	JSON           bool   `name:"json" help:"Print JSON instead of a table."`
}

type catalogListCmd struct {
	catalogFlags
	Name      string   `arg:"" optional:"" help:"Pattern, such as 'm5.*' or '*highmem*'." placeholder:"PATTERN"`
	MinVCPUs  float64  `name:"min-vcpus" help:"At least so many." placeholder:"N"`
	MaxVCPUs  float64  `name:"max-vcpus" help:"At most so many." placeholder:"N"`
	MinMemory byteSize `help:"At least so much memory, such as 16GiB." placeholder:"SIZE"`
	MaxMemory byteSize `help:"At most so much memory." placeholder:"SIZE"`
	MaxPrice  float64  `help:"At most so many dollars an hour; unknown prices are left out." placeholder:"USD"`
	Sort      string   `help:"${enum}." enum:"name,price,vcpus,memory" default:"name"`
}

// Help implements kong's interface for examples.
func (catalogListCmd) Help() string {
	return `Examples:

  karasu catalog list 'm5.*'
  karasu catalog list --infrastructure aws-emr --min-memory 64GiB --max-price 0.60 --sort price`
}

// Run lists the machine types that pass the filters.
func (c catalogListCmd) Run(a *app) error {
	all, err := a.catalog(c.File)
	if err != nil {
		return err
	}
	if _, err := path.Match(c.Name, ""); err != nil {
		return usagef("the pattern %q cannot be read: * stands for any letters, ? for one", c.Name)
	}
	machines := all.MachineTypes(c.Infrastructure)
	if len(machines) == 0 {
		_, err := all.Lookup(c.Infrastructure, "")
		return &usageError{err}
	}
	machines = slices.DeleteFunc(machines, func(m catalog.MachineType) bool { return !c.matches(m) })
	slices.SortStableFunc(machines, func(x, y catalog.MachineType) int {
		switch c.Sort {
		case "price": // unknown is last, not cheapest
			return cmp.Or(cmp.Compare(b2i(x.USDPerHour == 0), b2i(y.USDPerHour == 0)), cmp.Compare(x.USDPerHour, y.USDPerHour))
		case "vcpus":
			return cmp.Compare(x.VCPUs, y.VCPUs)
		case "memory":
			return cmp.Compare(x.MemoryGiB, y.MemoryGiB)
		}
		return 0
	})
	return printMachines(a, machines, c.JSON)
}

func (c catalogListCmd) matches(m catalog.MachineType) bool {
	const gib = 1 << 30
	if c.Name != "" {
		if ok, _ := path.Match(strings.ToLower(c.Name), strings.ToLower(m.Name)); !ok {
			return false
		}
	}
	return m.VCPUs >= c.MinVCPUs && (c.MaxVCPUs == 0 || m.VCPUs <= c.MaxVCPUs) &&
		m.MemoryGiB*gib >= float64(c.MinMemory) && (c.MaxMemory == 0 || m.MemoryGiB*gib <= float64(c.MaxMemory)) &&
		(c.MaxPrice == 0 || m.USDPerHour > 0 && m.USDPerHour <= c.MaxPrice)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

type catalogShowCmd struct {
	catalogFlags
	Name string `arg:"" help:"Machine type, such as m4.xlarge."`
}

// Run shows one machine type of every cloud that has it.
func (c catalogShowCmd) Run(a *app) error {
	all, err := a.catalog(c.File)
	if err != nil {
		return err
	}
	names := all.Clouds()
	if c.Infrastructure != "" {
		names = []string{c.Infrastructure}
	}
	var found []catalog.MachineType
	var first error
	for _, name := range names {
		m, err := all.Lookup(name, c.Name)
		if err == nil {
			found = append(found, m)
		} else if first == nil {
			first = err
		}
	}
	if len(found) > 0 {
		return printMachines(a, found, c.JSON)
	}
	if c.Infrastructure == "" {
		first = fmt.Errorf("%w %q%s", catalog.ErrUnknownMachineType, c.Name, didYouMean(all.Suggest("", c.Name)))
	}
	return first
}

func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(names, " or ") + "?"
}

// machineJSON is the JSON form; null is unknown.
type machineJSON struct {
	Cloud       string   `json:"cloud"`
	MachineType string   `json:"machine_type"`
	VCPUs       float64  `json:"vcpus"`
	MemoryGiB   float64  `json:"memory_gib"`
	USDPerHour  *float64 `json:"usd_per_hour"`
	PriceDate   *string  `json:"price_date"`
	StalePrice  bool     `json:"stale_price"`
	IdleWatts   *float64 `json:"idle_watts"`
	FullWatts   *float64 `json:"full_watts"`
	Source      string   `json:"source"`
}

func printMachines(a *app, machines []catalog.MachineType, asJSON bool) error {
	if asJSON {
		out := make([]machineJSON, 0, len(machines))
		for _, m := range machines {
			out = append(out, machineJSON{
				Cloud: m.Cloud, MachineType: m.Name, VCPUs: m.VCPUs, MemoryGiB: m.MemoryGiB,
				USDPerHour: known(m.USDPerHour), PriceDate: knownDate(m.PriceDate), StalePrice: m.StalePrice(a.now()),
				IdleWatts: known(m.IdleWatts), FullWatts: known(m.FullWatts), Source: m.Source,
			})
		}
		return writeJSON(a.stdout, out)
	}
	t := newTable("CLOUD", "MACHINE TYPE", ">VCPUS", ">GIB", ">USD/HOUR", "PRICE OF", ">WATTS IDLE", ">FULL", "SOURCE")
	stale := 0
	for _, m := range machines {
		date := unknown
		if !m.PriceDate.IsZero() {
			date = m.PriceDate.Format("2006-01-02")
		}
		if m.StalePrice(a.now()) {
			stale++
			date += " (old)"
		}
		t.add(m.Cloud, m.Name, fmt.Sprintf("%g", m.VCPUs), fmt.Sprintf("%g", m.MemoryGiB), figure(m.USDPerHour, "%.4f"), date,
			figure(m.IdleWatts, "%.1f"), figure(m.FullWatts, "%.1f"), m.Source)
	}
	return a.print(func(w *bytes.Buffer) {
		t.print(w, "No machine type matches.")
		notePrices(w, stale)
	})
}

// notePrices says that prices are old.
func notePrices(w *bytes.Buffer, stale int) {
	if stale == 0 {
		return
	}
	verb := "are"
	if stale == 1 {
		verb = "is"
	}
	fmt.Fprintf(w, "%s %s older than %d days; a catalog file of your own can renew them.\n", counted(stale, "price"), verb, int(catalog.PriceLifetime.Hours()/24))
}

func figure(v float64, format string) string {
	if v == 0 {
		return unknown
	}
	return fmt.Sprintf(format, v)
}

func known(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return &v
}

func knownDate(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.Format("2006-01-02")
	return &s
}
