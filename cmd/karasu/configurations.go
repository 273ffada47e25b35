package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// maxConfigurationsFile bounds what --configs reads: 5,000 candidates have far less.
const maxConfigurationsFile = 1 << 20

// readConfigurations reads the value of --configs: standard input for "-", a file
// of that name, or the list itself. Commas, spaces and new lines separate; # begins
// a comment.
func readConfigurations(a *app, value string) ([]*karasuv1.Configuration, error) {
	text, from := value, "--configs"
	switch info, err := os.Stat(value); {
	case value == "-":
		raw, err := io.ReadAll(io.LimitReader(a.stdin, maxConfigurationsFile))
		if err != nil {
			return nil, fmt.Errorf("read configurations: %w", err)
		}
		text, from = string(raw), "standard input"
	case err == nil && info.Mode().IsRegular():
		if info.Size() > maxConfigurationsFile {
			return nil, usagef("--configs: %s is above %d bytes", value, maxConfigurationsFile)
		}
		raw, err := os.ReadFile(value)
		if err != nil {
			return nil, fmt.Errorf("read configurations: %w", err)
		}
		text, from = string(raw), value
	}
	var out []*karasuv1.Configuration
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line, _, _ = strings.Cut(line, "#")
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(", \t\r", r) }) {
			var c configFlag
			if err := c.UnmarshalText([]byte(word)); err != nil {
				if from == "--configs" {
					return nil, usagef("--configs: neither a file nor a list of configurations: %w", err)
				}
				return nil, usagef("%s:%d: %w", from, i+1, err)
			}
			out = append(out, c.message())
		}
	}
	if len(out) == 0 {
		return nil, usagef("--configs: %s holds no configuration", from)
	}
	return out, nil
}
