package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/node/membership"
	"github.com/karasu-project/karasu/store/commons"
)

// maxPassphrase bounds a file with a passphrase in bytes.
const maxPassphrase = 4096

// orgKeyFlags say where an organisation's key is.
type orgKeyFlags struct {
	Key            string `help:"File of the organisation's key. Default: organisation.key of the home." placeholder:"FILE" type:"path"`
	PassphraseFile string `help:"File whose first line is the passphrase of an encrypted key; - is standard input." placeholder:"FILE"`
}

// open reads the key, and says where it is and which passphrase it has.
func (f orgKeyFlags) open(a *app) (key *membership.Key, path, passphrase string, err error) {
	h, err := a.home()
	if err != nil {
		return nil, "", "", err
	}
	if f.PassphraseFile != "" {
		if passphrase, err = a.passphrase(f.PassphraseFile); err != nil {
			return nil, "", "", err
		}
	}
	path = f.Key
	if path == "" {
		path = h.OrganisationFile()
	}
	key, err = h.OrganisationKey(f.Key, passphrase)
	return key, path, passphrase, err
}

// passphrase reads the first line of a file.
func (a *app) passphrase(path string) (string, error) {
	in := a.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", fmt.Errorf("passphrase: %w", err)
		}
		defer f.Close() //nolint:errcheck // read only
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxPassphrase+1))
	if err != nil {
		return "", fmt.Errorf("passphrase: %w", err)
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	line = strings.TrimSuffix(line, "\r")
	if len(raw) > maxPassphrase || line == "" {
		return "", usagef("the passphrase must be the first line of %s, not empty, of at most %d bytes", path, maxPassphrase)
	}
	return line, nil
}

// displayName is how records of the organisation are labelled: as the home's are, if
// there is one.
func displayName(a *app) string {
	h, err := a.home()
	if err != nil {
		return ""
	}
	c, err := node.LoadConfig(h)
	if err != nil {
		return ""
	}
	return c.Organisation
}

type orgDelegateCmd struct {
	Host   string        `arg:"" help:"The host's request, a file, or its peer id." placeholder:"REQUEST|HOST-ID"`
	Out    string        `short:"o" required:"" help:"File to write. It must not exist." placeholder:"FILE" type:"path"`
	Valid  node.Duration `help:"For how long, at most 366d." default:"90d" placeholder:"TIME"`
	Writer *string       `help:"Name under which the host's records go on, instead of the request's." placeholder:"NAME"`
	Admin  bool          `help:"The host may also sign its circle's membership lists."`
	orgKeyFlags
}

// Help implements kong's interface for examples.
func (orgDelegateCmd) Help() string {
	return `What the host signs ends with the delegation at the latest, and is signed anew under the
next one: delegate again before this one ends.

Examples:

  karasu org delegate request.json -o delegation.json
  karasu org delegate request.json --valid 30d --key acme.key --passphrase-file - -o delegation.json`
}

// Run signs a delegation.
func (c orgDelegateCmd) Run(a *app) error {
	valid := time.Duration(c.Valid)
	if valid < 24*time.Hour || valid > commons.MaxDelegated {
		return usagef("--valid must be between 1d and 366d")
	}
	request, err := c.request()
	if err != nil {
		return err
	}
	if c.Writer != nil {
		request.Writer = *c.Writer
	}
	if !commons.ValidWriter(request.Writer) {
		return usagef("--writer must be at most %d of a-z, 0-9 and '-': %q", commons.MaxWriter, request.Writer)
	}
	key, _, _, err := c.open(a)
	if err != nil {
		return err
	}
	id, err := key.ID()
	if err != nil {
		return err
	}
	if id == request.Host {
		return usagef("the host's key is the organisation's, so it needs no delegation; a new key of the host does: karasu org request --new-key")
	}
	terms := membership.Terms{Host: request.Host, Writer: request.Writer, Valid: valid, Admin: c.Admin}
	g, err := key.Delegate(terms, displayName(a), a.now())
	if err != nil {
		return err
	}
	raw, err := g.Encode()
	if err != nil {
		return err
	}
	return a.writeOut(c.Out, raw, fmt.Sprintf("Host %s may sign for organisation %s until %s. On the host: karasu org import %s",
		request.Host, id, g.Delegation.NotAfter.Format(time.DateOnly), c.Out))
}

// request reads the file or the peer id.
func (c orgDelegateCmd) request() (membership.Request, error) {
	if _, err := os.Stat(c.Host); err == nil {
		return membership.ReadRequest(c.Host)
	}
	id, err := peer.Decode(c.Host)
	if err != nil {
		return membership.Request{}, usagef("%q is neither a file nor a peer id; karasu org request writes a request, karasu org show prints the id", c.Host)
	}
	return membership.Request{Host: id, Writer: commons.DefaultWriter(id)}, nil
}

type orgRotateCmd struct {
	Out   string `short:"o" required:"" help:"File to write. It must not exist." placeholder:"FILE" type:"path"`
	Since moment `help:"Refuse what was created from then on under delegations so far: a day, a time, or how long ago. Default: now." placeholder:"TIME"`
	All   bool   `help:"Refuse all that was ever created under them, for a key that was stolen: a thief can set back the clock."`
	orgKeyFlags
}

// Help implements kong's interface for examples.
func (orgRotateCmd) Help() string {
	return `Begins a new epoch of the organisation and ends the delegations of earlier ones. First
delegate to all hosts that stay, after this command, and import that there; then announce
what this command wrote. Nodes that have it refuse what hosts sign under earlier epochs,
and drop what they hold of that.

Examples:

  karasu org rotate -o rotation.json
  karasu org rotate --all -o rotation.json        # a host's key was stolen
  karasu org announce rotation.json`
}

// Run begins an epoch.
func (c orgRotateCmd) Run(a *app) error {
	if c.All && c.Since != (moment{}) {
		return usagef("--all and --since exclude each other")
	}
	if _, err := os.Lstat(c.Out); err == nil {
		return fmt.Errorf("%s exists; choose another name", c.Out)
	}
	key, path, passphrase, err := c.open(a)
	if err != nil {
		return err
	}
	since := a.now()
	switch {
	case c.All:
		since = time.Unix(0, 0)
	case c.Since != (moment{}):
		since = time.UnixMilli(c.Since.unixMillis(a.now()))
	}
	r, err := key.Rotate(since, displayName(a), a.now())
	if err != nil {
		return err
	}
	raw, err := membership.EncodeRotation(r)
	if err != nil {
		return err
	}
	// The key first: a rotation whose epoch is lost would end delegations that follow.
	file, err := key.Encode(passphrase)
	if err == nil {
		err = membership.WriteFile(path, file)
	}
	if err != nil {
		return fmt.Errorf("the new epoch is not noted in %s, so nothing is rotated: %w", path, err)
	}
	return a.writeOut(c.Out, raw, fmt.Sprintf(
		"Epoch %d. Delegate anew to every host that stays and import that there; then: karasu org announce %s", key.Epoch, c.Out))
}

type orgExportCmd struct {
	Out    string `short:"o" help:"File to write. It must not exist." placeholder:"FILE" type:"path"`
	Public bool   `help:"Only the organisation's id and public key."`
	Plain  bool   `help:"Without a passphrase. Whoever can read the file is the organisation."`
	Remove bool   `help:"Remove organisation.key from the home once the export is on disk."`
	jsonFlag
	PassphraseFile string `help:"File whose first line is the passphrase to encrypt with; - is standard input." placeholder:"FILE"`
}

// Help implements kong's interface for examples.
func (orgExportCmd) Help() string {
	return `The encrypted form is that of age (scrypt, ChaCha20-Poly1305, armored), which the age
program opens, too. karasu org delegate and rotate read it with --key.

Examples:

  karasu org export --passphrase-file passphrase.txt -o /media/usb/acme.key --remove
  karasu org export --public`
}

// Run writes the key.
func (c orgExportCmd) Run(a *app) error {
	h, err := a.home()
	if err != nil {
		return err
	}
	if c.Public {
		return c.public(a, h)
	}
	switch {
	case c.Out == "":
		return usagef("name the file to write with -o, or ask for --public")
	case (c.PassphraseFile == "") != c.Plain:
		return usagef("the key of an organisation is exported with a passphrase: --passphrase-file FILE; without one only with --plain")
	}
	key, err := h.OrganisationKey("", "")
	if err != nil {
		return err
	}
	passphrase := ""
	if !c.Plain {
		if passphrase, err = a.passphrase(c.PassphraseFile); err != nil {
			return err
		}
	}
	raw, err := key.Encode(passphrase)
	if err != nil {
		return err
	}
	// What is written must open again before the original may go.
	if _, err := membership.ParseKey(raw, passphrase); err != nil {
		return err
	}
	say := "The organisation's key is in " + c.Out + "."
	if c.Remove {
		say += " It is no more in the home."
	}
	if err := a.writeOut(c.Out, raw, say); err != nil || !c.Remove {
		return err
	}
	return os.Remove(h.OrganisationFile())
}

// public prints what others may know.
func (c orgExportCmd) public(a *app, h node.Home) error {
	id, pub, err := publicKey(h)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(a.stdout, map[string]string{"organisation_id": id.String(), "public_key": hex.EncodeToString(pub)})
	}
	text := fmt.Sprintf("organisation  %s\npublic key    %s\n", id, hex.EncodeToString(pub))
	if c.Out == "" {
		return a.print(func(w *bytes.Buffer) { w.WriteString(text) })
	}
	return a.writeOut(c.Out, []byte(text), "The organisation's public key is in "+c.Out+".")
}

// publicKey is that of the organisation that the home has the key of, or that it signs
// for.
func publicKey(h node.Home) (peer.ID, []byte, error) {
	key, err := h.OrganisationKey("", "")
	if err == nil {
		id, err := key.ID()
		if err != nil {
			return "", nil, err
		}
		raw, err := crypto.MarshalPublicKey(key.Private.GetPublic())
		return id, raw, err
	}
	signer, err := h.Signer()
	if err != nil {
		return "", nil, err
	}
	// The id of an Ed25519 key is the key itself.
	id := signer.Writer().Organisation
	pub, err := id.ExtractPublicKey()
	if err != nil {
		return "", nil, fmt.Errorf("the public key of %s is not here: %w", id, err)
	}
	raw, err := crypto.MarshalPublicKey(pub)
	return id, raw, err
}
