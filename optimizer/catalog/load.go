package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// maxFile bounds a catalog file: 16 MiB is some 100,000 rows.
const maxFile = 16 << 20

// Load returns base with the rows of a file over it. base is not changed.
//
// A .csv file has the columns cloud, machine_type, vcpus, memory_gib,
// usd_per_hour, price_date, idle_watts and full_watts. A .toml file has the same
// keys in tables [[machine]]. A row that names a known machine type changes only
// what it says; a price given anew has no date unless one is given with it. A row
// under a longer name ("aws-emr") starts from the shorter one's ("aws").
//
// Unknown keys, a machine type twice, and numbers that are not above zero are
// errors that name the file, the line and the field.
func Load(base *Catalog, path string) (*Catalog, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("catalog file: %w", err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("catalog file %s is above %d MiB", path, maxFile>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("catalog file: %w", err)
	}
	name := filepath.Base(path)
	var rows []row
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".csv":
		rows, err = parseCSV(name, bytes.NewReader(data))
	case ".toml":
		rows, err = parseTOML(name, data)
	default:
		return nil, fmt.Errorf("catalog file %s must end in .toml or .csv", path)
	}
	if err != nil {
		return nil, err
	}
	return base.with(name, rows)
}

func (c *Catalog) with(source string, rows []row) (*Catalog, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s: holds no machine type", source)
	}
	out := &Catalog{rows: maps.Clone(c.rows), order: slices.Clone(c.order), clouds: slices.Clone(c.clouds)}
	said := make(map[key]string, len(rows))
	for _, r := range rows {
		k := key{strings.ToLower(r.cloud), strings.ToLower(r.name)}
		if first, twice := said[k]; twice {
			return nil, r.fieldError("", "%s/%s is given twice, first at %s", r.cloud, r.name, first)
		}
		said[k] = r.where("")
		base, known := c.base(r.cloud, r.name)
		m, err := r.over(base, known)
		if err != nil {
			return nil, err
		}
		m.Source = source
		out.add(m)
	}
	return out, nil
}

// base returns what is known of a machine type before a row of a file.
func (c *Catalog) base(cloud, name string) (MachineType, bool) {
	for _, cl := range c.cloudsOf(cloud) {
		if m, ok := c.rows[key{cl, strings.ToLower(name)}]; ok {
			return m, true
		}
	}
	return MachineType{}, false
}

type tomlFile struct {
	Machine []tomlMachine `toml:"machine"`
}

type tomlMachine struct {
	Cloud       string     `toml:"cloud"`
	MachineType string     `toml:"machine_type"`
	VCPUs       *float64   `toml:"vcpus"`
	MemoryGiB   *float64   `toml:"memory_gib"`
	USDPerHour  *float64   `toml:"usd_per_hour"`
	PriceDate   *time.Time `toml:"price_date"`
	IdleWatts   *float64   `toml:"idle_watts"`
	FullWatts   *float64   `toml:"full_watts"`
}

func parseTOML(name string, data []byte) ([]row, error) {
	var f tomlFile
	lines := tomlLines(data)
	meta, err := toml.NewDecoder(bytes.NewReader(data)).Decode(&f)
	var syntax toml.ParseError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("%s:%d: %s", name, syntax.Position.Line, syntax.Message)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		key := unknown[0]
		return nil, fmt.Errorf("%s: unknown key %q (tables are [[machine]], their keys %s)", at(name, lines.find(key[len(key)-1])), key.String(), strings.Join(fields(), ", "))
	}
	var rows []row
	for i, m := range f.Machine {
		r := row{
			cloud: strings.TrimSpace(m.Cloud), name: strings.TrimSpace(m.MachineType),
			vcpus: m.VCPUs, memory: m.MemoryGiB, price: m.USDPerHour, idle: m.IdleWatts, full: m.FullWatts, priceDate: m.PriceDate,
			where: func(field string) string { return at(name, lines.of(i, len(f.Machine), field)) },
		}
		for _, needed := range []struct{ field, value string }{{fieldCloud, r.cloud}, {fieldName, r.name}} {
			if needed.value == "" {
				return nil, r.fieldError(needed.field, "is missing")
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func at(name string, line int) string {
	if line == 0 {
		return name
	}
	return fmt.Sprintf("%s:%d", name, line)
}

// lineIndex finds lines for error messages, since the TOML library gives none
// with decoded values. It reads the plain form: a header line [[machine]] and one
// key a line; where a file is written otherwise, messages go without a line.
type lineIndex struct {
	keys    []string // key that starts each line, "" for others
	headers []int    // lines of [[machine]], from 0
}

func tomlLines(data []byte) lineIndex {
	var idx lineIndex
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		k, _, isKey := strings.Cut(line, "=")
		if strings.HasPrefix(strings.ReplaceAll(line, " ", ""), "[[machine]]") {
			idx.headers = append(idx.headers, i)
		}
		if !isKey || strings.HasPrefix(line, "#") {
			k = ""
		}
		idx.keys = append(idx.keys, strings.Trim(strings.TrimSpace(k), `"'`))
	}
	return idx
}

// find returns the first line, from 1, that starts with the key; 0 if none.
func (x lineIndex) find(key string) int { return slices.Index(x.keys, key) + 1 }

// of returns the line, from 1, of a field of the i-th of n tables: the table's
// header where the field is not there, 0 where it cannot be told.
func (x lineIndex) of(i, n int, field string) int {
	if len(x.headers) != n {
		return 0
	}
	end := len(x.keys)
	if i+1 < n {
		end = x.headers[i+1]
	}
	if j := slices.Index(x.keys[x.headers[i]:end], field); field != "" && j >= 0 {
		return x.headers[i] + j + 1
	}
	return x.headers[i] + 1
}
