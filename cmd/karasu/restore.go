package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/node/backup"
)

type restoreCmd struct {
	File   string `arg:"" help:"A file that karasu backup wrote." type:"path"`
	Verify bool   `help:"Only say whether the file is sound and what it is of; write nothing."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// Help implements kong's interface for examples.
func (restoreCmd) Help() string {
	return `Makes a home of a backup, with the same identity. The folder must not exist, or be
empty. The file is verified before anything is written, and the home appears in whole or
not at all.

An identity must never run twice: two daemons with one key contradict each other, and
peers then use neither's records. Stop the old daemon for good before you start this one.

What was imported after the backup is not in it. What was shared since then is withdrawn
where its runs are gone; import them again.

Examples:

  karasu restore karasu-2026-12-01.tar.gz --verify
  karasu restore karasu-2026-12-01.tar.gz --home /var/lib/karasu`
}

// restored is the JSON form of a backup's contents.
type restored struct {
	File         string    `json:"file"`
	Home         string    `json:"home"`
	Organisation string    `json:"organisation"`
	PeerID       string    `json:"peer_id"`
	Created      time.Time `json:"created"`
	Version      string    `json:"version"`
	PrivateKeys  int       `json:"private_keys"`
	CommonsKeys  int       `json:"commons_keys"`
}

// Run restores a home, or verifies a backup.
func (c restoreCmd) Run(a *app) (err error) {
	keepPrivate()
	f, err := os.Open(c.File)
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	in, finish := c.progress(a, f)
	defer finish()
	var done node.Restored
	dir := ""
	if c.Verify {
		done, err = node.VerifyBackup(a.ctx, in)
	} else {
		var h node.Home
		if h, err = a.home(); err != nil {
			return err
		}
		dir = h.ConfigDir
		done, err = h.Restore(a.ctx, in)
	}
	if errors.Is(err, backup.ErrDamaged) {
		return fmt.Errorf("%s: %w; nothing was written", c.File, err)
	}
	if err != nil {
		return err
	}
	finish()
	m := done.Manifest
	if c.JSON {
		return writeJSON(a.stdout, restored{c.File, dir, m.Organisation, m.PeerID, m.Created.UTC(), m.Version, done.PrivateKeys, done.CommonsKeys})
	}
	return a.print(func(w *bytes.Buffer) {
		what := fmt.Sprintf("the home of %s (%s) as of %s", clean(m.Organisation), clean(m.PeerID), m.Created.UTC().Format("2006-01-02 15:04:05 MST"))
		if c.Verify {
			fmt.Fprintf(w, "%s is sound: %s, written by version %s, with %d entries of the private database and %d of the commons.\n", c.File, what, clean(m.Version), done.PrivateKeys, done.CommonsKeys)
			return
		}
		fmt.Fprintf(w, "Restored %s to %s.\n", what, dir)
		fmt.Fprintln(w, "Never run two daemons with one identity: stop the old one for good, and then start this one with: "+a.daemonCommand())
	})
}

// progress shows on a terminal how far the file has been read. The file is read twice
// where it is restored.
func (restoreCmd) progress(a *app, f *os.File) (in io.ReadSeeker, finish func()) {
	info, err := f.Stat()
	if err != nil || !isTerminal(a.stderr) {
		return f, func() {}
	}
	bar := progressbar.NewOptions64(info.Size(), progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription("reading"),
		progressbar.OptionShowBytes(true), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	return &barReader{f, bar}, func() { _ = bar.Finish() }
}

// barReader moves a bar as a file is read.
type barReader struct {
	*os.File

	bar *progressbar.ProgressBar
}

func (b *barReader) Read(p []byte) (int, error) {
	n, err := b.File.Read(p)
	_ = b.bar.Add(n) // what cannot be drawn is nobody's loss
	return n, err
}

func (b *barReader) Seek(offset int64, whence int) (int64, error) {
	b.bar.Reset()
	return b.File.Seek(offset, whence)
}
