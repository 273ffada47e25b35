package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/karasu-project/karasu/node/backup"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// backupChunk is how much of a backup one message of the API carries, in bytes.
const backupChunk = 256 << 10

// backedUp says which files of a home's folders are part of a backup: configuration,
// keys, lists and logs, by their ending. Databases go their own way, and a folder that
// also holds something else, such as tables of runs, keeps that.
func backedUp(name string) bool {
	return backup.ValidFileName(name) &&
		slices.Contains([]string{".toml", ".key", ".token", ".json", ".jsonl", ".psk"}, filepath.Ext(name))
}

// Backup sends a backup of the home, in order, while the daemon goes on. Each database
// is as it was at one moment; that of the commons is the later one, so that it holds no
// record of runs that the other lacks.
func (a *App) Backup(ctx context.Context, send func(*karasuv1.BackupResponse) error) error {
	files, err := a.home.backupFiles()
	if err != nil {
		return err
	}
	out := &chunkWriter{send: send, sum: sha256.New()}
	manifest := backup.Manifest{
		Version: a.options.Version, Created: time.Now(), Organisation: a.config.Organisation, PeerID: a.network.ID().String(),
	}
	err = backup.Write(ctx, out, backup.Source{Manifest: manifest, Files: files, Private: a.private.Backup, Commons: a.commons.Backup})
	if err == nil {
		err = out.flush()
	}
	if err != nil {
		return err
	}
	a.logger.InfoContext(ctx, "backup taken", "bytes", out.total)
	return send(&karasuv1.BackupResponse{
		Sha256: hex.EncodeToString(out.sum.Sum(nil)), Organisation: manifest.Organisation, PeerId: manifest.PeerID,
		LeftOut: a.home.leftOut(a.config),
	})
}

// backupFiles lists what goes into a backup beside the databases.
func (h Home) backupFiles() ([]backup.File, error) {
	var out []backup.File
	for _, f := range []struct {
		part backup.Part
		dir  string
	}{{backup.Config, h.ConfigDir}, {backup.Data, h.DataDir}} {
		if f.part == backup.Data && f.dir == h.ConfigDir {
			break // one folder for both
		}
		entries, err := os.ReadDir(f.dir)
		if err != nil {
			return nil, fmt.Errorf("backup: %w", err)
		}
		for _, e := range entries {
			if e.Type().IsRegular() && backedUp(e.Name()) {
				out = append(out, backup.File{Part: f.part, Name: e.Name(), Path: filepath.Join(f.dir, e.Name())})
			}
		}
	}
	return out, nil
}

// leftOut lists the files that the configuration names and a backup lacks: those outside
// of the configuration's folder.
func (h Home) leftOut(c Config) []string {
	var out []string
	for _, file := range []string{c.Catalog.File, c.Circle.PSKFile} {
		path := file
		if !filepath.IsAbs(path) {
			path = filepath.Join(h.ConfigDir, path)
		}
		if file != "" && (filepath.Dir(path) != h.ConfigDir || !backedUp(filepath.Base(path))) {
			out = append(out, file)
		}
	}
	return out
}

// chunkWriter sends what is written in chunks.
type chunkWriter struct {
	send  func(*karasuv1.BackupResponse) error
	sum   hash.Hash
	buf   []byte
	total int64
}

func (c *chunkWriter) Write(b []byte) (int, error) {
	c.buf = append(c.buf, b...)
	if len(c.buf) < backupChunk {
		return len(b), nil
	}
	return len(b), c.flush()
}

func (c *chunkWriter) flush() error {
	if len(c.buf) == 0 {
		return nil
	}
	c.total += int64(len(c.buf))
	if _, err := c.sum.Write(c.buf); err != nil {
		return err
	}
	err := c.send(&karasuv1.BackupResponse{Chunk: c.buf})
	c.buf = nil // the message keeps it
	return err
}
