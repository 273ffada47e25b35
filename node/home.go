package node

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/libp2p/go-libp2p/core/crypto"

	"github.com/karasu-project/karasu/node/api"
	"github.com/karasu-project/karasu/node/p2p"
	"github.com/karasu-project/karasu/node/share"
)

// Errors of a home.
var (
	// ErrNoHome means that init has not been run.
	ErrNoHome = errors.New("not initialised")
	// ErrHomeExists means that init has been run before.
	ErrHomeExists = errors.New("already initialised")
)

// Names of files that every home has.
const (
	configName   = "config.toml"
	identityName = "identity.key"
)

// Home is where an organisation's daemon keeps its things: one folder where
// KARASU_HOME or --home names it, the XDG base directories otherwise.
type Home struct {
	// ConfigDir holds config.toml, identity.key and the API token.
	ConfigDir string
	// DataDir holds the two databases and the list of good peers.
	DataDir string
	// RuntimeDir holds the API socket.
	RuntimeDir string
}

// LocateHome finds the home: dir if it is set, then $KARASU_HOME, then the XDG
// directories. It touches no file.
func LocateHome(dir string, getenv func(string) string) (Home, error) {
	if dir == "" {
		dir = getenv("KARASU_HOME")
	}
	if dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return Home{}, fmt.Errorf("home %q: %w", dir, err)
		}
		return Home{ConfigDir: abs, DataDir: abs, RuntimeDir: abs}, nil
	}
	user := getenv("HOME")
	xdg := func(variable, fallback string) (string, error) {
		if v := getenv(variable); filepath.IsAbs(v) {
			return filepath.Join(v, "karasu"), nil
		}
		if user == "" {
			return "", fmt.Errorf("none of KARASU_HOME, %s and HOME is set; set KARASU_HOME to a folder", variable)
		}
		return filepath.Join(user, fallback, "karasu"), nil
	}
	config, err := xdg("XDG_CONFIG_HOME", ".config")
	if err != nil {
		return Home{}, err
	}
	data, err := xdg("XDG_DATA_HOME", filepath.Join(".local", "share"))
	if err != nil {
		return Home{}, err
	}
	runtime := data
	if v := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(v) {
		runtime = filepath.Join(v, "karasu")
	}
	return Home{ConfigDir: config, DataDir: data, RuntimeDir: runtime}, nil
}

// ConfigFile is the configuration, TOML.
func (h Home) ConfigFile() string { return filepath.Join(h.ConfigDir, configName) }

// IdentityFile is the organisation's private key, mode 0600.
func (h Home) IdentityFile() string { return filepath.Join(h.ConfigDir, identityName) }

// TokenFile is the bearer token of the API over TCP, mode 0600.
func (h Home) TokenFile() string { return filepath.Join(h.ConfigDir, "api.token") }

// PrivateDir is the database of raw runs.
func (h Home) PrivateDir() string { return filepath.Join(h.DataDir, "private") }

// CommonsDir is the database of shared records.
func (h Home) CommonsDir() string { return filepath.Join(h.DataDir, "commons") }

// PeersFile lists the peers that were reached last.
func (h Home) PeersFile() string { return filepath.Join(h.DataDir, "peers.json") }

// Socket is the unix socket of the local API.
func (h Home) Socket() string { return filepath.Join(h.RuntimeDir, "karasu.sock") }

// Init creates the home of a new organisation: folders of mode 0700, a new Ed25519
// identity and a commented configuration. An identity that is there is kept: it is
// who the organisation is to its peers. The error wraps [ErrHomeExists] where there
// is a configuration; then nothing changes.
func (h Home) Init(organisation string, o InitOptions) error {
	if err := validateOrganisation(organisation); err != nil {
		return err
	}
	if err := (p2p.Config{Listen: o.Listen, Bootstrap: o.Bootstrap}).Validate(); err != nil {
		return err
	}
	if o.Share != "" && !o.Share.Valid() {
		return fmt.Errorf("%w: mode %q is none of off, summaries, models, both", share.ErrPolicy, o.Share)
	}
	known := h.HasIdentity()
	if _, err := os.Stat(h.ConfigFile()); err == nil && known {
		return fmt.Errorf("%w: %s exists; edit it, or choose another home with KARASU_HOME", ErrHomeExists, h.ConfigFile())
	} else if err == nil {
		return fmt.Errorf("%w: %s exists, but its identity %s is missing; restore that from a backup, or move the configuration away to begin as a new peer",
			ErrHomeExists, h.ConfigFile(), h.IdentityFile())
	}
	for _, d := range []string{h.ConfigDir, h.DataDir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("create home: %w", err)
		}
	}
	if !known {
		if err := newIdentity(h.IdentityFile()); err != nil {
			return err
		}
	} else if _, err := h.Identity(); err != nil {
		return err
	}
	if err := writeNew(h.ConfigFile(), []byte(configFile(organisation, o))); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

// HasIdentity says whether the home has a private key.
func (h Home) HasIdentity() bool {
	_, err := os.Stat(h.IdentityFile())
	return err == nil
}

// CheckSocket says whether the system allows a socket at [Home.Socket].
func (h Home) CheckSocket() error { return api.CheckSocketPath(h.Socket()) }

func newIdentity(path string) error {
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		return fmt.Errorf("create identity: %w", err)
	}
	raw, err := crypto.MarshalPrivateKey(key)
	if err != nil {
		return fmt.Errorf("create identity: %w", err)
	}
	if err := writeNew(path, raw); err != nil {
		return fmt.Errorf("write identity: %w", err)
	}
	return nil
}

// Identity reads the private key. It refuses a file that others may read.
func (h Home) Identity() (crypto.PrivKey, error) {
	if _, err := os.Stat(h.IdentityFile()); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: no %s; create a home with: karasu init --org NAME", ErrNoHome, h.IdentityFile())
	}
	return readIdentity(h.IdentityFile())
}

func readIdentity(path string) (crypto.PrivKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("identity: %s may be read by others (mode %o); run: chmod 600 %s", path, info.Mode().Perm(), path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	if len(raw) == 0 {
		return nil, fmt.Errorf("identity: %s is empty; restore it from a backup, or remove it and config.toml and run init for a new identity", path)
	}
	key, err := crypto.UnmarshalPrivateKey(raw)
	if err != nil {
		return nil, fmt.Errorf("identity: %s is damaged (%w); restore it from a backup", path, err)
	}
	return key, nil
}

// writeNew writes a file of mode 0600 that must not exist, and syncs it.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
