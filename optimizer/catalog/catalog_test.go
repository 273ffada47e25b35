package catalog

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestBuiltin(t *testing.T) {
	c := Builtin()
	if n := len(c.MachineTypes("")); n < 1000 {
		t.Fatalf("%d machine types, want about 1,075", n)
	}
	for _, m := range c.MachineTypes("") {
		if err := m.Validate(); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		if m.USDPerHour > 0 && m.PriceDate.IsZero() {
			t.Errorf("%s has a price without a date", m.Name)
		}
		if m.Source != SourceBuiltin {
			t.Errorf("%s has source %q", m.Name, m.Source)
		}
	}
}

func TestLookup(t *testing.T) {
	c := Builtin()
	for _, tt := range []struct {
		infrastructure, name string
		vcpus, gib, price    float64
	}{
		{"aws", "m4.xlarge", 4, 16, 0.2},
		{"aws-ec2", "M4.XLarge", 4, 16, 0.2},
		{"AWS-EMR", "r4.large", 2, 15.25, 0.133},
		{"emr", "c4.2xlarge", 8, 15, 0.398},
		{"gcp", "n2-standard-8", 8, 32, 0},
		{"dataproc", "n1-highmem-16", 16, 104, 0},
	} {
		m, err := c.Lookup(tt.infrastructure, tt.name)
		if err != nil {
			t.Errorf("%s/%s: %v", tt.infrastructure, tt.name, err)
			continue
		}
		if m.VCPUs != tt.vcpus || m.MemoryGiB != tt.gib || m.USDPerHour != tt.price {
			t.Errorf("%s/%s = %g vCPUs, %g GiB, %g USD/h; want %g, %g, %g", tt.infrastructure, tt.name,
				m.VCPUs, m.MemoryGiB, m.USDPerHour, tt.vcpus, tt.gib, tt.price)
		}
	}
}

func TestLookupErrors(t *testing.T) {
	c := Builtin()
	for _, tt := range []struct {
		infrastructure, name string
		is                   error
		says                 string
	}{
		{"aws-ec2", "m4.xlrge", ErrUnknownMachineType, `unknown machine type "m4.xlrge" for aws-ec2; did you mean m4.xlarge?`},
		{"gcp", "m4.xlarge", ErrUnknownMachineType, `unknown machine type "m4.xlarge" for gcp`},
		{"on-prem", "m4.xlarge", ErrUnknownInfrastructure, "known: aws, gcp"},
		{"", "m4.xlarge", ErrUnknownInfrastructure, ""},
		{"awsome", "m4.xlarge", ErrUnknownInfrastructure, ""},
		{"aws", "", ErrUnknownMachineType, ""},
	} {
		_, err := c.Lookup(tt.infrastructure, tt.name)
		if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s/%s: %v; want %q", tt.infrastructure, tt.name, err, tt.says)
		}
	}
}

func TestStalePrice(t *testing.T) {
	day := func(s string) time.Time {
		d, err := time.Parse(dateForm, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	m := MachineType{USDPerHour: 1, PriceDate: day("2026-07-20")}
	if m.StalePrice(day("2026-12-31")) {
		t.Error("164 days are called stale")
	}
	if !m.StalePrice(day("2027-01-20")) {
		t.Error("184 days are not called stale")
	}
	if (MachineType{PriceDate: day("2020-01-01")}).StalePrice(day("2027-01-01")) {
		t.Error("an unknown price is called stale")
	}
	if (MachineType{USDPerHour: 1}).StalePrice(day("2027-01-01")) {
		t.Error("a price of unknown age is called stale")
	}
}

func TestWatts(t *testing.T) {
	m := MachineType{IdleWatts: 10, FullWatts: 30}
	for _, tt := range []struct{ at, want float64 }{{0, 10}, {.5, 20}, {1, 30}, {2, 30}, {-1, 10}} {
		if w, ok := m.Watts(tt.at); !ok || w != tt.want {
			t.Errorf("Watts(%g) = %g, %v; want %g", tt.at, w, ok, tt.want)
		}
	}
	if _, ok := m.Watts(math.NaN()); ok {
		t.Error("Watts(NaN) is known")
	}
	if _, ok := (MachineType{IdleWatts: 10}).Watts(1); ok {
		t.Error("watts are known without those at full load")
	}
}

func TestSuggest(t *testing.T) {
	c := Builtin()
	for _, tt := range []struct{ infrastructure, name, want string }{
		{"aws", "m4.xlrage", "m4.xlarge"},
		{"aws", "m4xlarge", "m4.xlarge"},
		{"gcp", "n2-standrd-8", "n2-standard-8"},
		{"gcp", "n2-standard8", "n2-standard-8"},
	} {
		got := c.Suggest(tt.infrastructure, tt.name)
		if !slices.Contains(got, tt.want) || len(got) > 3 {
			t.Errorf("Suggest(%s) = %v, want %s among at most three", tt.name, got, tt.want)
		}
	}
	if got := c.Suggest("aws", "toaster"); len(got) > 0 {
		t.Errorf("Suggest(toaster) = %v, want nothing", got)
	}
	if got := c.Suggest("aws", strings.Repeat("x", 1<<20)); len(got) > 0 {
		t.Errorf("a megabyte of x is like %v", got)
	}
}
