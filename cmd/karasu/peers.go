package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type peersCmd struct {
	List  peersListCmd  `cmd:"" default:"withargs" help:"Peers that the daemon knows (the default)."`
	Reset peersResetCmd `cmd:"" help:"Forget remembered peers, pauses between dials and the greylist, and dial anew."`
}

type peersListCmd struct{ jsonFlag }

// Help implements kong's interface for examples.
func (peersListCmd) Help() string {
	return `SCORE is what the gossip layer thinks of a peer: a little above 0 is good, below -40 it gets no
gossip, below -400 nothing is taken from it. A peer on the greylist sent at least 64 records within
ten minutes that no honest node passes on.

Examples:

  karasu peers
  karasu peers --json`
}

// Run lists peers.
func (c peersListCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ListPeers(a.ctx, connect.NewRequest(&karasuv1.ListPeersRequest{}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		// The organisation is what a peer calls itself; the id is who it is.
		t := newTable("ORGANISATION", "CONNECTED", ">ROUND TRIP", ">RECORDS", ">SCORE", "PEER ID", "ADDRESS")
		for _, p := range res.Msg.GetPeers() {
			t.add(dash(p.GetOrganisation()), connectedWord(p), seconds(p.GetLatencyMs()/1000), number(p.GetRecords()),
				optional(p.Score, func(s float64) string { return fmt.Sprintf("%.1f", s) }), p.GetPeerId(),
				dash(strings.Join(p.GetAddresses()[:min(1, len(p.GetAddresses()))], "")))
		}
		t.hideUnknown("SCORE").print(w, "No peers are known yet. Name one under [network] bootstrap in config.toml, or wait for the local network.")
		for _, p := range res.Msg.GetPeers() {
			if p.GetLastError() != "" {
				kind := "Relay"
				if p.GetBootstrap() {
					kind = "Bootstrap peer"
				}
				fmt.Fprintf(w, "%s %s cannot be dialled: %s\n", kind, clean(p.GetPeerId()), clean(p.GetLastError()))
			}
		}
		printConduct(w, res.Msg.GetPeers())
		printRefusals(w, res.Msg.GetPeers())
	})
}

func connectedWord(p *karasuv1.Peer) string {
	switch {
	case p.GetConnected() && p.GetRelayed():
		return "yes, by relay"
	case p.GetConnected():
		return "yes"
	case p.GetViaOthers():
		return "no, via others"
	}
	return "no"
}

// printConduct says who is kept out and who contradicts itself.
func printConduct(w *bytes.Buffer, peers []*karasuv1.Peer) {
	said := make(map[string]bool)
	for _, p := range peers {
		if n := p.GetTurnedAway(); n > 0 {
			fmt.Fprintf(w, "Kept out %s, %s: it is not on the allowlist or not in the circle (karasu members list).\n", clean(p.GetPeerId()), counted(n, "call"))
		}
		if n := p.GetEquivocations(); n > 0 && !said[p.GetOrganisationId()] {
			said[p.GetOrganisationId()] = true
			fmt.Fprintf(w, "Equivocation of %s, %s: it gave two bodies to one revision, and neither is used.\n", clean(p.GetOrganisationId()), counted(n, "key"))
		}
	}
}

// printRefusals says of whom something was refused, and who is greylisted.
func printRefusals(w *bytes.Buffer, peers []*karasuv1.Peer) {
	for _, p := range peers {
		if len(p.GetRefusals()) == 0 {
			continue
		}
		reasons := make([]string, len(p.GetRefusals()))
		for i, r := range p.GetRefusals() {
			reasons[i] = fmt.Sprintf("%d %s", r.GetCount(), strings.ReplaceAll(r.GetReason(), "_", " "))
		}
		state := "Refused of"
		if left := p.GetGreylistedSeconds(); left > 0 {
			state = fmt.Sprintf("Greylisted for %s more, nothing is taken from", seconds(max(left, 1)))
		}
		fmt.Fprintf(w, "%s %s: %s; the last: %s\n", state, clean(p.GetPeerId()), clean(strings.Join(reasons, ", ")), clean(p.GetLastRefusal()))
	}
}

type peersResetCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Help implements kong's interface for examples.
func (peersResetCmd) Help() string {
	return `Peers that were reached before are remembered and dialled again, those that fail less and less
often. After a move of the network that only costs time: this forgets them, dials the peers of
config.toml at once, and takes all peers off the greylist. Connections stay.

Without a daemon only the file of remembered peers is removed.

Example:

  karasu peers reset`
}

// Run forgets what is known of how to reach peers.
func (c peersResetCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ResetPeers(a.ctx, connect.NewRequest(&karasuv1.ResetPeersRequest{}))
	var gone *unreachableError
	if errors.As(err, &gone) && a.API == "" {
		return c.removeFile(a)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(a.stdout, map[string]any{"forgotten": res.Msg.GetForgotten(), "pardoned": res.Msg.GetPardoned(), "daemon": true})
	}
	return a.print(func(w *bytes.Buffer) {
		fmt.Fprintf(w, "Forgot %s, took %s off the greylist; the peers of config.toml are dialled now.\n",
			counted(res.Msg.GetForgotten(), "remembered peer"), counted(res.Msg.GetPardoned(), "peer"))
	})
}

func (c peersResetCmd) removeFile(a *app) error {
	h, err := a.home()
	if err != nil {
		return err
	}
	if _, err := os.Stat(h.ConfigFile()); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no home at %s; name one with --home or KARASU_HOME", h.ConfigDir)
	}
	err = os.Remove(h.PeersFile())
	removed := err == nil
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("forget remembered peers: %w", err)
	}
	if c.JSON {
		return writeJSON(a.stdout, map[string]any{"removed": removed, "file": h.PeersFile(), "daemon": false})
	}
	return a.print(func(w *bytes.Buffer) {
		if removed {
			fmt.Fprintf(w, "Removed %s; no daemon runs.\n", h.PeersFile())
		} else {
			fmt.Fprintln(w, "No peers are remembered, and no daemon runs.")
		}
	})
}
