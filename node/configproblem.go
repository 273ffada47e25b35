package node

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// The TOML library tells wrong types in Go's terms and has no error to ask for the
// parts.
var (
	tomlType  = regexp.MustCompile(`^toml: line (\d+) \(last key "([^"]*)"\): incompatible types: TOML value has type (\S+); destination has type (\S+)$`)
	tomlTable = regexp.MustCompile(`^toml: line (\d+) \(last key "([^"]*)"\): type mismatch for \S+: expected (table) but found (\S+)$`)
	slogLevel = regexp.MustCompile(`^slog: level string (".*"): `)
)

// tomlProblem says what is wrong with a file, for after its name: ":3: share.policy
// must be ...".
func tomlProblem(err error) string {
	text := err.Error()
	if m := tomlType.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf(":%s: %s must be %s, and is %s", m[1], m[2], tomlKind(m[4]), tomlKind(m[3]))
	}
	if m := tomlTable.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf(":%s: %s must be %s, and is %s", m[1], m[2], tomlKind(m[3]), tomlKind(m[4]))
	}
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		return ": " + text
	}
	problem := parse.Message
	problem = strings.TrimSuffix(problem, " for int64")
	if m := slogLevel.FindStringSubmatch(problem); m != nil {
		problem = fmt.Sprintf("must be DEBUG, INFO, WARN or ERROR: %s", m[1])
	}
	if strings.HasPrefix(problem, "must ") {
		problem = parse.LastKey + " " + problem
	}
	return fmt.Sprintf(":%d: %s", parse.Position.Line, problem)
}

// tomlKind names a type of Go's as the file's author knows it.
func tomlKind(name string) string {
	known := map[string]string{
		"string": "text in quotes", "bool": "true or false", "boolean": "true or false", "int64": "a whole number",
		"integer": "a whole number", "float64": "a number with a fraction", "float": "a number",
		"slice": "a list in brackets", "array": "a list in brackets", "table": "a table", "map": "a table",
	}
	if text, ok := known[name]; ok {
		return text
	}
	return "of type " + name
}
