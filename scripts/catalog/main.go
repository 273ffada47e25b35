// Command catalog writes the built-in machine type table of optimizer/catalog.
//
//	go run ./scripts/catalog FACTS.csv > optimizer/catalog/machines.csv
//
// FACTS.csv has the columns cloud, region, machine_type, vcpus, memory_gib,
// price_usd_per_hour, price_date, idle_watts and full_watts; others are ignored
// and an empty field is unknown. A row without vCPUs or memory is an error.
package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./scripts/catalog FACTS.csv > optimizer/catalog/machines.csv")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "catalog:", err)
		os.Exit(1)
	}
}

// run reads the facts, sorts them by cloud, family and size and writes the table.
func run(path string, to io.Writer) error {
	f, err := os.Open(path) //nolint:gosec // the caller names the file
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) == 0 {
		return fmt.Errorf("%s is empty", path)
	}
	at := make(map[string]int)
	for i, name := range rows[0] {
		at[name] = i
	}
	facts := []string{"cloud", "machine_type", "vcpus", "memory_gib", "price_usd_per_hour", "price_date", "idle_watts", "full_watts"}
	for _, name := range append(facts, "region") {
		if _, ok := at[name]; !ok {
			return fmt.Errorf("%s has no column %s", path, name)
		}
	}
	type machine struct {
		fields []string
		vcpus  float64
	}
	var table []machine
	priced := make(map[string]bool)
	for i, row := range rows[1:] {
		m := machine{}
		for _, name := range facts {
			v := row[at[name]]
			if n, err := strconv.ParseFloat(v, 64); err == nil && name != "price_date" {
				v = strconv.FormatFloat(n, 'f', -1, 64)
			}
			m.fields = append(m.fields, v)
		}
		if m.vcpus, err = strconv.ParseFloat(m.fields[2], 64); err != nil || m.fields[3] == "" {
			return fmt.Errorf("%s: row %d: vCPUs or memory is missing", path, i+2)
		}
		if m.fields[4] != "" {
			priced[fmt.Sprintf("%s %s on %s", m.fields[0], row[at["region"]], m.fields[5])] = true
		}
		table = append(table, m)
	}
	slices.SortFunc(table, func(a, b machine) int {
		if c := strings.Compare(a.fields[0], b.fields[0]); c != 0 {
			return c
		}
		if c := strings.Compare(family(a.fields[1]), family(b.fields[1])); c != 0 {
			return c
		}
		if a.vcpus != b.vcpus {
			return int(a.vcpus - b.vcpus)
		}
		return strings.Compare(a.fields[1], b.fields[1])
	})
	var out bytes.Buffer
	fmt.Fprintln(&out, "# Built-in machine types. Written by scripts/catalog; do not edit.")
	fmt.Fprintln(&out, "# Resources: the providers' instance data, as collected by karpenter (AWS) and spark-rapids-tools (GCP).")
	fmt.Fprintf(&out, "# Prices: on demand, Linux, USD per node and hour: %s. No other price is known.\n",
		strings.Join(slices.Sorted(maps.Keys(priced)), ", "))
	fmt.Fprintln(&out, "# Watts: of one node at rest and at full load, estimated by the cloud-carbon-coefficients project.")
	fmt.Fprintln(&out, "# An empty field is unknown.")
	w := csv.NewWriter(&out)
	if err := w.Write([]string{"cloud", "machine_type", "vcpus", "memory_gib", "usd_per_hour", "price_date", "idle_watts", "full_watts"}); err != nil {
		return err
	}
	for _, m := range table {
		if err := w.Write(m.fields); err != nil {
			return err
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return err
	}
	_, err = to.Write(out.Bytes())
	return err
}

// family is the name before the size: "m5" of "m5.xlarge", "n2-standard" of "n2-standard-8".
func family(name string) string {
	if f, _, ok := strings.Cut(name, "."); ok {
		return f
	}
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		return name[:i]
	}
	return name
}
