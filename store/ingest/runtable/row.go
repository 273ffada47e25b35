package runtable

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// skipError says why a row is left out on purpose.
type skipError struct{ reason string }

func (e *skipError) Error() string { return "is left out: " + e.reason }

// value returns the text at a position; a row may be shorter than the header.
func value(record []string, i int) string {
	if i >= len(record) {
		return ""
	}
	return strings.TrimSpace(record[i])
}

// get returns a value of a row, or the constant of a column that the file lacks.
func (p *plan) get(record []string, column string) string {
	return p.resolve(record, column, maxExpansion)
}

func (p *plan) resolve(record []string, column string, depth int) string {
	if i, has := p.at[column]; has {
		return value(record, i)
	}
	if depth == 0 {
		return ""
	}
	return strings.TrimSpace(expand(p.constants[column], func(name string) string {
		if i, has := p.raw[name]; has {
			return value(record, i)
		}
		if name == "file" {
			return p.file
		}
		return p.resolve(record, name, depth-1)
	}))
}

// positions returns the columns of the file that the plan reads.
func (p *plan) positions() []int {
	used := slices.Collect(maps.Values(p.at))
	used = append(used, slices.Collect(maps.Values(p.arguments))...)
	for _, r := range p.rules {
		for _, c := range r.conditions {
			used = append(used, p.raw[c.column])
		}
	}
	for _, constant := range p.constants {
		for _, name := range references(constant) {
			if i, has := p.raw[name]; has {
				used = append(used, i)
			}
		}
	}
	slices.Sort(used)
	return slices.Compact(used)
}

// number returns a value in the documented unit.
func (p *plan) number(record []string, column string) (string, error) {
	return inUnit(p.get(record, column), p.units[column])
}

// run reads a row. Errors are *model.FieldError with the column as the field, or a
// *skipError.
func (p *plan) run(record []string) (model.Run, error) {
	get := func(column string) string { return p.get(record, column) }
	outcome, err := p.outcome(record)
	if err != nil {
		return model.Run{}, err
	}
	r := model.Run{
		Workload: model.Workload{
			Infrastructure: get("infrastructure"), Framework: get("framework"), Algorithm: get("algorithm"),
			Job: get("job"), Dataset: get("dataset"),
		},
		Configuration: model.Configuration{MachineType: get("machine_type")},
		Outcome:       outcome, Origin: get("execution_origin"),
	}
	if r.Workload.Arguments, err = p.args(record); err != nil {
		return r, err
	}
	r.Workload = r.Workload.Normalize()
	if r.Workload.InputBytes, err = numeric(p, record, "input_bytes", parseSize); err != nil {
		return r, err
	}
	if r.Configuration.ScaleOut, err = parseCount(get("nodes")); err != nil {
		return r, field("nodes", err)
	}
	if r.Start, err = parseTime(get("start")); err != nil {
		return r, field("start", err)
	}
	if r.RuntimeSeconds, err = numeric(p, record, "runtime_s", parseSeconds); err != nil {
		return r, err
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

// numeric reads a value that may have a unit.
func numeric(p *plan, record []string, column string, parse func(string) (float64, error)) (float64, error) {
	s, err := p.number(record, column)
	if err != nil {
		return 0, field(column, err)
	}
	v, err := parse(s)
	if err != nil {
		return 0, field(column, err)
	}
	return v, nil
}

// outcome says how the run of a row ended: as the mapping's rules say, and without
// any as the column says.
func (p *plan) outcome(record []string) (model.Outcome, error) {
	for _, r := range p.rules {
		if slices.ContainsFunc(r.conditions, func(c condition) bool { return !c.holds(value(record, p.raw[c.column])) }) {
			continue
		}
		if r.Skip != "" {
			return 0, &skipError{r.Skip}
		}
		return r.outcome, nil
	}
	if len(p.rules) > 0 {
		var shown []string
		for _, r := range p.rules {
			for _, c := range r.conditions {
				if s := fmt.Sprintf("%s = %q", c.column, model.Clip(value(record, p.raw[c.column]))); !slices.Contains(shown, s) {
					shown = append(shown, s)
				}
			}
		}
		return 0, &model.FieldError{Field: "outcome", Problem: "is not told by " + strings.Join(shown, ", ") + ": no rule of the mapping applies"}
	}
	s := p.get(record, "outcome")
	if s == "" {
		return model.OK, nil
	}
	o, err := parseOutcome(s)
	if err != nil {
		return 0, field("outcome", err)
	}
	return o, nil
}

// args reads the arguments of the job; an empty one is unknown and left out.
func (p *plan) args(record []string) (model.Arguments, error) {
	var args model.Arguments
	for _, name := range slices.Sorted(maps.Keys(p.arguments)) {
		s := value(record, p.arguments[name])
		if s == "" {
			continue
		}
		a, err := model.ParseArgument(name, s)
		if err != nil {
			return nil, field(argumentPrefix+name, err)
		}
		args = append(args, a)
	}
	return args, nil
}
