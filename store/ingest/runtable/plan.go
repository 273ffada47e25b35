package runtable

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// Presets of [Options].
const (
	// PresetScout is the public scout table: framework, algorithm, dataset,
	// node_count, machine_type, runtime_s, completed, and optionally input_bytes
	// (-1 is unknown), timestamp (UTC) and program (ignored). The infrastructure is
	// aws-ec2. A run that is not completed is a timeout from 7200 s, where the
	// measurement stopped runs, and failed below. The job is
	// framework/algorithm/dataset.
	PresetScout = "scout"
	// PresetNone recognises no known table.
	PresetNone = "none"
)

// scoutTimeout is where the scout measurements stopped a run, in seconds.
const scoutTimeout = 7200

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
	}
	for _, resource := range []string{"cpu", "memory", "disk", "network"} {
		for _, p := range []string{"p10", "p50", "p90"} {
			cols = append(cols, Column{resource + "_" + p, false, "utilisation of " + resource + ", a share from 0 to 1 or such as 85%"})
		}
	}
	return cols
}

// plan says where the values of a row are.
type plan struct {
	// at has the position of each documented column that the file has.
	at map[string]int
	// completed is the position of the scout table's column; -1 if there is none.
	completed int
	defaults  map[string]string
	preset    string
	ignored   []string
}

// newPlan matches a header with the documented columns.
func newPlan(header []string, opts Options) (*plan, error) {
	names, err := columnNames(header)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool)
	for _, c := range Columns() {
		known[c.Name] = true
	}
	mapping, defaults, err := lowerKeys(opts.Map, opts.Defaults)
	if err != nil {
		return nil, err
	}
	for _, theirs := range slices.Sorted(maps.Keys(mapping)) {
		switch ours := mapping[theirs]; {
		case !known[ours]:
			return nil, fmt.Errorf("%w: there is no column %q to map %q to; the columns are %s", ErrOptions, ours, theirs, columnList())
		case !slices.Contains(names, theirs):
			return nil, fmt.Errorf("%w: there is no column %q to map to %s; the header is %s", ErrOptions, theirs, ours, headerText(names))
		}
	}
	for name := range defaults {
		if !known[name] {
			return nil, fmt.Errorf("%w: there is no column %q to give a value for; the columns are %s", ErrOptions, name, columnList())
		}
	}
	p := &plan{at: make(map[string]int), completed: -1, defaults: defaults, preset: PresetNone}
	switch opts.Preset {
	case PresetNone:
	case "", PresetScout:
		if isScout(names) {
			p.preset = PresetScout
			p.scout(names, mapping)
		} else if opts.Preset == PresetScout {
			return nil, fmt.Errorf("%w: a scout table has the columns %s; the header is %s", ErrHeader, strings.Join(scoutColumns(), ", "), headerText(names))
		}
	default:
		return nil, fmt.Errorf("%w: there is no preset %q; the presets are %s and %s", ErrOptions, opts.Preset, PresetScout, PresetNone)
	}
	if err := p.place(names, mapping, known); err != nil {
		return nil, err
	}
	return p, p.complete(names)
}

// place finds the position of every column.
func (p *plan) place(names []string, mapping map[string]string, known map[string]bool) error {
	for i, name := range names {
		ours, mapped := mapping[name]
		switch {
		case mapped:
		case known[name]:
			ours = name
		case i == p.completed:
			continue
		default:
			if name != "" {
				p.ignored = append(p.ignored, name)
			}
			continue
		}
		if j, twice := p.at[ours]; twice {
			return fmt.Errorf("%w: %q and %q are both %s; map one of them only", ErrHeader, clip(names[j]), clip(name), ours)
		}
		p.at[ours] = i
	}
	return nil
}

// complete checks that nothing required is missing.
func (p *plan) complete(names []string) error {
	var missing []string
	for _, c := range Columns() {
		_, inFile := p.at[c.Name]
		_, byDefault := p.defaults[c.Name]
		derived := c.Name == "job" && p.preset == PresetScout
		if c.Required && !inFile && !byDefault && !derived {
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
			return nil, fmt.Errorf("%w: columns %d and %d are both %q: remove or rename one", ErrHeader, j+1, i+1, clip(names[i]))
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

func scoutColumns() []string {
	return []string{"framework", "algorithm", "dataset", "node_count", "machine_type", "runtime_s", "completed"}
}

// isScout says whether the header is the public scout table's.
func isScout(names []string) bool {
	for _, c := range scoutColumns() {
		if !slices.Contains(names, c) {
			return false
		}
	}
	return !slices.Contains(names, "outcome")
}

// scout adds what the preset knows; what the user gave goes first.
func (p *plan) scout(names []string, mapping map[string]string) {
	p.completed = slices.Index(names, "completed")
	taken := slices.Collect(maps.Values(mapping))
	for theirs, ours := range map[string]string{"node_count": "nodes", "timestamp": "start"} {
		if _, mapped := mapping[theirs]; !mapped && slices.Contains(names, theirs) &&
			!slices.Contains(taken, ours) && !slices.Contains(names, ours) {
			mapping[theirs] = ours
		}
	}
	if _, given := p.defaults["infrastructure"]; !given {
		p.defaults["infrastructure"] = "aws-ec2"
	}
}

// get returns a value of a row, or the default of a column that the file lacks.
func (p *plan) get(record []string, column string) string {
	if i, has := p.at[column]; has {
		return strings.TrimSpace(record[i])
	}
	return strings.TrimSpace(p.defaults[column])
}

// run reads a row. Errors are *model.FieldError with the column as the field.
func (p *plan) run(record []string) (model.Run, error) {
	get := func(column string) string { return p.get(record, column) }
	r := model.Run{
		Workload: model.Workload{
			Infrastructure: get("infrastructure"), Framework: get("framework"), Algorithm: get("algorithm"),
			Job: get("job"), Dataset: get("dataset"),
		}.Normalize(),
		Configuration: model.Configuration{MachineType: get("machine_type")},
		Outcome:       model.OK,
	}
	var err error
	if r.Workload.InputBytes, err = parseSize(get("input_bytes")); err != nil {
		return r, field("input_bytes", err)
	}
	if r.Configuration.ScaleOut, err = parseCount(get("nodes")); err != nil {
		return r, field("nodes", err)
	}
	if r.Start, err = parseTime(get("start")); err != nil {
		return r, field("start", err)
	}
	if s := get("outcome"); s != "" {
		if r.Outcome, err = parseOutcome(s); err != nil {
			return r, field("outcome", err)
		}
	}
	if r.RuntimeSeconds, err = parseSeconds(get("runtime_s")); err != nil {
		return r, field("runtime_s", err)
	}
	if p.preset == PresetScout {
		if err := p.finishScout(&r, record); err != nil {
			return r, err
		}
	}
	if r.Metrics, err = p.metrics(record); err != nil {
		return r, err
	}
	if r.Workload.Job == "" {
		return r, &model.FieldError{Field: "job", Problem: "is missing"}
	}
	if get("runtime_s") == "" && r.Outcome != model.Failed {
		return r, &model.FieldError{Field: "runtime_s", Problem: "is missing: only a failed run may lack it"}
	}
	return r, r.Validate()
}

// finishScout derives outcome and job.
func (p *plan) finishScout(r *model.Run, record []string) error {
	switch s := strings.ToLower(strings.TrimSpace(record[p.completed])); s {
	case "true":
		r.Outcome = model.OK
	case "false":
		r.Outcome = model.Failed
		if r.RuntimeSeconds >= scoutTimeout {
			r.Outcome = model.Timeout
		}
	default:
		return &model.FieldError{Field: "completed", Problem: fmt.Sprintf("must be True or False: %q", clip(s))}
	}
	if r.Workload.Job == "" {
		w := r.Workload
		r.Workload.Job = w.Framework + "/" + w.Algorithm + "/" + w.Dataset
	}
	return nil
}
