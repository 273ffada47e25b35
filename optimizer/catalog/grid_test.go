package catalog

import (
	"errors"
	"strings"
	"testing"
)

func TestRegions(t *testing.T) {
	all := Regions("")
	if len(all) < 60 {
		t.Errorf("%d regions, want about 70", len(all))
	}
	seen := map[string]bool{}
	for _, r := range all {
		if !(r.GramsPerKWh >= 5 && r.GramsPerKWh <= 1500) || r.Name != strings.ToLower(r.Name) || seen[r.Cloud+r.Name] {
			t.Errorf("%+v", r)
		}
		seen[r.Cloud+r.Name] = true
	}
	for _, infrastructure := range []string{"aws", "gcp", "azure"} {
		if len(Regions(infrastructure)) == 0 {
			t.Errorf("%s has no regions", infrastructure)
		}
		if _, err := LookupRegion(infrastructure, ""); err != nil {
			t.Error(err)
		}
	}
}

func TestLookupRegion(t *testing.T) {
	for _, tt := range []struct {
		infrastructure, name, want string
		grams                      float64
	}{
		{"aws-ec2", "", "us-east-1", 415.75},
		{"EMR", "EU-West-3", "eu-west-3", 52},
		{"azure-hdinsight", "West Europe", "westeurope", 390},
		{"gcp", "europe-west6", "europe-west6", 29},
		{"lab", "eu-north-1", "eu-north-1", 8}, // one's own cluster may name any grid
	} {
		r, err := LookupRegion(tt.infrastructure, tt.name)
		if err != nil || r.Name != tt.want || r.GramsPerKWh != tt.grams {
			t.Errorf("%s %q: %+v, %v", tt.infrastructure, tt.name, r, err)
		}
	}
	for _, tt := range []struct{ infrastructure, name, say string }{
		{"aws", "eu-wst-1", "did you mean eu-west-1? (karasu catalog regions lists "},
		{"aws", "atlantis", "for aws; karasu catalog regions lists all "},
		{"gcp", "eu-west-1", "for gcp"},
		{"lab", "", "name one whose grid is alike"},
	} {
		_, err := LookupRegion(tt.infrastructure, tt.name)
		if !errors.Is(err, ErrUnknownRegion) || !strings.Contains(err.Error(), tt.say) {
			t.Errorf("%s %q: %v", tt.infrastructure, tt.name, err)
		}
	}
}
