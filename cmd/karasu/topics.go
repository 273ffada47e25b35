package main

import (
	"bytes"
	"strings"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type topicsCmd struct {
	All bool `help:"Also topics that others announce and of which no record is held here."`
	jsonFlag
}

// Help implements kong's interface for examples.
func (topicsCmd) Help() string {
	return `Nodes announce the topics of which they hold records. NODES is how many announce a topic, MOST
RECORDS the most that one of them holds; both are what they say of themselves. Records of topics
that network.subscribe in config.toml selects are fetched by themselves.

Examples:

  karasu topics
  karasu topics --all
  karasu topics --all --json`
}

// Run lists topics.
func (c topicsCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ListTopics(a.ctx, connect.NewRequest(&karasuv1.ListTopicsRequest{All: c.All}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		if c.All {
			c.table(w, res.Msg.GetTopics())
			return
		}
		t := newTable("TOPIC", ">PEERS", ">ORGANISATIONS", ">OWN RECORDS", ">RECEIVED", "SHARE POLICY")
		for _, x := range res.Msg.GetTopics() {
			t.add(strings.TrimPrefix(x.GetName(), "/karasu/1/"), number(x.GetPeers()), number(x.GetOrganisations()),
				number(x.GetOwnRecords()), number(x.GetReceivedRecords()), dash(x.GetPolicy()))
		}
		t.print(w, "No topics are known yet.")
	})
}

// table is of what the network knows.
func (topicsCmd) table(w *bytes.Buffer, topics []*karasuv1.Topic) {
	const few = 3 // names a line
	t := newTable("TOPIC", ">NODES", ">MOST RECORDS", ">HELD HERE", "TAKES PART", "ANNOUNCED BY")
	for _, x := range topics {
		part := "no"
		if x.GetJoined() {
			part = "yes"
		}
		names := x.GetAnnouncedBy()
		by := listed(names[:min(few, len(names))])
		if len(names) > few {
			by = strings.Join(names[:few], ", ") + ", ..."
		}
		t.add(strings.TrimPrefix(x.GetName(), "/karasu/1/"), number(x.GetAnnouncers()), number(x.GetAnnouncedRecords()),
			number(x.GetOwnRecords()+x.GetReceivedRecords()), part, dash(by))
	}
	t.print(w, "No topics are known yet.")
}
