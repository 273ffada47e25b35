package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/karasu-project/karasu/node/p2p"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/private"
)

const (
	// roomWanted is how much free space is plenty, in bytes.
	roomWanted = 1 << 30
	// mostChecked is the size of databases, in bytes, up to which the doctor reads them
	// as a whole: some seconds.
	mostChecked = 256 << 20
	// probeTime is how long a probe waits for the peers of the configuration.
	probeTime = 5 * time.Second
)

// HeldByDaemon is what is found of a database that a process has open.
const HeldByDaemon = "in use by a running daemon"

// CheckHome looks at a home's files. It changes nothing, and works whether or not a
// daemon runs.
func CheckHome(ctx context.Context, h Home) []*karasuv1.Check {
	var c checks
	c.configuration(h)
	c.identity(h)
	c.modes(h)
	c.disk(h)
	c.store(ctx, h)
	return c
}

func (c *checks) configuration(h Home) {
	switch _, err := LoadConfig(h); {
	case errors.Is(err, ErrNoHome):
		c.fail("configuration", "karasu init --org NAME creates a home; --home names another one", "there is none at %s", h.ConfigFile())
	case err != nil:
		c.fail("configuration", "correct the file; docs/configuration.md lists its keys", "%v", err)
	default:
		c.ok("configuration", "%s", h.ConfigFile())
	}
}

func (c *checks) identity(h Home) {
	s, err := h.Signer()
	switch {
	case err != nil:
		c.fail("identity", "the message says what to do", "%v", err)
	case s.Delegation() == nil:
		c.ok("identity", "%s", s.Host())
	default:
		left := time.Until(s.Delegation().NotAfter)
		const advice = "karasu org delegate, with the organisation's key, gives a new one"
		text := fmt.Sprintf("%s, for organisation %s until %s", s.Host(), s.Delegation().Organisation, s.Delegation().NotAfter.Format(time.DateOnly))
		switch {
		case left <= 0:
			c.fail("identity", advice, "%s, which has passed", text)
		case left < 14*24*time.Hour:
			c.warn("identity", advice, "%s", text)
		default:
			c.ok("identity", "%s", text)
		}
	}
}

// modes looks for what other users of the machine may read or write.
func (c *checks) modes(h Home) {
	const name = "file modes"
	if runtime.GOOS == "windows" {
		c.skip(name, "this system has none")
		return
	}
	bad := 0
	look := func(path string, forbidden fs.FileMode, advice string) {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			c.fail(name, "see that the daemon's user may read it", "%v", err)
			bad++
			return
		}
		if info.Mode().Perm()&forbidden != 0 {
			c.fail(name, fmt.Sprintf("%s %s", advice, path), "%s has mode %o, which lets others in", path, info.Mode().Perm())
			bad++
		}
	}
	for _, secret := range []string{h.IdentityFile(), h.OrganisationFile(), h.NextIdentityFile(), h.TokenFile()} {
		look(secret, 0o077, "chmod 600")
	}
	for _, dir := range []string{h.PrivateDir(), h.CommonsDir()} {
		look(dir, 0o077, "chmod 700")
	}
	for _, dir := range []string{h.ConfigDir, h.DataDir, h.RuntimeDir} {
		look(dir, 0o022, "chmod go-w")
	}
	if bad == 0 {
		c.ok(name, "keys and databases are the owner's only")
	}
}

func (c *checks) disk(h Home) {
	free, needed, err := private.Space(h.DataDir)
	const advice = "free some space, or move the data folder to a larger disk"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.skip("disk", "there is no folder %s yet", h.DataDir)
	case err != nil:
		c.skip("disk", "free space is not known: %v", err)
	case free < needed:
		c.fail("disk", advice, "%d MB free in %s; the daemon does not start below %d MB", free>>20, h.DataDir, needed>>20)
	case free < roomWanted:
		c.warn("disk", advice, "%d MB free in %s", free>>20, h.DataDir)
	default:
		c.ok("disk", "%.1f GB free in %s", float64(free)/1e9, h.DataDir)
	}
}

func (c *checks) store(ctx context.Context, h Home) {
	for _, db := range []struct {
		name, dir string
		fsck      func(context.Context, string) (*private.Report, error)
	}{{"private store", h.PrivateDir(), private.Fsck}, {"commons", h.CommonsDir(), commons.Fsck}} {
		if bytes, err := sizeOf(db.dir); err == nil && bytes > mostChecked {
			c.skip(db.name, "has %d MB, which takes a while to read: karasu fsck, while no daemon runs", bytes>>20)
			continue
		}
		r, err := db.fsck(ctx, db.dir)
		switch {
		case errors.Is(err, private.ErrInUse):
			c.ok(db.name, HeldByDaemon)
		case errors.Is(err, private.ErrNoDatabase):
			c.skip(db.name, "there is none yet")
		case err != nil:
			c.fail(db.name, "see that the daemon's user may read it", "%v", err)
		case !r.OK():
			c.fail(db.name, "karasu fsck lists them; restore the home from a backup", "%s", plural(r.Bad, "problem", "problems"))
		case !r.CleanShutdown && r.Keys > 0:
			c.warn(db.name, "nothing is lost that was acknowledged; the next start repairs it", "sound, %d keys, but not closed in order", r.Keys)
		default:
			c.ok(db.name, "sound, %d keys", r.Keys)
		}
	}
}

// sizeOf adds up the files in a folder, in bytes.
func sizeOf(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the daemon has removed it since
		}
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// ProbeNetwork does what a daemon of the home would do first, and says what works:
// listen, and dial the peers of the configuration. Nothing is sent to them but who this
// is, and nothing is stored. No daemon may run in the home.
func ProbeNetwork(ctx context.Context, h Home) []*karasuv1.Check {
	var c checks
	config, err := LoadConfig(h)
	if err != nil {
		return nil // [CheckHome] says so
	}
	key, err := h.Identity()
	if err != nil {
		return nil
	}
	n, err := p2p.New(ctx, key, config.network(), nil)
	if err != nil {
		c.fail("network", "correct [network] in config.toml", "%v", err)
		return c
	}
	defer n.Close() //nolint:errcheck // it was only tried
	if err := n.Start(ctx); err != nil {
		c.fail("listening", "choose another address under network.listen in config.toml", "%v", err)
		return c
	}
	n.WaitForNamed(ctx, probeTime)
	c.network(n.Diagnose(ctx), config.Network)
	return c
}
