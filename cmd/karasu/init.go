package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/karasu-project/karasu/node"
)

type initCmd struct {
	Org       string   `help:"Name of the organisation that peers will see." placeholder:"NAME" required:""`
	Listen    []string `help:"Address to listen on, as a multiaddr. Default: TCP and QUIC on port 4747." placeholder:"ADDR"`
	Bootstrap []string `help:"A peer to dial: multiaddr that ends in /p2p/<peer id>, as karasu status prints it." placeholder:"ADDR"`
	Local     bool     `help:"Do not look for peers on the local network and through others; dial only --bootstrap."`
}

// Help implements kong's interface for examples.
func (initCmd) Help() string {
	return `Creates a new identity and a commented config.toml. It changes nothing where a home exists.

Examples:

  karasu init --org acme
  karasu init --org acme --home /var/lib/karasu
  karasu init --org acme --local --listen /ip4/127.0.0.1/tcp/4748`
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
	if err := h.Init(c.Org, node.InitOptions{Listen: c.Listen, Bootstrap: c.Bootstrap, Local: c.Local}); err != nil {
		return err
	}
	return a.print(func(w *bytes.Buffer) {
		fmt.Fprintf(w, "Created the home of %s.\n  configuration  %s\n  identity       %s\n  data           %s\nNext: karasu daemon\n",
			clean(c.Org), h.ConfigFile(), h.IdentityFile(), h.DataDir)
	})
}
