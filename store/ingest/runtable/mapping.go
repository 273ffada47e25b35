package runtable

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/karasu-project/karasu/model"
)

// MaxMapping bounds a mapping file, in bytes.
const MaxMapping = 64 << 10

// maxExpansion bounds how deep constants may refer to constants.
const maxExpansion = 4

// ErrMapping says that a mapping file cannot be used.
var ErrMapping = errors.New("unusable mapping")

// Mapping says what the columns of a table mean. It is written as TOML; the presets
// are mappings that come with the program. Names of columns are compared without
// regard to capitals and outer spaces.
type Mapping struct {
	// Name is the file's name without its extension, or the preset's.
	Name string `toml:"-"`
	// Doc says what the table is, for people.
	Doc string `toml:"doc"`
	// RecognisedBy are columns of the table. A preset that has some is used for every
	// table that has them all and none of NotWith.
	RecognisedBy []string `toml:"recognised_by"`
	NotWith      []string `toml:"not_with"`
	// Optional are columns named below that a table may lack.
	Optional []string `toml:"optional"`
	// Ignored are columns that the mapping knows and does not use.
	Ignored []string `toml:"ignored"`
	// Constants give the value of documented columns that the file does not have.
	// {name} in one stands for the row's value of a column of the file or of a
	// documented column, {file} for the file's name without folder and extension.
	Constants map[string]string `toml:"constants"`
	// Columns give the file's column for a documented one.
	Columns map[string]From `toml:"columns"`
	// Arguments give the file's column for an argument of the job.
	Arguments map[string]string `toml:"arguments"`
	// Rows are tried in their order; the first that applies says what becomes of a
	// row. Where there are some, one must apply.
	Rows []RowRule `toml:"rows"`
}

// From is a column of the file. In TOML it is its name, or a table with a unit.
type From struct {
	Column string
	// Unit is what bare numbers are in: ms, s, min, h or d for a runtime, KB to EB and
	// KiB to EiB for a size, % for a utilisation. Empty is the documented unit.
	Unit string
}

// UnmarshalTOML implements [toml.Unmarshaler].
func (f *From) UnmarshalTOML(v any) error {
	switch v := v.(type) {
	case string:
		f.Column = v
		return nil
	case map[string]any:
		for key, value := range v {
			s, ok := value.(string)
			switch {
			case ok && key == "from":
				f.Column = s
			case ok && key == "unit":
				f.Unit = s
			default:
				return fmt.Errorf("a column takes from and unit, both texts, not %q", model.Clip(key))
			}
		}
		return nil
	}
	return errors.New(`a column must look like "name" or { from = "name", unit = "ms" }`)
}

// RowRule says what becomes of rows.
type RowRule struct {
	// When are conditions such as "completed = False" or "runtime_s >= 7200", all of
	// which hold: a column of the file, one of = != < <= > >=, a value.
	When []string `toml:"when"`
	// Outcome is ok, failed or timeout; Skip is why the row is left out. One is set.
	Outcome string `toml:"outcome"`
	Skip    string `toml:"skip"`

	conditions []condition
	outcome    model.Outcome
}

// ReadMapping reads a mapping file. Errors wrap [ErrMapping] and name the file.
func ReadMapping(r io.Reader, name string) (*Mapping, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxMapping+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > MaxMapping {
		return nil, fmt.Errorf("%s: %w: larger than %d bytes", name, ErrMapping, MaxMapping)
	}
	m := &Mapping{Name: stem(name)}
	meta, err := toml.Decode(string(text), m)
	var syntax toml.ParseError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("%s:%d: %w: %s", name, syntax.Position.Line, ErrMapping, syntax.Message)
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %w", name, ErrMapping, err)
	}
	for _, key := range meta.Undecoded() {
		if len(key) > 1 && key[0] == "columns" {
			continue // what From took itself
		}
		return nil, fmt.Errorf("%s: %w: there is no key %q", name, ErrMapping, model.Clip(key.String()))
	}
	if err := m.prepare(); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrMapping, err)
	}
	return m, nil
}

// prepare puts names in lower case, reads conditions and checks everything that does
// not depend on a table.
func (m *Mapping) prepare() error {
	for _, list := range [][]string{m.RecognisedBy, m.NotWith, m.Optional, m.Ignored} {
		for i := range list {
			list[i] = lower(list[i])
		}
	}
	columns := make(map[string]From, len(m.Columns))
	for ours, from := range m.Columns {
		from.Column = lower(from.Column)
		if from.Column == "" {
			return fmt.Errorf("column %q is of no column of the file", model.Clip(ours))
		}
		if err := checkUnit(lower(ours), from.Unit); err != nil {
			return err
		}
		columns[lower(ours)] = from
	}
	constants := make(map[string]string, len(m.Constants))
	for name, value := range m.Constants {
		constants[lower(name)] = value
	}
	for _, name := range append(slices.Sorted(maps.Keys(columns)), slices.Sorted(maps.Keys(constants))...) {
		if !documented(name) {
			return fmt.Errorf("there is no column %q; the columns are %s", model.Clip(name), columnList())
		}
	}
	arguments := make(map[string]string, len(m.Arguments))
	for name, column := range m.Arguments {
		if _, err := model.ParseArgument(name, "0"); err != nil {
			return err
		}
		arguments[lower(name)] = lower(column)
	}
	m.Columns, m.Constants, m.Arguments = columns, constants, arguments
	for i := range m.Rows {
		if err := m.Rows[i].prepare(); err != nil {
			return fmt.Errorf("rule %d for rows: %w", i+1, err)
		}
	}
	for name := range constants {
		if err := m.checkExpansion(name, maxExpansion); err != nil {
			return err
		}
	}
	return nil
}

// checkExpansion refuses constants that refer to themselves.
func (m *Mapping) checkExpansion(name string, depth int) error {
	if depth == 0 {
		return fmt.Errorf("constant %q refers to itself, or through more than %d others", name, maxExpansion)
	}
	for _, ref := range references(m.Constants[name]) {
		if _, is := m.Constants[ref]; is {
			if err := m.checkExpansion(ref, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *RowRule) prepare() error {
	for _, text := range r.When {
		c, err := parseCondition(text)
		if err != nil {
			return err
		}
		r.conditions = append(r.conditions, c)
	}
	if (r.Outcome == "") == (r.Skip == "") {
		return errors.New("needs either an outcome or a reason to skip")
	}
	if r.Outcome != "" {
		var err error
		r.outcome, err = model.ParseOutcome(lower(r.Outcome))
		return err
	}
	return nil
}

// needs returns the file's columns without which the mapping means nothing.
func (m *Mapping) needs() []string {
	var names []string
	for _, from := range m.Columns {
		names = append(names, from.Column)
	}
	names = append(names, slices.Collect(maps.Values(m.Arguments))...)
	names = append(names, m.RecognisedBy...)
	for _, r := range m.Rows {
		for _, c := range r.conditions {
			names = append(names, c.column)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(n string) bool { return slices.Contains(m.Optional, n) })
}

// recognises says whether the header is that of the mapping's table.
func (m *Mapping) recognises(header []string) bool {
	if len(m.RecognisedBy) == 0 {
		return false
	}
	has := func(n string) bool { return slices.Contains(header, n) }
	return !slices.ContainsFunc(m.RecognisedBy, func(n string) bool { return !has(n) }) && !slices.ContainsFunc(m.NotWith, has)
}

//go:embed presets/*.toml
var presetFiles embed.FS

// Presets returns the mappings of the public tables, in the order of their names.
// Each call returns new ones.
func Presets() []*Mapping {
	entries, err := presetFiles.ReadDir("presets")
	if err != nil {
		panic(err) // they are part of the program
	}
	presets := make([]*Mapping, 0, len(entries))
	for _, e := range entries {
		f, err := presetFiles.Open("presets/" + e.Name())
		if err != nil {
			panic(err)
		}
		m, err := ReadMapping(f, e.Name())
		if err != nil {
			panic(err)
		}
		presets = append(presets, m)
	}
	return presets
}

// stem is the name of a file without folder and extension, in lower case.
func stem(name string) string {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	s, _, _ := strings.Cut(base, ".")
	return lower(s)
}

func lower(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// documented says whether there is such a column of [Columns].
func documented(name string) bool {
	if argument, is := strings.CutPrefix(name, argumentPrefix); is {
		return argument != "" && argument != "<name>"
	}
	return slices.ContainsFunc(Columns(), func(c Column) bool { return c.Name == name })
}
