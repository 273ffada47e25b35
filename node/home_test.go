package node_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/node/share"
)

func TestLocateHome(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(key string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == key {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	one := node.Home{ConfigDir: "/k", DataDir: "/k", RuntimeDir: "/k"}
	for _, c := range []struct {
		name string
		dir  string
		env  func(string) string
		want node.Home
	}{
		{"flag", "/k", env("KARASU_HOME", "/other", "HOME", "/h"), one},
		{"KARASU_HOME", "", env("KARASU_HOME", "/k", "HOME", "/h"), one},
		{"HOME only", "", env("HOME", "/h"), node.Home{ConfigDir: "/h/.config/karasu", DataDir: "/h/.local/share/karasu", RuntimeDir: "/h/.local/share/karasu"}},
		{"XDG", "", env("HOME", "/h", "XDG_CONFIG_HOME", "/c", "XDG_DATA_HOME", "/d", "XDG_RUNTIME_DIR", "/r"),
			node.Home{ConfigDir: "/c/karasu", DataDir: "/d/karasu", RuntimeDir: "/r/karasu"}},
		{"relative XDG is ignored", "", env("HOME", "/h", "XDG_CONFIG_HOME", "c"), node.Home{ConfigDir: "/h/.config/karasu", DataDir: "/h/.local/share/karasu", RuntimeDir: "/h/.local/share/karasu"}},
	} {
		got, err := node.LocateHome(c.dir, c.env)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if _, err := node.LocateHome("", env()); err == nil || !strings.Contains(err.Error(), "KARASU_HOME") {
		t.Errorf("without any variable: error %v, want one that names KARASU_HOME", err)
	}
}

func TestInitMakesAPrivateHomeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	home := node.Home{ConfigDir: dir, DataDir: dir, RuntimeDir: dir}
	if _, err := node.LoadConfig(home); !errors.Is(err, node.ErrNoHome) {
		t.Errorf("before init: error %v, want %v", err, node.ErrNoHome)
	}
	if err := home.Init(`Acme "Big" Data`, node.InitOptions{}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, home.IdentityFile(): 0o600, home.ConfigFile(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v (%v), want %v", path, info.Mode().Perm(), err, want)
		}
	}
	key, err := home.Identity()
	if err != nil {
		t.Fatal(err)
	}
	if err := home.Init("again", node.InitOptions{}); !errors.Is(err, node.ErrHomeExists) {
		t.Errorf("second init: error %v, want %v", err, node.ErrHomeExists)
	}
	again, err := home.Identity()
	if err != nil || !again.Equals(key) {
		t.Errorf("the second init changed the identity (%v)", err)
	}
	// The file's comments show the defaults, so the file itself gives the defaults.
	config, err := node.LoadConfig(home)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(node.DefaultConfig(`Acme "Big" Data`), config); diff != "" {
		t.Errorf("configuration of a new home (-want +got):\n%s", diff)
	}
	// A lost configuration is written anew; who the organisation is stays.
	if err := os.Remove(home.ConfigFile()); err != nil {
		t.Fatal(err)
	}
	if err := home.Init("acme", node.InitOptions{Share: "some"}); !errors.Is(err, share.ErrPolicy) {
		t.Errorf("an unknown policy: error %v", err)
	}
	if err := home.Init("acme", node.InitOptions{Share: share.Off}); err != nil {
		t.Fatal(err)
	}
	if kept, err := home.Identity(); err != nil || !kept.Equals(key) {
		t.Errorf("a new configuration changed the identity (%v)", err)
	}
	if config, err := node.LoadConfig(home); err != nil || config.Share.Policy != share.Off {
		t.Errorf("the policy is %q (%v), want off", config.Share.Policy, err)
	}
	if err := os.Chmod(home.IdentityFile(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := home.Identity(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("an identity that others may read: error %v", err)
	}
}

func TestConfigErrorsNameTheirPlace(t *testing.T) {
	dir := t.TempDir()
	home := node.Home{ConfigDir: dir, DataDir: dir, RuntimeDir: dir}
	for _, c := range []struct{ name, text, want string }{
		{"no organisation", "", "organisation is missing"},
		{"unknown key", "organisation = \"a\"\n[network]\nlistn = []\n", `unknown key "network.listn"`},
		{"syntax", "organisation = \"a\"\n[network\n", "config.toml:3"},
		{"type", "organisation = 3\n", "config.toml:1: organisation must be text in quotes, and is a whole number"},
		{"flag", "organisation = \"a\"\n[network]\nmdns = \"yes\"\n", `config.toml:3: network.mdns must be true or false, and is text in quotes`},
		{"list", "organisation = \"a\"\n[network]\nlisten = \"x\"\n", `config.toml:3: network.listen must be a list in brackets, and is text in quotes`},
		{"table", "organisation = \"a\"\nnetwork = 3\n", `config.toml:2: network must be a table, and is a whole number`},
		{"whole number", "organisation = \"a\"\n[share]\nminimum_runs = 3.5\n", `config.toml:3: share.minimum_runs must be a whole number, and is a number with a fraction`},
		{"level", "organisation = \"a\"\n[log]\nlevel = \"loud\"\n", `config.toml:3: log.level must be DEBUG, INFO, WARN or ERROR: "loud"`},
		{"endless", "organisation = \"a\"\n[share]\nvalid_for = \"9999999d\"\n", `config.toml:3: share.valid_for must be at most 100 years: "9999999d"`},
		{"no time", "organisation = \"a\"\n[share]\nvalid_for = \"10\"\n", `config.toml:3: share.valid_for must be a time such as "30s", "12h" or "180d": "10"`},
		{"long time", "organisation = \"a\"\n[share]\nvalid_for = \"400d\"\n", `valid_for is 400d, must be between 1d and 365d`},
		{"no port", "organisation = \"a\"\n[api]\ntcp = \"127.0.0.1\"\n", `api.tcp must be a host and a port`},
		{"high port", "organisation = \"a\"\n[api]\ntcp = \"127.0.0.1:99999\"\n", `api.tcp must be a host and a port`},
		{"policy", "organisation = \"a\"\n[share]\npolicy = \"some\"\n", "off, summaries, models, both"},
		{"minimum runs", "organisation = \"a\"\n[share]\nminimum_runs = 1\n", "minimum_runs is 1"},
		{"pattern", "organisation = \"a\"\n[network]\nsubscribe = [\"a/b\"]\n", "network.subscribe"},
		{"topic pattern", "organisation = \"a\"\n[[share.topic]]\npattern = \"x\"\npolicy = \"off\"\n", "share.topic"},
		{"interval", "organisation = \"a\"\n[network]\nsync_interval = \"1ms\"\n", "sync_interval"},
		{"no-break space", "organisation = \"a\u00a0b\"\n", "U+00A0"},
		{"control character", "organisation = \"a\\u0007\"\n", "control character"},
	} {
		if err := os.WriteFile(home.ConfigFile(), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := node.LoadConfig(home)
		if !errors.Is(err, node.ErrConfig) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", c.name, err, c.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"30s": 30 * time.Second, "90d": 90 * 24 * time.Hour, "1h30m": 90 * time.Minute} {
		var d node.Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != want {
			t.Errorf("%s: %s (%v), want %s", text, time.Duration(d), err, want)
		}
	}
	var d node.Duration
	if err := d.UnmarshalText([]byte("soon")); err == nil {
		t.Error(`"soon" was accepted`)
	}
}
