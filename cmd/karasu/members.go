package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"connectrpc.com/connect"

	"github.com/karasu-project/karasu/node/membership"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type membersCmd struct {
	List   membersListCmd   `cmd:"" help:"Who is in the circle."`
	Add    membersAddCmd    `cmd:"" help:"Put an organisation on the list, or change what it says of one."`
	Remove membersRemoveCmd `cmd:"" help:"Take an organisation off the list: nothing new of it is taken."`
	PSK    membersPSKCmd    `cmd:"" name:"psk" help:"Make the key of a private network. Needs no daemon."`
}

// role is what a member does.
type role karasuv1.Role

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *role) UnmarshalText(text []byte) error {
	v, ok := karasuv1.Role_value["ROLE_"+strings.ToUpper(string(text))]
	if !ok || v == 0 {
		return fmt.Errorf("must be member, hub or admin: %q", text)
	}
	*r = role(v)
	return nil
}

func roleText(r karasuv1.Role) string {
	return strings.ToLower(strings.TrimPrefix(r.String(), "ROLE_"))
}

type membersListCmd struct{ jsonFlag }

// Run lists members.
func (c membersListCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ListMembers(a.ctx, connect.NewRequest(&karasuv1.ListMembersRequest{}))
	if err != nil {
		return err
	}
	m := res.Msg
	return c.show(a, m, func(w *bytes.Buffer) {
		if m.GetCircle() == "" {
			fmt.Fprintln(w, "The network is open: config.toml names no [circle].")
			return
		}
		if m.GetRevision() == 0 {
			fmt.Fprintf(w, "Circle %s. No list is known yet: only its founding admins are in.\n", clean(m.GetCircle()))
		} else {
			fmt.Fprintf(w, "Circle %s, list %d of %s, until %s.\n", clean(m.GetCircle()), m.GetRevision(), day(m.GetCreated()), day(m.GetNotAfter()))
		}
		if until := m.GetNotAfter(); until > 0 && until-a.now().Unix() < 30*24*3600 {
			fmt.Fprintln(w, "The list ends soon: a daemon of an admin has to run to renew it.")
		}
		t := newTable("ORGANISATION", "ROLE", ">HOSTS", ">CONNECTED", ">RECORDS", "STATE", "ID")
		for _, x := range m.GetMembers() {
			t.add(dash(x.GetName()), roleText(x.GetRole()), number(uint32(len(x.GetHosts()))), number(x.GetConnected()), number(x.GetRecords()),
				memberState(x), x.GetOrganisationId())
		}
		t.print(w, "Nobody is in the circle.")
	})
}

func memberState(m *karasuv1.CircleMember) string {
	switch {
	case m.GetDropped():
		return "removed " + day(m.GetRemoved()) + ", dropped"
	case m.GetRemoved() > 0:
		return "removed " + day(m.GetRemoved())
	case m.GetSelf():
		return "this organisation"
	case m.GetFounding():
		return "founding"
	}
	return "in"
}

type membersAddCmd struct {
	Organisation string `arg:"" help:"Id of the organisation, or the delegation of its first host, a file." placeholder:"ID|DELEGATION"`
	Name         string `help:"What to call it." placeholder:"NAME"`
	Role         role   `help:"member, hub (everybody stays connected to its hosts) or admin (may change the list). Default: what it was, or member." placeholder:"ROLE"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (membersAddCmd) Help() string {
	return `The daemon has to be an admin's. With the delegation of a host (what karasu org delegate
wrote) the host is introduced, too, so that others let it in. An organisation whose host
has no delegation is added by the id that karasu org show prints there.

Examples:

  karasu members add 12D3KooW... --name globex
  karasu members add globex-delegation.json --name globex --role hub`
}

// Run adds a member.
func (c membersAddCmd) Run(a *app) error {
	request := &karasuv1.ChangeMembersRequest{OrganisationId: c.Organisation, Name: c.Name, Role: karasuv1.Role(c.Role)}
	var grant *membership.Grant
	if _, err := os.Stat(c.Organisation); err == nil {
		if grant, err = membership.ReadGrant(c.Organisation); err != nil {
			return err
		}
		request.OrganisationId = grant.Delegation.Organisation.String()
	} else if err := checkOrganisationID(c.Organisation); err != nil {
		return err
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ChangeMembers(a.ctx, connect.NewRequest(request))
	if err != nil {
		return err
	}
	if grant != nil {
		announce := &karasuv1.AnnounceOrganisationRequest{Record: grant.Record.Envelope}
		if _, err := client.AnnounceOrganisation(a.ctx, connect.NewRequest(announce)); err != nil {
			return fmt.Errorf("the organisation is added, but its host is not introduced; karasu org announce does that: %w", err)
		}
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) { printChanged(w, res.Msg) })
}

func printChanged(w *bytes.Buffer, m *karasuv1.ChangeMembersResponse) {
	fmt.Fprintf(w, "List %d: %s.\n", m.GetRevision(), counted(m.GetMembers(), "member"))
}

type membersRemoveCmd struct {
	Organisation string `arg:"" help:"Id of the organisation; karasu members list shows it." placeholder:"ID"`
	Drop         bool   `help:"Every node also drops what it holds of the organisation."`
	jsonFlag
}

// Help implements kong's interface for examples.
func (membersRemoveCmd) Help() string {
	return `Nodes disconnect its hosts and take nothing that it creates from today on. What it shared
before stays until it expires, unless --drop. karasu members add takes it in again.

Example:

  karasu members remove 12D3KooW... --drop`
}

// Run removes a member.
func (c membersRemoveCmd) Run(a *app) error {
	if err := checkOrganisationID(c.Organisation); err != nil {
		return err
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ChangeMembers(a.ctx, connect.NewRequest(&karasuv1.ChangeMembersRequest{
		OrganisationId: c.Organisation, Remove: true, Drop: c.Drop,
	}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) { printChanged(w, res.Msg) })
}

type membersPSKCmd struct {
	Out string `short:"o" required:"" help:"File to write, of mode 0600. It must not exist." placeholder:"FILE" type:"path"`
}

// Help implements kong's interface for examples.
func (membersPSKCmd) Help() string {
	return `Who does not have the key does not get as far as a handshake. All members need the same
file: give it to them on a way that is safe, and name it as psk_file under [circle] in
config.toml. Such a network is TCP only.

Example:

  karasu members psk -o circle.psk`
}

// Run makes a key.
func (c membersPSKCmd) Run(a *app) error {
	var key [32]byte
	if _, err := rand.Read(key[:]); err != nil {
		return err
	}
	text := "/key/swarm/psk/1.0.0/\n/base16/\n" + hex.EncodeToString(key[:]) + "\n"
	return a.writeOut(c.Out, []byte(text), "Key of a private network in "+c.Out+`. Name it as psk_file under [circle] in config.toml of every member.`)
}
