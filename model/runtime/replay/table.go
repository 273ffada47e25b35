package replay

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
)

// Table is the measurements of one algorithm.
type Table struct {
	// Job is the algorithm's name.
	Job string
	// Histories has one entry a context, in the order of the file.
	Histories []predict.History
}

// Names of the jobs in the two public data sets; a file each.
var (
	C3OJobs  = []string{"sort", "grep", "sgd", "kmeans", "pagerank"}
	BellJobs = []string{"grep", "sgd", "pagerank"}
)

// maxTableRows bounds a table, against files that are something else.
const maxTableRows = 1_000_000

// LoadC3O reads the tables c3o/<job>.tsv below a folder.
func LoadC3O(dir string) ([]Table, error) {
	return loadTables(dir, "c3o", ".tsv", C3OJobs, ReadC3O)
}

// LoadBell reads the tables bell/<job>.csv below a folder.
func LoadBell(dir string) ([]Table, error) {
	return loadTables(dir, "bell", ".csv", BellJobs, ReadBell)
}

func loadTables(dir, folder, ext string, jobs []string, read func(string, io.Reader) (Table, error)) ([]Table, error) {
	tables := make([]Table, 0, len(jobs))
	for _, job := range jobs {
		path := filepath.Join(dir, folder, job+ext)
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read measurements: %w", err)
		}
		t, err := read(job, f)
		_ = f.Close() // only read
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// ReadC3O reads a table of tab-separated values with the columns instance_count,
// machine_type, slots (vCPUs of the cluster), memory (MB of the cluster),
// data_size_MB and gross_runtime (seconds). All other columns are arguments.
func ReadC3O(job string, r io.Reader) (Table, error) {
	header, rows, err := readRows(r, '\t')
	if err != nil {
		return Table{}, err
	}
	fixed := map[string]int{"instance_count": -1, "machine_type": -1, "slots": -1, "memory": -1, "data_size_MB": -1, "gross_runtime": -1}
	var arguments []int
	for i, name := range header {
		if _, known := fixed[name]; known {
			fixed[name] = i
		} else {
			arguments = append(arguments, i)
		}
	}
	for name, i := range fixed {
		if i < 0 {
			return Table{}, fmt.Errorf("no column %s", name)
		}
	}
	t, index := Table{Job: job}, map[string]int{}
	for line, row := range rows {
		number := func(name string) float64 {
			v, e := strconv.ParseFloat(row[fixed[name]], 64)
			if e != nil && err == nil {
				err = fmt.Errorf("line %d: column %s: %w", line+2, name, e)
			}
			return v
		}
		nodes := number("instance_count")
		c := predict.Context{
			Environment: "aws-emr", MachineType: row[fixed["machine_type"]],
			Resources:  model.Resources{VCPUs: number("slots") / nodes, MemoryGiB: number("memory") / 1000 / nodes},
			InputBytes: number("data_size_MB") * 1e6,
		}
		for _, i := range arguments {
			a := predict.Argument{Name: header[i]}
			if v, e := strconv.ParseFloat(row[i], 64); e == nil {
				a.Number = v
			} else {
				a.Text = row[i]
			}
			c.Arguments = append(c.Arguments, a)
		}
		run := predict.Observation{ScaleOut: int(nodes), RuntimeSeconds: number("gross_runtime")}
		if err != nil {
			return Table{}, err
		}
		if err := run.Validate(); err != nil {
			return Table{}, fmt.Errorf("line %d: %w", line+2, err)
		}
		if err := c.Validate(); err != nil {
			return Table{}, fmt.Errorf("line %d: %w", line+2, err)
		}
		t.add(index, c, run)
	}
	return t, nil
}

// ReadBell reads a table with the columns Nodes and Runtime (milliseconds) of one
// context in a private cluster, of which input and arguments were not published.
func ReadBell(job string, r io.Reader) (Table, error) {
	header, rows, err := readRows(r, ',')
	if err != nil {
		return Table{}, err
	}
	if !slices.Equal(header, []string{"Nodes", "Runtime"}) {
		return Table{}, fmt.Errorf("columns are %s, want Nodes, Runtime", strings.Join(header, ", "))
	}
	c := predict.Context{
		Environment: "bell-cluster", MachineType: "bell-node",
		// Bell, section IV-A: quad-core machines with two threads a core and 16 GB.
		Resources: model.Resources{VCPUs: 8, MemoryGiB: 16}, InputBytes: predict.Unknown,
	}
	t, index := Table{Job: job}, map[string]int{}
	for line, row := range rows {
		nodes, err := strconv.Atoi(row[0])
		if err != nil {
			return Table{}, fmt.Errorf("line %d: %w", line+2, err)
		}
		ms, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			return Table{}, fmt.Errorf("line %d: %w", line+2, err)
		}
		run := predict.Observation{ScaleOut: nodes, RuntimeSeconds: ms / 1000}
		if err := run.Validate(); err != nil {
			return Table{}, fmt.Errorf("line %d: %w", line+2, err)
		}
		t.add(index, c, run)
	}
	return t, nil
}

func readRows(r io.Reader, comma rune) (header []string, rows [][]string, err error) {
	c := csv.NewReader(r)
	c.Comma = comma
	if header, err = c.Read(); err != nil {
		return nil, nil, fmt.Errorf("read header: %w", err)
	}
	for {
		row, err := c.Read()
		if err == io.EOF {
			return header, rows, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if len(rows) == maxTableRows {
			return nil, nil, fmt.Errorf("more than %d rows", maxTableRows)
		}
		rows = append(rows, row)
	}
}

func (t *Table) add(index map[string]int, c predict.Context, run predict.Observation) {
	key := fmt.Sprint(c)
	i, ok := index[key]
	if !ok {
		i = len(t.Histories)
		index[key] = i
		t.Histories = append(t.Histories, predict.History{Context: c})
	}
	t.Histories[i].Runs = append(t.Histories[i].Runs, run)
}

// disjoint says whether two contexts of a table share neither machine type nor
// input size nor any argument of those that vary in the table.
func disjoint(a, b predict.Context, varying map[string]bool) bool {
	if a.MachineType == b.MachineType || a.InputBytes == b.InputBytes {
		return false
	}
	for _, v := range a.Arguments {
		if o, ok := b.Argument(v.Name); ok && varying[v.Name] && o == v {
			return false
		}
	}
	return true
}

// varying returns the names of arguments with more than one value in the table.
func (t *Table) varying() map[string]bool {
	out, first := map[string]bool{}, map[string]predict.Argument{}
	for _, h := range t.Histories {
		for _, a := range h.Context.Arguments {
			if f, ok := first[a.Name]; !ok {
				first[a.Name] = a
			} else if f != a {
				out[a.Name] = true
			}
		}
	}
	return out
}
