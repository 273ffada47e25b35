package spark

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Layout is how a log lies on disk.
type Layout string

// The layouts.
const (
	// File is one file, the default of all versions from 1.3.
	File Layout = "file"
	// Rolling is a folder eventlog_v2_<application>[_<attempt>] with files
	// events_<n>_<application>[.codec][.compact] and an empty appstatus_<application>
	// (from 3.0, the default from 4.0).
	Rolling Layout = "rolling"
	// Legacy is a folder with files EVENT_LOG_<n>, SPARK_VERSION_<version>,
	// COMPRESSION_CODEC_<class> and APPLICATION_COMPLETE (up to 1.2).
	Legacy Layout = "legacy"
	// Databricks is a folder with files eventlog-<date>--<time>[.gz] and, for what was
	// not rolled yet, eventlog.
	Databricks Layout = "databricks"
)

const (
	rollingPrefix   = "eventlog_v2_"
	statusPrefix    = "appstatus_"
	legacyPrefix    = "EVENT_LOG_"
	legacyVersion   = "SPARK_VERSION_"
	legacyComplete  = "APPLICATION_COMPLETE"
	inProgress      = ".inprogress"
	databricksName  = "eventlog"
	compactedSuffix = ".compact"
)

var (
	rollingFile    = regexp.MustCompile(`^events_(\d{1,9})_`)
	legacyFile     = regexp.MustCompile(`^EVENT_LOG_(\d{1,9})$`)
	databricksFile = regexp.MustCompile(`^eventlog-\d{4}-\d{2}-\d{2}--\d{2}-\d{2}`)
)

// layoutOf tells what a folder is, by its name and the names in it; empty is a folder
// like any other.
func layoutOf(name string, entries []fs.DirEntry) Layout {
	if strings.HasPrefix(name, rollingPrefix) {
		return Rolling
	}
	for _, e := range entries {
		switch {
		case e.IsDir():
		case strings.HasPrefix(e.Name(), statusPrefix), rollingFile.MatchString(e.Name()):
			return Rolling // under another name
		case legacyFile.MatchString(e.Name()):
			return Legacy
		case databricksFile.MatchString(e.Name()):
			return Databricks
		}
	}
	return ""
}

// arrange fills in a folder's parts in the order of their events.
func (l *Log) arrange(entries []fs.DirEntry) {
	switch l.Layout {
	case Rolling:
		l.arrangeRolling(entries)
	case Legacy:
		l.arrangeLegacy(entries)
	case Databricks:
		l.arrangeDatabricks(entries)
	case File:
	}
}

type numbered struct {
	n         int
	name      string
	compacted bool
}

// arrangeRolling starts at the newest compacted file, which holds what still matters of
// all before it, and goes on in the order of numbers.
func (l *Log) arrangeRolling(entries []fs.DirEntry) {
	var files []numbered
	status := false
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, statusPrefix) {
			status = true
			l.InProgress = l.InProgress || strings.HasSuffix(name, inProgress)
		}
		if found := rollingFile.FindStringSubmatch(name); found != nil && !e.IsDir() {
			n, _ := strconv.Atoi(found[1])
			files = append(files, numbered{n, name, strings.HasSuffix(name, compactedSuffix)})
		}
	}
	slices.SortFunc(files, func(a, b numbered) int {
		return cmp.Or(cmp.Compare(a.n, b.n), -strings.Compare(a.name, b.name))
	})
	first := 1
	for i, f := range files {
		if f.compacted {
			l.parts, first = nil, f.n
		}
		if i > 0 && files[i-1].n == f.n && !f.compacted {
			continue // the original of a compacted file
		}
		l.parts = append(l.parts, part{name: path.Join(l.root, f.name), number: f.n})
	}
	l.gaps(first)
	if !status && len(files) > 0 {
		l.notes = append(l.notes, "the folder has no appstatus file")
	}
}

// gaps notes the numbers that are missing among the parts.
func (l *Log) gaps(first int) {
	want := first
	for i, p := range l.parts {
		if p.number > want {
			missing := fmt.Sprintf("%d to %d", want, p.number-1)
			if p.number == want+1 {
				missing = strconv.Itoa(want)
			}
			l.notes = append(l.notes, "missing files of the log: "+missing)
			l.parts[i].gap = true
		}
		want = p.number + 1
	}
}

func (l *Log) arrangeLegacy(entries []fs.DirEntry) {
	l.InProgress = true
	var files []numbered
	for _, e := range entries {
		name := e.Name()
		if found := legacyFile.FindStringSubmatch(name); found != nil && !e.IsDir() {
			n, _ := strconv.Atoi(found[1])
			files = append(files, numbered{n: n, name: name})
		}
		if v, ok := strings.CutPrefix(name, legacyVersion); ok {
			l.version = cleanName(v)
		}
		if name == legacyComplete {
			l.InProgress = false
		}
	}
	slices.SortFunc(files, func(a, b numbered) int { return cmp.Compare(a.n, b.n) })
	for _, f := range files {
		l.parts = append(l.parts, part{name: path.Join(l.root, f.name), number: f.n})
	}
	l.gaps(1)
}

// arrangeDatabricks puts the dated files in the order of their dates, which is that of
// their names, and the undated one, which is still written, last.
func (l *Log) arrangeDatabricks(entries []fs.DirEntry) {
	var dated []string
	undated := ""
	for _, e := range entries {
		switch name := e.Name(); {
		case e.IsDir():
		case databricksFile.MatchString(name):
			dated = append(dated, name)
		case strings.TrimSuffix(name, path.Ext(name)) == databricksName:
			undated = name
		}
	}
	slices.Sort(dated)
	if undated != "" {
		dated = append(dated, undated)
	}
	for _, name := range dated {
		l.parts = append(l.parts, part{name: path.Join(l.root, name)})
	}
}
