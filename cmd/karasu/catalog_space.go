package main

import (
	"bytes"
	"fmt"

	"github.com/karasu-project/karasu/optimizer/catalog"
)

type catalogSpaceCmd struct {
	Infrastructure string `arg:"" help:"Such as aws-emr, gcp or a name of your catalog file."`
	Energy         bool   `help:"The candidates of a search for the lowest energy."`
	File           string `help:"Catalog file over the built-in table. Default: that of config.toml." placeholder:"FILE" type:"path"`
	JSON           bool   `name:"json" help:"Print JSON instead of a table."`
}

// Run lists the default candidates of an infrastructure.
func (c catalogSpaceCmd) Run(a *app) error {
	all, err := a.catalog(c.File)
	if err != nil {
		return err
	}
	space, err := all.DefaultSpace(c.Infrastructure, c.Energy)
	if err != nil {
		return err
	}
	if c.JSON {
		names := []string{}
		for _, s := range space {
			names = append(names, s.Configuration.String())
		}
		return writeJSON(a.stdout, names)
	}
	t := newTable("MACHINE TYPE", ">VCPUS", ">GIB", ">USD/HOUR", "NODES")
	for i := 0; i < len(space); {
		m, nodes := space[i].Machine, ""
		for ; i < len(space) && sameMachine(space[i].Machine, m); i++ {
			nodes += fmt.Sprintf(",%d", space[i].Configuration.ScaleOut)
		}
		t.add(m.Name, fmt.Sprintf("%g", m.VCPUs), fmt.Sprintf("%g", m.MemoryGiB), figure(m.USDPerHour, "%.4f"), nodes[1:])
	}
	return a.print(func(w *bytes.Buffer) {
		t.print(w, "No machine type is known there.")
		fmt.Fprintf(w, "%s.\n", counted(len(space), "configuration"))
	})
}

func sameMachine(a, b catalog.MachineType) bool { return a.Cloud == b.Cloud && a.Name == b.Name }
