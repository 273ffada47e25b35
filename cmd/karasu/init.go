package main

import (
	"fmt"
	"strings"
)

type initCmd struct {
	Org string `help:"Name of the organisation that peers will see." placeholder:"NAME" required:""`
}

// Help implements kong's interface for examples.
func (initCmd) Help() string {
	return `Creates a new identity and a commented config.toml. It changes nothing where a home exists.

Examples:

  karasu init --org acme
  karasu init --org acme --home /var/lib/karasu`
}

// Run creates a home.
func (c initCmd) Run(a *app) error {
	if strings.TrimSpace(c.Org) == "" {
		return usagef("--org must not be empty")
	}
	h, err := a.home()
	if err != nil {
		return err
	}
	if err := h.Init(c.Org); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "Created the home of %s.\n  configuration  %s\n  identity       %s\n  data           %s\nNext: karasu daemon\n",
		clean(c.Org), h.ConfigFile(), h.IdentityFile(), h.DataDir)
	return nil
}
