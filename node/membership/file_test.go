package membership

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/store/commons"
)

func TestKeyFile(t *testing.T) {
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	k.Epoch = 4
	secret, err := k.Private.Raw()
	if err != nil {
		t.Fatal(err)
	}
	for _, passphrase := range []string{"", "correct horse"} {
		raw, err := k.encode(passphrase, 8)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "key")
		if err := WriteFile(path, raw); err != nil {
			t.Fatal(err)
		}
		got, err := ReadKey(path, passphrase)
		if err != nil || !got.Private.Equals(k.Private) || got.Epoch != 4 {
			t.Errorf("passphrase %q: %+v, %v", passphrase, got, err)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKey(path, passphrase); (err == nil) != (passphrase != "") {
			t.Errorf("passphrase %q, a file that all may read: %v", passphrase, err)
		}
		if Encrypted(raw) != (passphrase != "") || passphrase != "" && bytes.Contains(raw, secret[:32]) {
			t.Errorf("passphrase %q: encrypted %v", passphrase, Encrypted(raw))
		}
		if passphrase == "" {
			continue
		}
		for _, wrong := range []string{"", "wrong"} {
			if _, err := ParseKey(raw, wrong); !errors.Is(err, ErrPassphrase) {
				t.Errorf("passphrase %q: error %v, want %v", wrong, err, ErrPassphrase)
			}
		}
	}
	costly, err := k.encode("x", 8)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseKey(bytes.Replace(costly, []byte("\n"), []byte("\nx"), 1), "x"); !errors.Is(err, ErrKey) {
		t.Errorf("damaged: error %v, want %v", err, ErrKey)
	}
}

// FuzzParseFile: requests, delegations and rotations come from other people.
func FuzzParseFile(f *testing.F) {
	k, err := NewKey()
	if err != nil {
		f.Fatal(err)
	}
	other, err := NewKey()
	if err != nil {
		f.Fatal(err)
	}
	host, err := peer.IDFromPrivateKey(other.Private)
	if err != nil {
		f.Fatal(err)
	}
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	g, err := k.Delegate(Terms{Host: host, Writer: "w", Valid: time.Hour}, "acme", now)
	if err != nil {
		f.Fatal(err)
	}
	rotation, err := k.Rotate(now, "acme", now)
	if err != nil {
		f.Fatal(err)
	}
	for _, encode := range []func() ([]byte, error){
		g.Encode, Request{Host: host, Writer: "w"}.Encode, func() ([]byte, error) { return EncodeRotation(rotation) }, func() ([]byte, error) { return k.Encode("") },
	} {
		b, err := encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// A passphrase would cost seconds.
		if k, err := ParseKey(b, ""); err == nil && k.Private == nil {
			t.Fatal("a key without a key")
		}
		file, err := parseFile(b)
		if err != nil {
			return
		}
		if g, err := file.grant(); err == nil && g.Record.Author != g.Delegation.Organisation {
			t.Fatalf("accepted %+v", g)
		}
		if r, err := file.request(); err == nil && !commons.ValidWriter(r.Writer) {
			t.Fatalf("accepted %+v", r)
		}
		if r, err := file.record(); err == nil && r.Topic != commons.ControlTopic() {
			t.Fatalf("accepted %+v", r)
		}
	})
}
