package main

import (
	"bytes"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type peersCmd struct{ jsonFlag }

// Run lists peers.
func (c peersCmd) Run(a *app) error {
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
		t := newTable("ORGANISATION", "CONNECTED", ">ROUND TRIP", ">RECORDS", "PEER ID", "ADDRESS")
		for _, p := range res.Msg.GetPeers() {
			connected := "no"
			switch {
			case p.GetConnected():
				connected = "yes"
			case p.GetViaOthers():
				connected = "no, via others"
			}
			t.add(dash(p.GetOrganisation()), connected, seconds(p.GetLatencyMs()/1000), number(p.GetRecords()), p.GetPeerId(),
				dash(strings.Join(p.GetAddresses()[:min(1, len(p.GetAddresses()))], "")))
		}
		t.print(w, "No peers are known yet. Name one under [network] bootstrap in config.toml, or wait for the local network.")
		for _, p := range res.Msg.GetPeers() {
			if p.GetLastError() != "" {
				fmt.Fprintf(w, "Bootstrap peer %s cannot be dialled: %s\n", clean(p.GetPeerId()), clean(p.GetLastError()))
			}
		}
	})
}
