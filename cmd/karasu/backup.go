package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"connectrpc.com/connect"
	"github.com/schollz/progressbar/v3"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type backupCmd struct {
	File string `arg:"" help:"File to write, such as karasu-2026-12-01.tar.gz. It must not exist." type:"path"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (backupCmd) Help() string {
	return `Copies the home while its daemon runs: configuration, keys, both databases as of now,
and the audit log. The file has mode 0600. It holds the organisation's identity and all
raw runs: keep it as you keep those. karasu restore makes a home of it.

Example:

  karasu backup /backups/karasu-$(date +%F).tar.gz`
}

// backedUp is the JSON form of what was written.
type backedUp struct {
	File         string   `json:"file"`
	Bytes        int64    `json:"bytes"`
	SHA256       string   `json:"sha256"`
	Organisation string   `json:"organisation"`
	PeerID       string   `json:"peer_id"`
	LeftOut      []string `json:"left_out"`
}

// Run writes a backup: in whole, or not at all.
func (c backupCmd) Run(a *app) (err error) {
	if a.API != "" {
		return usagef("a backup holds keys and raw runs, so it is taken through the unix socket only: run it on the daemon's machine, without --api")
	}
	if _, err := os.Lstat(c.File); err == nil {
		return fmt.Errorf("%s exists; choose another name", c.File)
	}
	client, err := a.unixClient(backupTimeout)
	if err != nil {
		return err
	}
	stream, err := client.Backup(a.ctx, connect.NewRequest(&karasuv1.BackupRequest{}))
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }() // read to its end, or of no more use
	// Asked first, so that a daemon that is not there leaves no file behind.
	more := stream.Receive()
	if err := stream.Err(); err != nil {
		return a.streamError(err)
	}
	f, err := os.CreateTemp(filepath.Dir(c.File), ".karasu-backup-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	sum := sha256.New()
	out := io.MultiWriter(f, sum)
	if isTerminal(a.stderr) {
		bar := progressbar.NewOptions64(-1, progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription("backup"),
			progressbar.OptionShowBytes(true), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
		defer func() { _ = bar.Finish() }()
		out = io.MultiWriter(f, sum, bar)
	}
	var last *karasuv1.BackupResponse
	for ; more; more = stream.Receive() {
		m := stream.Msg()
		if last != nil {
			return errors.New("the daemon goes on after the end of the backup; is it of another version? (karasu status)")
		}
		if len(m.GetChunk()) == 0 {
			last = m
			continue
		}
		if _, err := out.Write(m.GetChunk()); err != nil {
			return fmt.Errorf("write the backup: %w", err)
		}
	}
	if err := stream.Err(); err != nil {
		return a.streamError(err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); last == nil || got != last.GetSha256() {
		return errors.New("the backup did not arrive in whole; try again")
	}
	info, err := f.Stat()
	if err == nil {
		// A link, unlike a rename, replaces nothing that has come meanwhile.
		err = errors.Join(f.Sync(), f.Close(), os.Link(f.Name(), c.File))
	}
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	return c.done(a, info.Size(), last)
}

// done says what was written.
func (c backupCmd) done(a *app, bytes int64, m *karasuv1.BackupResponse) error {
	for _, file := range m.GetLeftOut() {
		a.note("%s is named in config.toml and lies outside of the home: it is not part of the backup", clean(file))
	}
	if c.JSON {
		return writeJSON(a.stdout, backedUp{c.File, bytes, m.GetSha256(), m.GetOrganisation(), m.GetPeerId(), append([]string{}, m.GetLeftOut()...)})
	}
	_, err := fmt.Fprintf(a.stdout, "Wrote %s, %s: the home of %s (%s).\nIt holds the organisation's key and all raw runs. Restore it with: karasu restore %s --home DIR\n",
		c.File, size(float64(bytes)), clean(m.GetOrganisation()), clean(m.GetPeerId()), shellWord(c.File))
	return err
}

// streamError is the error of a stream in the words of one of a single answer.
func (a *app) streamError(err error) error {
	if h, herr := a.home(); herr == nil {
		return foreign(h.Socket(), broken(dialError(h.Socket(), err)))
	}
	return err
}
