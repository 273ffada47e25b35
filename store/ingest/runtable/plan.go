package runtable

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// Names for [Options.Preset], beside those of [Presets].
const (
	// PresetScout is the public scout table.
	PresetScout = "scout"
	// PresetNone recognises no known table.
	PresetNone = "none"
)

// argumentPrefix begins the names of columns with arguments of the job.
const argumentPrefix = "arg."

// Column documents a column.
type Column struct {
	Name string
	// Required columns must be in the file, mapped, or given as a default.
	Required bool
	Doc      string
}

// Columns returns the documented columns.
func Columns() []Column {
	//nolint:prealloc // a list to be read
	cols := []Column{
		{"infrastructure", true, "where it ran, a slug such as aws-ec2"},
		{"framework", true, "a slug such as spark"},
		{"algorithm", true, "a slug such as pagerank"},
		{"job", true, "your own name for the job; stays private"},
		{"dataset", false, "your own name for the input; stays private"},
		{"input_bytes", false, "size of the input in bytes or such as 10 GB; empty, 0 or -1 is unknown"},
		{"machine_type", true, "the provider's name such as m4.xlarge"},
		{"nodes", true, "number of nodes"},
		{"runtime_s", true, "wall time in seconds or such as 13m20s; may be empty where a run failed"},
		{"outcome", false, "ok, failed or timeout, or as Spark and YARN say it, such as SUCCEEDED, KILLED, TIMED_OUT; without the column, ok"},
		{"start", false, "when it began, such as 2026-03-01T12:00:00Z; without a zone, UTC"},
		{"execution_origin", false, "which application of a framework it was, as karasu export writes it; rows with the same one are the same run"},
	}
	for _, resource := range []string{"cpu", "memory", "disk", "network"} {
		for _, p := range []string{"p10", "p50", "p90"} {
			cols = append(cols, Column{resource + "_" + p, false, "utilisation of " + resource + ", a share from 0 to 1 or such as 85%"})
		}
	}
	return append(cols, Column{argumentPrefix + "<name>", false, "an argument of the job, or what else describes its input, such as arg.iterations; empty is unknown"})
}

// plan says where the values of a row are.
type plan struct {
	// at has the position of each documented column that the file has, and of each
	// column of the file by its own name.
	at, raw map[string]int
	// units are of documented columns.
	units map[string]string
	// arguments have the position of each argument's column.
	arguments map[string]int
	constants map[string]string
	rules     []RowRule
	// file is the file's name for constants; empty is unknown.
	file string
	// preset is the mapping's name.
	preset  string
	ignored []string
}

// newPlan matches a header with the documented columns.
func newPlan(header []string, opts Options, presets []*Mapping) (*plan, error) {
	names, err := columnNames(header)
	if err != nil {
		return nil, err
	}
	given, defaults, err := lowerKeys(opts.Map, opts.Defaults)
	if err != nil {
		return nil, err
	}
	for _, theirs := range slices.Sorted(maps.Keys(given)) {
		switch ours := given[theirs]; {
		case !documented(ours):
			return nil, fmt.Errorf("%w: there is no column %q to map %q to; the columns are %s", ErrOptions, ours, theirs, columnList())
		case !slices.Contains(names, theirs):
			return nil, fmt.Errorf("%w: there is no column %q to map to %s; the header is %s", ErrOptions, theirs, ours, headerText(names))
		}
	}
	for name := range defaults {
		if !documented(name) {
			return nil, fmt.Errorf("%w: there is no column %q to give a value for; the columns are %s", ErrOptions, name, columnList())
		}
	}
	m, err := choose(names, opts, presets)
	if err != nil {
		return nil, err
	}
	p := &plan{
		at: make(map[string]int), raw: make(map[string]int), units: make(map[string]string), arguments: make(map[string]int),
		constants: maps.Clone(m.Constants), rules: m.Rows, preset: m.Name,
	}
	if p.constants == nil {
		p.constants = make(map[string]string)
	}
	maps.Copy(p.constants, defaults)
	if strings.Contains(opts.Name, ".") {
		p.file = stem(opts.Name)
	}
	if err := p.place(names, given, m); err != nil {
		return nil, err
	}
	return p, p.complete(names)
}

// choose returns the mapping of a table: the one given, the preset named or
// recognised, or one that says nothing.
func choose(names []string, opts Options, presets []*Mapping) (*Mapping, error) {
	m := opts.Mapping
	switch {
	case m != nil && opts.Preset != "":
		return nil, fmt.Errorf("%w: give a mapping or a preset", ErrOptions)
	case m != nil:
	case opts.Preset == PresetNone:
		return &Mapping{Name: PresetNone}, nil
	default:
		i := slices.IndexFunc(presets, func(p *Mapping) bool {
			return p.Name == opts.Preset || opts.Preset == "" && p.recognises(names)
		})
		if i < 0 && opts.Preset == "" {
			return &Mapping{Name: PresetNone}, nil
		}
		if i < 0 {
			known := []string{PresetNone}
			for _, p := range presets {
				known = append(known, p.Name)
			}
			return nil, fmt.Errorf("%w: there is no preset %q; the presets are %s", ErrOptions, model.Clip(opts.Preset), strings.Join(known, ", "))
		}
		m = presets[i]
	}
	for _, n := range m.needs() {
		if !slices.Contains(names, n) {
			return nil, fmt.Errorf("%w: mapping %s needs the column %s; the header is %s", ErrHeader, m.Name, model.Clip(n), headerText(names))
		}
	}
	return m, nil
}

// place finds the position of every column. What the user gave goes before what the
// mapping says, which goes before a column's own name.
func (p *plan) place(names []string, given map[string]string, m *Mapping) error {
	taken := slices.Collect(maps.Values(given))
	asked := make(map[string]bool)
	for _, r := range m.Rows {
		for _, c := range r.conditions {
			asked[c.column] = true
		}
	}
	for _, constant := range p.constants {
		for _, name := range references(constant) {
			asked[name] = true
		}
	}
	for i, name := range names {
		p.raw[name] = i
		var uses []string
		for _, ours := range slices.Sorted(maps.Keys(m.Columns)) {
			if from := m.Columns[ours]; from.Column == name && !slices.Contains(taken, ours) {
				uses = append(uses, ours)
				p.units[ours] = from.Unit
			}
		}
		argument := false
		for ours, theirs := range m.Arguments {
			if theirs == name {
				p.arguments[ours], argument = i, true
			}
		}
		if ours, mapped := given[name]; mapped {
			uses = []string{ours}
		}
		if len(uses) == 0 && documented(name) {
			uses = []string{name}
		}
		if len(uses) == 0 && !argument && !asked[name] && name != "" && !slices.Contains(m.Ignored, name) {
			p.ignored = append(p.ignored, name)
		}
		for _, ours := range uses {
			if err := p.use(ours, i, names); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *plan) use(ours string, i int, names []string) error {
	at, key := p.at, ours
	if name, is := strings.CutPrefix(ours, argumentPrefix); is {
		if _, err := model.ParseArgument(name, "0"); err != nil {
			return fmt.Errorf("%w: column %q: %w", ErrHeader, model.Clip(names[i]), err)
		}
		at, key = p.arguments, name
	}
	if j, twice := at[key]; twice && j != i {
		return fmt.Errorf("%w: %q and %q are both %s; map one of them only", ErrHeader, model.Clip(names[j]), model.Clip(names[i]), ours)
	}
	at[key] = i
	return nil
}

// complete checks that nothing required is missing.
func (p *plan) complete(names []string) error {
	var missing []string
	for _, c := range Columns() {
		_, inFile := p.at[c.Name]
		constant, is := p.constants[c.Name]
		if slices.Contains(references(constant), "file") && p.file == "" {
			is = false
		}
		if c.Required && !inFile && !is {
			missing = append(missing, c.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %s missing; the header is %s: rename a column, map one (such as node_count=nodes), or give one value for all rows",
			ErrHeader, strings.Join(missing, ", "), headerText(names))
	}
	return nil
}

// columnNames returns a header in lower case. Names must differ.
func columnNames(header []string) ([]string, error) {
	names := make([]string, len(header))
	seen := make(map[string]int)
	for i, h := range header {
		names[i] = strings.ToLower(strings.TrimSpace(h))
		if j, twice := seen[names[i]]; twice && names[i] != "" {
			return nil, fmt.Errorf("%w: columns %d and %d are both %q: remove or rename one", ErrHeader, j+1, i+1, model.Clip(names[i]))
		}
		seen[names[i]] = i
	}
	return names, nil
}

func lowerKeys(mapping, defaults map[string]string) (map[string]string, map[string]string, error) {
	m, d := make(map[string]string), make(map[string]string)
	from := make(map[string]string)
	for theirs, ours := range mapping {
		t, o := strings.ToLower(strings.TrimSpace(theirs)), strings.ToLower(strings.TrimSpace(ours))
		if other, twice := from[o]; twice && other != t {
			return nil, nil, fmt.Errorf("%w: columns %q and %q are both mapped to %s", ErrOptions, min(other, t), max(other, t), o)
		}
		m[t], from[o] = o, t
	}
	for name, value := range defaults {
		d[strings.ToLower(strings.TrimSpace(name))] = value
	}
	return m, d, nil
}

func columnList() string {
	columns := Columns()
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return headerText(names)
}
