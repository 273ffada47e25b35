package main

import (
	"bytes"
	"fmt"

	"github.com/karasu-project/karasu/optimizer/catalog"
)

type catalogRegionsCmd struct {
	Infrastructure string `arg:"" optional:"" help:"Only those of its cloud, such as aws-emr or gcp."`
	jsonFlag
}

// Help implements kong's interface for examples.
func (catalogRegionsCmd) Help() string {
	return "Examples:\n\n  karasu catalog regions\n  karasu catalog regions aws-ec2"
}

// Run lists the regions that --region takes.
func (c catalogRegionsCmd) Run(a *app) error {
	regions := catalog.Regions(c.Infrastructure)
	if len(regions) == 0 {
		return usagef("%s has no regions of its own, and may name that of any cloud whose grid is alike: karasu catalog regions", c.Infrastructure)
	}
	if c.JSON {
		type region struct {
			Cloud       string  `json:"cloud"`
			Name        string  `json:"name"`
			GramsPerKWh float64 `json:"g_co2e_per_kwh"`
		}
		out := make([]region, len(regions))
		for i, r := range regions {
			out[i] = region(r)
		}
		return writeJSON(a.stdout, out)
	}
	return a.print(func(w *bytes.Buffer) {
		t := newTable("CLOUD", "REGION", ">G CO2E/KWH")
		for _, r := range regions {
			t.add(r.Cloud, r.Name, fmt.Sprintf("%.0f", r.GramsPerKWh))
		}
		t.print(w, "")
	})
}
