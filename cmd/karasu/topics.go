package main

import (
	"bytes"
	"strings"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type topicsCmd struct{ jsonFlag }

// Run lists topics.
func (c topicsCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ListTopics(a.ctx, connect.NewRequest(&karasuv1.ListTopicsRequest{}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		t := newTable("TOPIC", ">PEERS", ">ORGANISATIONS", ">OWN RECORDS", ">RECEIVED", "SHARE POLICY")
		for _, x := range res.Msg.GetTopics() {
			t.add(strings.TrimPrefix(x.GetName(), "/karasu/1/"), number(x.GetPeers()), number(x.GetOrganisations()),
				number(x.GetOwnRecords()), number(x.GetReceivedRecords()), dash(x.GetPolicy()))
		}
		t.print(w, "No topics are known yet.")
	})
}
