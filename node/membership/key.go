package membership

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

const keyFormat = "karasu-organisation/1"

// DefaultDelegated is how long a delegation is good for: a host that is lost or a key
// that is stolen is worth nothing after a quarter.
const DefaultDelegated = 90 * 24 * time.Hour

// workFactor is the base-2 logarithm of the cost of trying a passphrase: about a second.
const workFactor = 18

// maxWork bounds the cost of opening a file that somebody made: 2^20 takes scrypt about
// 4 s and a gigabyte.
const maxWork = 20

// Errors about the file of an organisation's key.
var (
	// ErrKey is wrapped by complaints about the file.
	ErrKey = errors.New("organisation key")
	// ErrPassphrase says that the file needs a passphrase, or another one.
	ErrPassphrase = errors.New("passphrase")
)

// Key is an organisation: whoever has it speaks for the organisation.
type Key struct {
	Private crypto.PrivKey
	// Epoch grows with each rotation.
	Epoch uint64
}

// keyFile is its form on disk.
type keyFile struct {
	Format       string `json:"format"`
	Organisation string `json:"organisation"`
	Epoch        uint64 `json:"epoch"`
	Private      []byte `json:"private_key"`
}

// NewKey makes the key of a new organisation.
func NewKey() (*Key, error) {
	priv, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return &Key{Private: priv}, nil
}

// ID is the organisation's id.
func (k *Key) ID() (peer.ID, error) { return peer.IDFromPrivateKey(k.Private) }

// Encode returns the file, encrypted by a passphrase where there is one.
func (k *Key) Encode(passphrase string) ([]byte, error) { return k.encode(passphrase, workFactor) }

func (k *Key) encode(passphrase string, work int) ([]byte, error) {
	raw, err := crypto.MarshalPrivateKey(k.Private)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	id, err := k.ID()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	plain, err := json.MarshalIndent(keyFile{keyFormat, id.String(), k.Epoch, raw}, "", "  ") //nolint:gosec // the file is there to hold the key
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	plain = append(plain, '\n')
	if passphrase == "" {
		return plain, nil
	}
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPassphrase, err)
	}
	recipient.SetWorkFactor(work)
	var out bytes.Buffer
	armored := armor.NewWriter(&out)
	w, err := age.Encrypt(armored, recipient)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	_, err = w.Write(plain)
	if err := errors.Join(err, w.Close(), armored.Close()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return out.Bytes(), nil
}

// Encrypted says whether a file needs a passphrase.
func Encrypted(file []byte) bool { return bytes.HasPrefix(file, []byte(armor.Header)) }

// ParseKey reverses [Key.Encode]. The error wraps [ErrKey] or [ErrPassphrase].
func ParseKey(file []byte, passphrase string) (*Key, error) {
	if len(file) > maxFile {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrKey, maxFile)
	}
	if Encrypted(file) {
		if passphrase == "" {
			return nil, fmt.Errorf("%w: the key is encrypted; name a file with its passphrase", ErrPassphrase)
		}
		plain, err := decrypt(file, passphrase)
		if err != nil {
			return nil, err
		}
		file = plain
	}
	var f keyFile
	if err := json.Unmarshal(file, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	if f.Format != keyFormat {
		return nil, fmt.Errorf("%w: its format is %q, want %q", ErrKey, f.Format, keyFormat)
	}
	priv, err := crypto.UnmarshalPrivateKey(f.Private)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	k := &Key{priv, f.Epoch}
	if id, err := k.ID(); err != nil || id.String() != f.Organisation {
		return nil, fmt.Errorf("%w: it is not the key of %q", ErrKey, f.Organisation)
	}
	return k, nil
}

func decrypt(file []byte, passphrase string) ([]byte, error) {
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPassphrase, err)
	}
	identity.SetMaxWorkFactor(maxWork)
	r, err := age.Decrypt(armor.NewReader(bytes.NewReader(file)), identity)
	var mismatch *age.NoIdentityMatchError
	switch {
	case errors.As(err, &mismatch):
		return nil, fmt.Errorf("%w: it does not open the key", ErrPassphrase)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(plain) > maxFile {
		err = fmt.Errorf("more than %d bytes", maxFile)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return plain, nil
}

// ReadKey reads a key file. One that is not encrypted must not be readable by others.
func ReadKey(path, passphrase string) (*Key, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s: %w: more than %d bytes", path, ErrKey, maxFile)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !Encrypted(raw) && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%w: %s may be read by others (mode %o); run: chmod 600 %s", ErrKey, path, info.Mode().Perm(), path)
	}
	k, err := ParseKey(raw, passphrase)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// WriteFile replaces a file whole or not at all; its mode is 0600.
func WriteFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".karasu-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // gone once it is renamed
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Terms of a delegation.
type Terms struct {
	Host   peer.ID
	Writer string
	// Valid is for how long.
	Valid time.Duration
	// Admin lets the host sign membership lists.
	Admin bool
}

// Delegate lets a host sign for the organisation from now on. The errors are those of
// [commons.SealDelegation].
func (k *Key) Delegate(t Terms, name string, now time.Time) (*Grant, error) {
	d, err := commons.SealDelegation(k.Private, commons.Delegation{
		Host: t.Host, Writer: t.Writer, NotBefore: now, NotAfter: now.Add(t.Valid), Epoch: k.Epoch, Admin: t.Admin,
	})
	if err != nil {
		return nil, err
	}
	r, err := k.say(commons.HostKey(t.Host), commons.EncodeHost(d), name, now, d.NotAfter)
	if err != nil {
		return nil, err
	}
	return &Grant{d, r}, nil
}

// Rotate begins a new epoch and returns the record that ends the earlier ones: what
// their hosts created at since or later does not count any more.
func (k *Key) Rotate(since time.Time, name string, now time.Time) (*commons.Record, error) {
	k.Epoch++
	return k.say(commons.RotationKey, commons.EncodeRotation(commons.Rotation{Epoch: k.Epoch, Since: since}), name, now, now.Add(commons.MaxLifetime))
}

// say signs a record about the organisation. Its revision is the time, so that nobody
// has to keep count.
func (k *Key) say(key string, body *karasuv1.OrganisationKeys, name string, now, until time.Time) (*commons.Record, error) {
	b, err := commons.MarshalBody(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	r, err := commons.Seal(k.Private, &karasuv1.Record{
		Topic: commons.ControlTopic().String(), Kind: karasuv1.RecordKind_RECORD_KIND_DELEGATION, Key: key,
		Revision: uint64(now.UnixMilli()), Created: now.Unix(), NotAfter: until.Unix(), Organisation: name, Body: b,
	})
	if err != nil {
		return nil, err
	}
	return r, CheckAnnounced(r)
}
