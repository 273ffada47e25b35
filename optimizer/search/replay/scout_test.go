package replay

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
)

// dataPath finds a file of the public measurements, or skips.
func dataPath(t testing.TB, elements ...string) string {
	t.Helper()
	roots := []string{os.Getenv("KARASU_DATA")}
	if roots[0] == "" {
		roots = nil
		for _, up := range []string{"../../../..", "../../../../.."} {
			roots = append(roots, filepath.Join(up, "shared", "data"))
		}
	}
	for _, root := range roots {
		path := filepath.Join(append([]string{root}, elements...)...)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Skipf("public measurements are absent: set KARASU_DATA to a directory with %s", filepath.Join(elements...))
	return ""
}

func readTable(t testing.TB, path string, comma rune) []map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r := csv.NewReader(f)
	r.Comma = comma
	records, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]map[string]string, 0, len(records)-1)
	for _, rec := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = rec[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func number(t testing.TB, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// machines are the EC2 types of the scout and C3O tables with their prices of
// 2021-11-10 (c4, m4, r4), as the Karasu evaluation used them.
func machineCandidate(t testing.TB, machine string, nodes int) search.Candidate {
	t.Helper()
	family, size, _ := strings.Cut(machine, ".")
	cores, okSize := map[string]float64{"large": 2, "xlarge": 4, "2xlarge": 8}[size]
	gib, okFamily := map[string]float64{"c4": 1.875, "m4": 4, "r4": 7.625}[family]
	usd, okPrice := map[string]float64{
		"c4.large": .1, "c4.xlarge": .199, "c4.2xlarge": .398, "m4.large": .1, "m4.xlarge": .2, "m4.2xlarge": .4,
		"r4.large": .133, "r4.xlarge": .266, "r4.2xlarge": .532,
	}[machine]
	if !okSize || !okFamily || !okPrice {
		t.Fatalf("unknown machine type %s", machine)
	}
	return search.Candidate{
		Configuration: model.Configuration{MachineType: machine, ScaleOut: nodes},
		Resources:     model.Resources{VCPUs: cores, MemoryGiB: cores * gib}, USDPerHour: usd,
	}
}

func candidatesOf(t testing.TB, runs []model.Run) []search.Candidate {
	t.Helper()
	var all []search.Candidate
	seen := map[model.Configuration]bool{}
	for _, r := range runs {
		if !seen[r.Configuration] {
			seen[r.Configuration] = true
			all = append(all, machineCandidate(t, r.Configuration.MachineType, r.Configuration.ScaleOut))
		}
	}
	slices.SortFunc(all, func(a, b search.Candidate) int {
		if a.Configuration.MachineType != b.Configuration.MachineType {
			return strings.Compare(a.Configuration.MachineType, b.Configuration.MachineType)
		}
		return a.Configuration.ScaleOut - b.Configuration.ScaleOut
	})
	return all
}

// scout reads the table of 18 workloads x 69 configurations.
func scout(t testing.TB) ([]model.Run, []search.Candidate) {
	t.Helper()
	const limit = 7200 // seconds, after which a run was stopped
	var runs []model.Run
	for _, row := range readTable(t, dataPath(t, "scout", "scout.csv"), ',') {
		r := model.Run{
			Workload:      model.Workload{Infrastructure: "aws-ec2", Framework: row["framework"], Algorithm: row["algorithm"], Dataset: row["dataset"]},
			Configuration: model.Configuration{MachineType: row["machine_type"], ScaleOut: int(number(t, row["node_count"]))},
			Outcome:       model.OK, RuntimeSeconds: number(t, row["runtime_s"]),
		}
		r.Workload.InputBytes = max(0, number(t, row["input_bytes"]))
		if row["completed"] != "True" {
			r.Outcome = model.Failed
			if r.RuntimeSeconds >= limit {
				r.Outcome = model.Timeout
			}
		}
		runs = append(runs, r)
	}
	return runs, candidatesOf(t, runs)
}

// c3o reads the contexts of five Spark jobs that cover at least minConfigurations
// configurations; the five repeats of each become one run.
func c3o(t testing.TB) ([]model.Run, []search.Candidate) {
	t.Helper()
	var runs []model.Run
	for _, job := range []string{"grep", "kmeans", "pagerank", "sgd", "sort"} {
		for _, row := range readTable(t, dataPath(t, "c3o", job+".tsv"), '\t') {
			var context []string
			for name, v := range row {
				switch name {
				case "instance_count", "machine_type", "slots", "memory", "gross_runtime":
				default:
					context = append(context, name+"="+v)
				}
			}
			slices.Sort(context)
			runs = append(runs, model.Run{
				Workload: model.Workload{
					Infrastructure: "aws-emr", Framework: "spark", Algorithm: job, Dataset: strings.Join(context, " "), InputBytes: number(t, row["data_size_MB"]) * 1e6,
				},
				Configuration: model.Configuration{MachineType: row["machine_type"], ScaleOut: int(number(t, row["instance_count"]))},
				Outcome:       model.OK, RuntimeSeconds: number(t, row["gross_runtime"]),
			})
		}
	}
	return runs, candidatesOf(t, runs)
}
