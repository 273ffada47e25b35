package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/node/p2p"
	nodeshare "github.com/karasu-project/karasu/node/share"
)

type initCmd struct {
	Org       string   `help:"Name of the organisation that peers will see." placeholder:"NAME" required:""`
	Listen    []string `help:"Address to listen on, as a multiaddr. Default: TCP and QUIC on port 4747." placeholder:"ADDR"`
	Bootstrap []string `help:"A peer to dial: multiaddr that ends in /p2p/<peer id>, as karasu status prints it." placeholder:"ADDR"`
	Local     bool     `help:"Do not look for peers on the local network and through others; dial only --bootstrap."`
	Share     policy   `help:"What leaves of your workloads: off, summaries, models or both. Default: both." words:"off,summaries,models,both" placeholder:"POLICY"`
	JSON      bool     `name:"json" help:"Print JSON: the peer id and the paths."`
}

// Help implements kong's interface for examples.
func (initCmd) Help() string {
	return `Creates a new identity and a commented config.toml. It changes nothing where a home
exists; where only config.toml is missing, it writes a new one and keeps the identity.

Examples:

  karasu init --org acme
  karasu init --org acme --home /var/lib/karasu
  karasu init --org acme --share off
  karasu init --org acme --local --listen /ip4/127.0.0.1/tcp/4748`
}

// Run creates a home.
func (c initCmd) Run(a *app) error {
	if strings.TrimSpace(c.Org) == "" {
		return usagef("--org must not be empty")
	}
	if slices.Contains(c.Bootstrap, "") || slices.Contains(c.Listen, "") {
		return usagef("--bootstrap and --listen must not be empty; karasu status prints addresses that a peer can be dialled at")
	}
	h, err := a.home()
	if err != nil {
		return err
	}
	if err := h.CheckSocket(); err != nil {
		return err
	}
	known := h.HasIdentity()
	err = h.Init(c.Org, node.InitOptions{Listen: c.Listen, Bootstrap: c.Bootstrap, Local: c.Local, Share: nodeshare.Mode(c.Share)})
	if errors.Is(err, p2p.ErrConfig) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return c.printJSON(a, h)
	}
	return a.print(func(w *bytes.Buffer) {
		kept := ""
		if known {
			kept = " (kept)"
		}
		fmt.Fprintf(w, "Created the home of %s.\n  configuration  %s\n  identity       %s%s\n  data           %s\nNext: %s\n",
			clean(c.Org), h.ConfigFile(), h.IdentityFile(), kept, h.DataDir, a.daemonCommand())
	})
}

// daemonCommand is what starts the daemon of the home that this command was about.
func (a *app) daemonCommand() string {
	if a.Home == "" {
		return "karasu daemon"
	}
	return "karasu daemon --home " + a.Home
}

func (c initCmd) printJSON(a *app, h node.Home) error {
	key, err := h.Identity()
	if err != nil {
		return err
	}
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	return writeJSON(a.stdout, map[string]string{
		"organisation": c.Org, "peer_id": id.String(), "config": h.ConfigFile(),
		"identity": h.IdentityFile(), "data": h.DataDir, "socket": h.Socket(),
	})
}
