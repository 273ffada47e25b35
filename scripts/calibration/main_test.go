package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// smallTable writes a made-up table in the form of the scout table's.
func smallTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("framework,algorithm,dataset,node_count,machine_type,runtime_s,completed,input_bytes\n")
	for k, dataset := range []string{"small", "large", "huge"} {
		for m, machine := range []string{"c4.large", "m4.large", "r4.large", "m4.xlarge"} {
			for _, nodes := range []int{2, 4, 8, 16} {
				seconds := (100 + 2000/float64(nodes)*float64(k+1)) * (1 + .4*math.Sin(float64(7*k+3*m+nodes)))
				fmt.Fprintf(&b, "spark,sort,%s,%d,%s,%.3f,True,%d\n", dataset, nodes, machine, seconds, 1e9*(k+1))
			}
		}
	}
	path := filepath.Join(t.TempDir(), "runs.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFitsAndReports(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), []string{"--scout", smallTable(t), "--scenarios", "solo"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fitted on seed 0: level ", "scout  suggested         none", "scout        all       fitted"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestErrors(t *testing.T) {
	path := smallTable(t)
	for want, args := range map[string][]string{
		"--scout is missing":        nil,
		"--sets must be 1 or more":  {"--scout", path, "--sets", "0"},
		"would be of what was":      {"--scout", path, "--seed", "0"},
		"unknown scenario":          {"--scout", path, "--scenarios", "solo,A33"},
		"no such file or directory": {"--scout", path, "--c3o", t.TempDir()},
	} {
		if err := run(context.Background(), args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}
