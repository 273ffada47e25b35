package naming

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// Bounds of rules.
const (
	MaxRules = 1000
	// maxPattern bounds a pattern or a template, in bytes.
	maxPattern = 4096
)

// Rule is a rule as the configuration file states it. The patterns are regular
// expressions that match anywhere in the field unless they are anchored; all of those
// that are given have to match. The templates may hold what their groups captured,
// as ${1} or ${name}; $$ is a dollar sign. Groups are numbered through in the order
// name, user, queue, main_class, query_signature.
type Rule struct {
	Name           string `toml:"name"`
	User           string `toml:"user"`
	Queue          string `toml:"queue"`
	MainClass      string `toml:"main_class"`
	QuerySignature string `toml:"query_signature"`
	// Source is the framework that the execution was read from; empty is any.
	Source string `toml:"source"`

	// Infrastructure is the import's where it is empty, Framework the source's.
	// Infrastructure, Framework and Algorithm become slugs.
	Infrastructure string `toml:"infrastructure"`
	Framework      string `toml:"framework"`
	Algorithm      string `toml:"algorithm"`
	Job            string `toml:"job"`
	Dataset        string `toml:"dataset"`
	// MachineType of the workers, where the execution does not tell. Machines say it by
	// host: "PATTERN TYPE", the first that matches a worker's host counts.
	MachineType string            `toml:"machine_type"`
	Machines    []string          `toml:"machines"`
	Arguments   map[string]string `toml:"arguments"`
}

// RuleError says what is wrong with a rule.
type RuleError struct {
	// Index of the rule, from 0.
	Index int
	// Field is the rule's key, such as "main_class"; empty is the rule as a whole.
	Field string
	// Problem completes "<field> ...".
	Problem string
}

// Error returns "workload 1: <field> <problem>".
func (e *RuleError) Error() string {
	return fmt.Sprintf("workload %d: %s", e.Index+1, e.Text())
}

// Text returns "<field> <problem>".
func (e *RuleError) Text() string { return strings.TrimSpace(e.Field + " " + e.Problem) }

// pattern is one condition of a rule.
type pattern struct {
	field  func(model.Execution) string
	regexp *regexp.Regexp
}

type rule struct {
	source                               string
	patterns                             []pattern
	infrastructure, framework, algorithm template
	job, dataset, machineType            template
	machines                             Machines
	arguments                            []argument
	groups                               int
}

type argument struct {
	name  string
	value template
}

// Rules name executions. They do not change and are safe for concurrent use.
type Rules struct{ rules []rule }

// Len is the number of rules.
func (r *Rules) Len() int { return len(r.rules) }

// Compile checks rules. The error is a [*RuleError].
func Compile(rules []Rule) (*Rules, error) {
	if len(rules) > MaxRules {
		return nil, &RuleError{MaxRules, "", fmt.Sprintf("there are more than %d rules", MaxRules)}
	}
	out := &Rules{}
	for i, r := range rules {
		c, err := r.compile()
		var rerr *RuleError
		if errors.As(err, &rerr) {
			rerr.Index = i
			return nil, rerr
		}
		out.rules = append(out.rules, c)
	}
	return out, nil
}

func (r Rule) compile() (rule, error) {
	out := rule{source: r.Source}
	groups := map[string]int{} // by name
	for _, p := range []struct {
		name, text string
		field      func(model.Execution) string
	}{
		{"name", r.Name, func(e model.Execution) string { return e.Name }},
		{"user", r.User, func(e model.Execution) string { return e.User }},
		{"queue", r.Queue, func(e model.Execution) string { return e.Queue }},
		{"main_class", r.MainClass, func(e model.Execution) string { return e.MainClass }},
		{"query_signature", r.QuerySignature, func(e model.Execution) string { return e.QuerySignature }},
	} {
		if p.text == "" {
			continue
		}
		re, err := compile(p.name, p.text)
		if err != nil {
			return rule{}, err
		}
		for _, g := range re.SubexpNames()[1:] {
			out.groups++
			if g == "" {
				continue
			}
			if groups[g] > 0 {
				return rule{}, &RuleError{0, p.name, fmt.Sprintf("names the group %q, which another pattern names, too; rename one", g)}
			}
			groups[g] = out.groups
		}
		out.patterns = append(out.patterns, pattern{p.field, re})
	}
	if len(out.patterns) == 0 {
		return rule{}, &RuleError{0, "", "matches everything; give name, user, queue, main_class or query_signature (name = '.' is any name)"}
	}
	if r.Source != "" && slug(r.Source) != r.Source {
		return rule{}, &RuleError{0, "source", fmt.Sprintf("must be a framework such as spark: %q", model.Clip(r.Source))}
	}
	for _, t := range []struct {
		name, text     string
		to             *template
		required, slug bool
	}{
		{"infrastructure", r.Infrastructure, &out.infrastructure, false, true},
		{"framework", r.Framework, &out.framework, false, true},
		{"algorithm", r.Algorithm, &out.algorithm, true, true},
		{"job", r.Job, &out.job, true, false},
		{"dataset", r.Dataset, &out.dataset, false, false},
		{"machine_type", r.MachineType, &out.machineType, false, false},
	} {
		if t.required && strings.TrimSpace(t.text) == "" {
			return rule{}, &RuleError{0, t.name, "is missing: say what the workload is called"}
		}
		var err error
		if *t.to, err = parseTemplate(t.name, t.text, out.groups, groups); err != nil {
			return rule{}, err
		}
		if fixed, ok := t.to.fixed(); ok && t.slug && fixed != "" {
			if slug(fixed) != fixed || len(fixed) > model.MaxSlug {
				return rule{}, &RuleError{0, t.name, fmt.Sprintf("may hold only a-z, 0-9, '.' and '-', and at most %d of them: %q", model.MaxSlug, model.Clip(fixed))}
			}
		}
	}
	if fixed, ok := out.machineType.fixed(); ok && fixed != "" {
		if err := (model.Configuration{MachineType: fixed, ScaleOut: 1}).Validate(); err != nil {
			return rule{}, &RuleError{0, "machine_type", problem(err)}
		}
	}
	for i, line := range r.Machines {
		m, err := parseMachine(line)
		if err != nil {
			return rule{}, &RuleError{0, "machines", fmt.Sprintf("entry %d: %v", i+1, err)}
		}
		out.machines = append(out.machines, m)
	}
	return out, r.compileArguments(&out, groups)
}

func (r Rule) compileArguments(out *rule, groups map[string]int) error {
	if len(r.Arguments) > model.MaxArguments {
		return &RuleError{0, "arguments", fmt.Sprintf("are more than %d: %d", model.MaxArguments, len(r.Arguments))}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Arguments)) {
		field := "arguments." + name
		if _, err := model.ParseArgument(name, "x"); err != nil {
			return &RuleError{0, field, problem(err)}
		}
		value, err := parseTemplate(field, r.Arguments[name], out.groups, groups)
		if err != nil {
			return err
		}
		out.arguments = append(out.arguments, argument{name, value})
	}
	return nil
}

func compile(field, text string) (*regexp.Regexp, error) {
	if len(text) > maxPattern {
		return nil, &RuleError{0, field, fmt.Sprintf("is longer than %d bytes", maxPattern)}
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, &RuleError{0, field, fmt.Sprintf("is no regular expression (%s): %q", regexpProblem(err), model.Clip(text))}
	}
	return re, nil
}

// regexpProblem leaves out what the error repeats of the pattern.
func regexpProblem(err error) string {
	text := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	return strings.ReplaceAll(text, "`", "'")
}

// problem is what an error of model's says without the field.
func problem(err error) string {
	var f *model.FieldError
	if errors.As(err, &f) {
		return f.Problem
	}
	return err.Error()
}
