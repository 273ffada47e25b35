package share

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

const (
	// AuditRecipients is how many peers are noted of one record: who got it first. From
	// then on it may be with anybody.
	AuditRecipients = 8
	// auditFile is the newest file of the log; audit.1.jsonl is the one before, up to
	// auditFiles in all. An entry has some 300 bytes, so that 4 x 8 MiB hold about
	// 100,000.
	auditFile      = "audit.jsonl"
	auditFiles     = 4
	auditFileBytes = 8 << 20
	// auditSync is how often the log is forced to disk while it is written to. What a
	// power cut takes is of the last moments; a killed process loses nothing.
	auditSync = time.Second
	// maxAuditLine bounds a line that is read: 8 peers and a long topic have 1 KB.
	maxAuditLine = 64 << 10
)

// AuditEntry says that an own record was sent to peers that had not been sent it before.
type AuditEntry struct {
	Time time.Time `json:"time"`
	// ID is the record's, in hex.
	ID       string `json:"id"`
	Topic    string `json:"topic"`
	Kind     string `json:"kind"`
	Key      string `json:"key"`
	Revision uint64 `json:"revision"`
	// Bytes of the signed envelope.
	Bytes int `json:"bytes"`
	// Via is "gossip" or "sync".
	Via   string   `json:"via"`
	Peers []string `json:"peers"`
}

// AuditLog notes what leaves, in files of mode 0600 that only grow until the oldest is
// dropped. It holds no private name: records do not either. It is safe for concurrent
// use.
type AuditLog struct {
	dir string
	now func() time.Time
	// most bytes of one file.
	most int64

	mu     sync.Mutex
	f      *os.File
	size   int64
	synced time.Time
	// sent has the first recipients of each record.
	sent map[string][]string
}

// OpenAuditLog opens the log in a folder, or begins it. It drops a last line that a
// power cut tore.
func OpenAuditLog(dir string, now func() time.Time) (*AuditLog, error) {
	a := &AuditLog{dir: dir, now: now, most: auditFileBytes, sent: make(map[string][]string)}
	_, _, err := a.read(func(e AuditEntry) { a.sent[e.ID] = append(a.sent[e.ID], e.Peers...) })
	if err == nil {
		err = a.open()
	}
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	return a, nil
}

// open opens the newest file behind its last whole line. The caller holds the lock, or
// nobody else has the log yet.
func (a *AuditLog) open() error {
	f, err := os.OpenFile(a.path(0), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	end, err := lastLine(f)
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	a.f, a.size = f, end
	return nil
}

// lastLine returns where the last whole line of a file ends.
func lastLine(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	tail := make([]byte, min(info.Size(), maxAuditLine))
	from := info.Size() - int64(len(tail))
	if _, err := f.ReadAt(tail, from); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if i := bytes.LastIndexByte(tail, '\n'); i >= 0 {
		return from + int64(i) + 1, nil
	}
	return from, nil // nothing, or no line of ours
}

// path of the file that is n files old.
func (a *AuditLog) path(n int) string {
	if n == 0 {
		return filepath.Join(a.dir, auditFile)
	}
	return filepath.Join(a.dir, fmt.Sprintf("audit.%d.jsonl", n))
}

// Leaving notes that a record is about to be sent to peers, by gossip or in a sync. It
// notes only the first [AuditRecipients] of a record. What cannot be noted must not be
// sent.
func (a *AuditLog) Leaving(r *commons.Record, via string, peers []peer.ID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := fmt.Sprintf("%x", r.ID[:])
	known := a.sent[id]
	var fresh []string
	for _, p := range peers {
		if len(known)+len(fresh) == AuditRecipients {
			break
		}
		if s := p.String(); !slices.Contains(known, s) && !slices.Contains(fresh, s) {
			fresh = append(fresh, s)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	err := a.append(AuditEntry{
		Time: a.now().UTC().Truncate(time.Millisecond), ID: id, Topic: r.Topic.String(), Kind: r.Kind.String(), Key: r.Key,
		Revision: r.Revision, Bytes: len(r.Envelope), Via: via, Peers: fresh,
	})
	if err != nil {
		return fmt.Errorf("audit log: %w; a record that cannot be noted is not sent", err)
	}
	a.sent[id] = append(known, fresh...)
	return nil
}

// append writes an entry. The caller holds the lock.
func (a *AuditLog) append(e AuditEntry) error {
	if a.f == nil {
		return os.ErrClosed
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if a.size > 0 && a.size+int64(len(line)) > a.most {
		if err := a.rotate(); err != nil {
			return err
		}
	}
	if n, err := a.f.Write(line); err != nil {
		// Half a line would spoil the next one.
		if n > 0 {
			err = errors.Join(err, a.f.Truncate(a.size))
			_, serr := a.f.Seek(a.size, io.SeekStart)
			err = errors.Join(err, serr)
		}
		return err
	}
	a.size += int64(len(line))
	if now := a.now(); now.Sub(a.synced) >= auditSync {
		a.synced = now
		return a.f.Sync()
	}
	return nil
}

// rotate begins a new file. The caller holds the lock.
func (a *AuditLog) rotate() error {
	if err := errors.Join(a.f.Sync(), a.f.Close()); err != nil {
		return err
	}
	a.f = nil
	for n := auditFiles - 1; n > 0; n-- {
		if err := os.Rename(a.path(n-1), a.path(n)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return a.open()
}

// Entries returns what left since a time, oldest first, when the log begins (zero where
// it is empty), and how many lines are none of its own.
func (a *AuditLog) Entries(since time.Time) (entries []AuditEntry, begins time.Time, unreadable int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	begins, unreadable, err = a.read(func(e AuditEntry) {
		if !e.Time.Before(since) {
			entries = append(entries, e)
		}
	})
	if err != nil {
		err = fmt.Errorf("audit log: %w", err)
	}
	return entries, begins, unreadable, err
}

// read calls fn with every entry, oldest first.
func (a *AuditLog) read(fn func(AuditEntry)) (begins time.Time, unreadable int, err error) {
	for n := auditFiles - 1; n >= 0; n-- {
		f, err := os.Open(a.path(n))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return begins, unreadable, err
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, maxAuditLine)
		for lines.Scan() {
			e, ok := parseAudit(lines.Bytes())
			if !ok {
				unreadable++
				continue
			}
			if begins.IsZero() {
				begins = e.Time
			}
			fn(e)
		}
		if errors.Is(lines.Err(), bufio.ErrTooLong) {
			unreadable++
		} else if lines.Err() != nil {
			return begins, unreadable, errors.Join(lines.Err(), f.Close())
		}
		if err := f.Close(); err != nil {
			return begins, unreadable, err
		}
	}
	return begins, unreadable, nil
}

// parseAudit reads a line of the log.
func parseAudit(line []byte) (e AuditEntry, ok bool) {
	err := json.Unmarshal(line, &e)
	return e, err == nil && e.ID != "" && !e.Time.IsZero() && e.Bytes >= 0 && len(e.Peers) > 0
}

// Close ends the log. What leaves after it cannot be noted.
func (a *AuditLog) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.f == nil {
		return nil
	}
	err := errors.Join(a.f.Sync(), a.f.Close())
	a.f = nil
	return err
}

// Wire is the entry as the API has it.
func (e AuditEntry) Wire() *karasuv1.AuditEntry {
	return &karasuv1.AuditEntry{
		UnixMillis: e.Time.UnixMilli(), Id: e.ID, Topic: e.Topic, Kind: karasuv1.RecordKind(karasuv1.RecordKind_value[e.Kind]),
		Key: e.Key, Revision: e.Revision, Bytes: uint32(e.Bytes), Via: e.Via, Peers: e.Peers,
	}
}
