package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/karasu-project/karasu/model"
)

func TestDefaultSpace(t *testing.T) {
	c := Builtin()
	for _, infrastructure := range []string{"aws-ec2", "aws-emr", "gcp", "dataproc"} {
		for _, needWatts := range []bool{false, true} {
			space, err := c.DefaultSpace(infrastructure, needWatts)
			if err != nil {
				t.Fatal(err)
			}
			if len(space) != 90 {
				t.Errorf("%s has %d configurations, want 90", infrastructure, len(space))
			}
			cores, memory := map[float64]bool{}, map[float64]bool{}
			for _, s := range space {
				cores[s.Machine.VCPUs], memory[s.Machine.MemoryGiB/s.Machine.VCPUs] = true, true
				if n := float64(s.Configuration.ScaleOut) * s.Machine.VCPUs; n > maxDefaultVCPUs {
					t.Errorf("%s has %g vCPUs", s.Configuration, n)
				}
				if _, known := s.Machine.Watts(1); strings.HasPrefix(infrastructure, "aws") && (s.Machine.USDPerHour == 0 || needWatts && !known) {
					t.Errorf("%s lacks a price or watts", s.Configuration)
				}
			}
			if len(cores) != 3 || len(memory) != 3 {
				t.Errorf("%s varies %d sizes and %d ratios of memory, want 3 and 3", infrastructure, len(cores), len(memory))
			}
		}
	}
}

func TestDefaultSpaceOfOwnInfrastructure(t *testing.T) {
	for _, tt := range []struct{ machines, min, max int }{{1, 11, 11}, {9, 90, 99}, {10, 50, 100}, {25, 75, 100}} {
		b := strings.Builder{}
		b.WriteString("cloud,machine_type,vcpus,memory_gib\n")
		for i := range tt.machines {
			fmt.Fprintf(&b, "lab,type-%d,8,32\n", i)
		}
		c, err := Load(Builtin(), write(t, "own.csv", b.String()))
		if err != nil {
			t.Fatal(err)
		}
		space, err := c.DefaultSpace("lab", false)
		if err != nil {
			t.Fatal(err)
		}
		if len(space) < tt.min || len(space) > tt.max {
			t.Errorf("%d machine types make %d configurations, want %d to %d", tt.machines, len(space), tt.min, tt.max)
		}
	}
	b := strings.Builder{}
	b.WriteString("cloud,machine_type,vcpus,memory_gib\n")
	for i := range 60 {
		fmt.Fprintf(&b, "lab,type-%d,8,32\n", i)
	}
	c, err := Load(Builtin(), write(t, "own.csv", b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := c.DefaultSpace("lab", false); err == nil {
		t.Errorf("60 machine types make %d configurations, want an error", len(s))
	}
	if _, err := c.DefaultSpace("moon", false); err == nil {
		t.Error("an unknown infrastructure has a space")
	}
}

// A file that only prices a service must not shrink its default space to what it prices.
func TestDefaultSpaceWithOverrides(t *testing.T) {
	c, err := Load(Builtin(), write(t, "own.toml", ownTOML))
	if err != nil {
		t.Fatal(err)
	}
	space, err := c.DefaultSpace("aws-emr", false)
	if err != nil || len(space) != 90 {
		t.Errorf("%d configurations, %v; want 90", len(space), err)
	}
}

func TestSpace(t *testing.T) {
	c := Builtin()
	got, err := c.Space("aws-ec2", []string{"M4.xlarge", "c4.large", "m4.xlarge"}, []int{4, 8, 4})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range got {
		names = append(names, g.Configuration.String())
	}
	if s := strings.Join(names, " "); s != "4xm4.xlarge 8xm4.xlarge 4xc4.large 8xc4.large" {
		t.Errorf("space is %s", s)
	}
	if _, err := c.Space("aws-ec2", []string{"m4.xlarge"}, []int{0}); err == nil {
		t.Error("a scale-out of 0 is taken")
	}
	one, err := c.Choices("aws-ec2", []model.Configuration{{MachineType: "M4.XLARGE", ScaleOut: 3}, {MachineType: "m4.xlarge", ScaleOut: 3}})
	if err != nil || len(one) != 1 || one[0].Configuration.MachineType != "m4.xlarge" {
		t.Errorf("choices are %v, %v", one, err)
	}
}
