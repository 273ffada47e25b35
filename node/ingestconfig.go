package node

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/karasu-project/karasu/store/ingest/naming"
)

// WatchKinds are the kinds of records that a folder may be watched for.
func WatchKinds() []string { return []string{"spark", "hadoop"} }

// Bounds of how often a watched folder is looked at without a word of the system.
const (
	// DefaultRescan finds what network file systems do not announce.
	DefaultRescan = 30 * time.Second
	minRescan     = time.Second
	maxRescan     = 24 * time.Hour
	// DefaultQuiet is how long a log that says it is still written has not changed
	// when it is taken as it is: its application was killed.
	DefaultQuiet = 10 * time.Minute
)

// WatchConfig is a folder that the daemon takes executions from.
type WatchConfig struct {
	// Kind is one of [WatchKinds].
	Kind string `toml:"kind"`
	// Path of the folder; a relative one starts at the configuration's folder.
	Path string `toml:"path"`
	// Rescan is the time between two looks; 0 is [DefaultRescan].
	Rescan Duration `toml:"rescan"`
	// Quiet is how long a log in progress has not changed when it is read; 0 is
	// [DefaultQuiet].
	Quiet Duration `toml:"quiet"`
	// Infrastructure and MachineType are those of what is found there, where neither
	// its record nor a rule tells. Each may be empty.
	Infrastructure string `toml:"infrastructure"`
	MachineType    string `toml:"machine_type"`
}

func (w WatchConfig) validate(index int) error {
	bad := func(field, format string, args ...any) error {
		return &entryError{"watch", index, field, fmt.Sprintf(format, args...)}
	}
	switch {
	case !slices.Contains(WatchKinds(), w.Kind):
		return bad("kind", "must be %s: %q", strings.Join(WatchKinds(), " or "), w.Kind)
	case strings.TrimSpace(w.Path) == "":
		return bad("path", "is missing: name the folder with the logs")
	case w.Rescan != 0 && (time.Duration(w.Rescan) < minRescan || time.Duration(w.Rescan) > maxRescan):
		return bad("rescan", "is %s, must be between %s and 24h", time.Duration(w.Rescan), minRescan)
	case w.Quiet != 0 && (time.Duration(w.Quiet) < minRescan || time.Duration(w.Quiet) > maxRescan):
		return bad("quiet", "is %s, must be between %s and 24h", time.Duration(w.Quiet), minRescan)
	}
	if err := (naming.Hints{Infrastructure: w.Infrastructure}).Validate(); err != nil {
		return &entryError{"watch", index, "", err.Error()}
	}
	if err := (naming.Hints{MachineType: w.MachineType}).Validate(); err != nil {
		return &entryError{"watch", index, "machine_type", strings.TrimPrefix(err.Error(), "machine type ")}
	}
	return nil
}

// folder is the watched folder's absolute path.
func (w WatchConfig) folder(h Home) string {
	if filepath.IsAbs(w.Path) {
		return filepath.Clean(w.Path)
	}
	return filepath.Join(h.ConfigDir, w.Path)
}

// Rules compiles the rules that name executions.
func (c Config) Rules() (*naming.Rules, error) { return c.rules() }

func (c Config) rules() (*naming.Rules, error) {
	rules, err := naming.Compile(c.Workloads)
	var bad *naming.RuleError
	if errors.As(err, &bad) {
		return nil, &entryError{"workload", bad.Index, bad.Field, bad.Problem}
	}
	return rules, err
}

// entryError says what is wrong with an entry of a list of tables.
type entryError struct {
	table string
	index int
	// field is a key of the entry, or empty.
	field, problem string
}

// Error returns "[[workload]] 2: name is ...".
func (e *entryError) Error() string {
	return fmt.Sprintf("[[%s]] %d: %s", e.table, e.index+1, strings.TrimSpace(e.field+" "+e.problem))
}

// entryLine finds the line of a key of the index-th table of a list; that of the
// table's header where the key is not to be found. The TOML library knows only the
// places of the last table.
func entryLine(raw []byte, table string, index int, field string) int {
	key, sub, _ := strings.Cut(field, ".")
	header, found, in := 0, 0, -1
	inSub := false
	for i, line := range strings.Split(string(raw), "\n") {
		name, isHeader := headerName(line)
		switch {
		case isHeader && name == "[["+table+"]]":
			in++
			inSub = false
			if in == index {
				header = i + 1
			}
		case isHeader:
			inSub = name == "["+table+"."+key+"]"
			if !strings.HasPrefix(name, "["+table+".") && in == index {
				return max(found, header) // another table
			}
		case in == index && found == 0 && !inSub && startsWithKey(line, key):
			found = i + 1
		case in == index && inSub && sub != "" && startsWithKey(line, sub):
			return i + 1
		}
		if in > index {
			break
		}
	}
	if found > 0 {
		return found
	}
	return header
}

var tomlHeader = regexp.MustCompile(`^\s*(\[\[?)\s*([^\]]*?)\s*(\]\]?)\s*(#.*)?$`)

func headerName(line string) (string, bool) {
	m := tomlHeader.FindStringSubmatch(strings.TrimRight(line, "\r"))
	if m == nil || len(m[1]) != len(m[3]) {
		return "", false
	}
	return m[1] + strings.ReplaceAll(m[2], `"`, "") + m[3], true
}

// startsWithKey says whether a line gives a value to a key, or to one below it.
func startsWithKey(line, key string) bool {
	rest, ok := strings.CutPrefix(strings.ReplaceAll(strings.TrimSpace(line), `"`, ""), key)
	if !ok || key == "" {
		return false
	}
	rest = strings.TrimSpace(rest)
	return strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ".")
}

// unknownLine is ":<line>" of an unknown key in a list of tables, empty elsewhere.
func unknownLine(raw []byte, key toml.Key) string {
	if len(key) < 2 || key[0] != "workload" && key[0] != "watch" {
		return ""
	}
	field := strings.Join(key[1:], ".")
	for i := 0; ; i++ {
		header := entryLine(raw, key[0], i, "")
		if header == 0 {
			return ""
		}
		if line := entryLine(raw, key[0], i, field); line != header {
			return fmt.Sprintf(":%d", line)
		}
	}
}
