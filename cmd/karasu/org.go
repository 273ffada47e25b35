package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"connectrpc.com/connect"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/node/membership"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

type orgCmd struct {
	Show     orgShowCmd     `cmd:"" help:"Which organisation this host signs for, and until when. Needs no daemon."`
	Create   orgCreateCmd   `cmd:"" help:"Make the key of an organisation. Needs no daemon."`
	Request  orgRequestCmd  `cmd:"" help:"Write this host's request for a delegation. Needs no daemon."`
	Delegate orgDelegateCmd `cmd:"" help:"Let a host sign for the organisation for a while. Needs no daemon."`
	Import   orgImportCmd   `cmd:"" help:"Take a delegation for this host over. Needs no daemon."`
	Announce orgAnnounceCmd `cmd:"" help:"Tell the network of a delegation or rotation, through this daemon."`
	Rotate   orgRotateCmd   `cmd:"" help:"End all delegations so far. Needs no daemon."`
	Export   orgExportCmd   `cmd:"" help:"Write the organisation's key, encrypted, or its public key. Needs no daemon."`
}

type orgShowCmd struct{ jsonFlag }

// Help implements kong's interface for examples.
func (orgShowCmd) Help() string {
	return `An organisation is its key. A host without a delegation is an organisation of its own,
with the host's key; with one it signs in the name of another, which may have many hosts.

Example:

  karasu org show --json`
}

// orgState is what a host may sign.
type orgState struct {
	OrganisationID string `json:"organisation_id"`
	HostID         string `json:"host_id"`
	Name           string `json:"name"`
	Writer         string `json:"writer"`
	Delegated      bool   `json:"delegated"`
	Epoch          uint64 `json:"epoch"`
	Admin          bool   `json:"may_sign_membership"`
	NotBefore      string `json:"not_before,omitempty"`
	NotAfter       string `json:"not_after,omitempty"`
	Expired        bool   `json:"expired"`
	// Key is where the organisation's key is, if it is here.
	Key string `json:"organisation_key,omitempty"`
	// Next is the host that has asked to replace this one's key.
	Next string `json:"next_host_id,omitempty"`
}

// Run says who signs here.
func (c orgShowCmd) Run(a *app) error {
	h, err := a.home()
	if err != nil {
		return err
	}
	s, err := readOrgState(h, a.now())
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(a.stdout, s)
	}
	return a.print(func(w *bytes.Buffer) {
		fmt.Fprintf(w, "organisation  %s  (%s)\nhost          %s\n", s.OrganisationID, dash(clean(s.Name)), s.HostID)
		if s.Delegated {
			state := "valid until"
			if s.Expired {
				state = "ENDED on"
			}
			fmt.Fprintf(w, "delegation    %s %s, writer %s, epoch %d", state, s.NotAfter[:len(time.DateOnly)], quoteEmpty(s.Writer), s.Epoch)
			if s.Admin {
				fmt.Fprint(w, ", may sign membership lists")
			}
			fmt.Fprintln(w)
		} else {
			fmt.Fprintln(w, "delegation    none: the host's key is the organisation's")
		}
		if s.Key != "" {
			fmt.Fprintf(w, "key           %s\n", s.Key)
		}
		if s.Next != "" {
			fmt.Fprintf(w, "next host     %s, once a delegation for it is imported\n", s.Next)
		}
	})
}

func readOrgState(h node.Home, now time.Time) (*orgState, error) {
	signer, err := h.Signer()
	if err != nil {
		return nil, err
	}
	config, err := node.LoadConfig(h)
	if err != nil {
		return nil, err
	}
	s := &orgState{
		OrganisationID: signer.Writer().Organisation.String(), HostID: signer.Host().String(), Name: config.Organisation,
		Writer: signer.Writer().Name, Admin: signer.Admin(),
	}
	if d := signer.Delegation(); d != nil {
		s.Delegated, s.Epoch, s.Expired = true, d.Epoch, now.After(d.NotAfter)
		s.NotBefore, s.NotAfter = d.NotBefore.Format(time.RFC3339), d.NotAfter.Format(time.RFC3339)
	}
	if _, err := os.Stat(h.OrganisationFile()); err == nil {
		s.Key = h.OrganisationFile()
	}
	if _, err := os.Stat(h.NextIdentityFile()); err == nil {
		r, err := h.Request(true, nil)
		if err != nil {
			return nil, err
		}
		s.Next = r.Host.String()
	}
	return s, nil
}

// quoteEmpty shows an empty name, too.
func quoteEmpty(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

type orgCreateCmd struct {
	FromIdentity bool `help:"Make this host's key the organisation's, which keeps the id that the host had so far."`
	jsonFlag
}

// Help implements kong's interface for examples.
func (orgCreateCmd) Help() string {
	return `Writes organisation.key to the home. Whoever has that file speaks for the organisation:
export it with a passphrase and take it away from machines that are on the network
(karasu org export --remove).

Examples:

  karasu org create                 # a new organisation, for several hosts
  karasu org create --from-identity # this host's organisation gets more hosts, or a new key of the host`
}

// Run makes a key.
func (c orgCreateCmd) Run(a *app) error {
	h, err := a.home()
	if err != nil {
		return err
	}
	key, err := h.CreateOrganisation(c.FromIdentity)
	if err != nil {
		return err
	}
	id, err := key.ID()
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(a.stdout, map[string]string{"organisation_id": id.String(), "organisation_key": h.OrganisationFile()})
	}
	return a.print(func(w *bytes.Buffer) {
		fmt.Fprintf(w, "Organisation %s, key in %s.\n", id, h.OrganisationFile())
		if c.FromIdentity {
			fmt.Fprintln(w, "This host goes on as it is. Other hosts: karasu org request there, karasu org delegate here.")
		} else {
			fmt.Fprintln(w, "Next, on each host: karasu org request -o request.json; here: karasu org delegate request.json -o delegation.json; there: karasu org import delegation.json")
		}
	})
}

type orgRequestCmd struct {
	Out    string  `short:"o" help:"File to write. It must not exist. Default: standard output." placeholder:"FILE" type:"path"`
	NewKey bool    `help:"For a new key of this host, which replaces its key when the delegation is imported. Its peer id changes."`
	Writer *string `help:"Name under which the host's records go on: a-z, 0-9 and '-'. Default: the name that it has, or one made of its id. Hosts that run at the same time need different ones." placeholder:"NAME"`
}

// Help implements kong's interface for examples.
func (orgRequestCmd) Help() string {
	return `Examples:

  karasu org request -o request.json
  karasu org request --new-key -o request.json   # replace this host's key`
}

// Run writes a request.
func (c orgRequestCmd) Run(a *app) error {
	if c.Writer != nil && !commons.ValidWriter(*c.Writer) {
		return usagef("--writer must be at most %d of a-z, 0-9 and '-': %q", commons.MaxWriter, *c.Writer)
	}
	h, err := a.home()
	if err != nil {
		return err
	}
	r, err := h.Request(c.NewKey, c.Writer)
	if err != nil {
		return err
	}
	raw, err := r.Encode()
	if err != nil {
		return err
	}
	return a.writeOut(c.Out, raw, fmt.Sprintf("Request of host %s. Give it to who has the organisation's key: karasu org delegate %s", r.Host, c.Out))
}

type orgImportCmd struct {
	File string `arg:"" help:"What karasu org delegate wrote." type:"path"`
	jsonFlag
}

// Run takes a delegation over.
func (c orgImportCmd) Run(a *app) error {
	h, err := a.home()
	if err != nil {
		return err
	}
	g, err := membership.ReadGrant(c.File)
	if err != nil {
		return err
	}
	replaced, err := h.Import(g, a.now())
	if err != nil {
		return err
	}
	d := g.Delegation
	if c.JSON {
		return writeJSON(a.stdout, map[string]string{
			"organisation_id": d.Organisation.String(), "host_id": d.Host.String(), "not_after": d.NotAfter.Format(time.RFC3339), "replaced_key": replaced,
		})
	}
	return a.print(func(w *bytes.Buffer) {
		fmt.Fprintf(w, "This host signs for organisation %s until %s.\n", d.Organisation, d.NotAfter.Format(time.DateOnly))
		if replaced != "" {
			fmt.Fprintf(w, "Its key is a new one, and so is its peer id: %s. The one before is in %s; remove it when all is well.\n", d.Host, replaced)
		}
		fmt.Fprintln(w, "A daemon that runs here goes on as before until it is started again.")
	})
}

type orgAnnounceCmd struct {
	File string `arg:"" help:"What karasu org delegate or karasu org rotate wrote." type:"path"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (orgAnnounceCmd) Help() string {
	return `A daemon announces its own delegation when it starts. In a circle a new host is a stranger
until somebody inside says whose it is: announce its delegation there first, through any
daemon of a member.

Examples:

  karasu org announce delegation.json
  karasu org announce rotation.json`
}

// Run publishes a record of an organisation.
func (c orgAnnounceCmd) Run(a *app) error {
	r, err := membership.ReadRecord(c.File)
	if err != nil {
		return err
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.AnnounceOrganisation(a.ctx, connect.NewRequest(&karasuv1.AnnounceOrganisationRequest{Record: r.Envelope}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		if res.Msg.GetNew() {
			fmt.Fprintf(w, "Announced for organisation %s, to %s.\n", res.Msg.GetOrganisationId(), counted(res.Msg.GetPeers(), "peer"))
		} else {
			fmt.Fprintf(w, "That of organisation %s was known already, or something newer.\n", res.Msg.GetOrganisationId())
		}
	})
}

// checkOrganisationID refuses what is no id of an organisation.
func checkOrganisationID(s string) error {
	if _, err := peer.Decode(s); err != nil {
		return usagef("%q is no organisation id; karasu org show prints one", s)
	}
	return nil
}

// writeOut writes a new file of mode 0600, and says so; without a name it writes to
// standard output.
func (a *app) writeOut(path string, data []byte, say string) error {
	if path == "" {
		_, err := a.stdout.Write(data)
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists; choose another name", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return a.print(func(w *bytes.Buffer) { fmt.Fprintln(w, say) })
}
