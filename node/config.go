package node

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/karasu-project/karasu/node/exchange"
	"github.com/karasu-project/karasu/node/p2p"
	"github.com/karasu-project/karasu/node/share"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/ingest/naming"
)

// ErrConfig is wrapped by every error about the configuration file.
var ErrConfig = errors.New("configuration")

// Config is what config.toml says. [DefaultConfig] has every default.
type Config struct {
	// Organisation is the display name that peers see.
	Organisation string        `toml:"organisation"`
	Network      NetworkConfig `toml:"network"`
	Circle       CircleConfig  `toml:"circle"`
	Share        ShareConfig   `toml:"share"`
	Catalog      CatalogConfig `toml:"catalog"`
	API          APIConfig     `toml:"api"`
	Metrics      MetricsConfig `toml:"metrics"`
	Elastic      ElasticConfig `toml:"elastic"`
	Log          LogConfig     `toml:"log"`
	// Workloads are the rules that name executions; the first that matches counts.
	Workloads []naming.Rule `toml:"workload"`
	// Watches are the folders that executions are taken from.
	Watches []WatchConfig `toml:"watch"`
}

// NetworkConfig says how to reach other organisations.
type NetworkConfig struct {
	// Role is what the node does for others.
	Role p2p.Role `toml:"role"`
	// Listen has multiaddrs; every one has to work. Empty only with relays.
	Listen []string `toml:"listen"`
	// Announce has the multiaddrs that others should dial instead of those listened on.
	Announce []string `toml:"announce"`
	// Bootstrap has multiaddrs with a peer id, such as /dns4/karasu.example.org/tcp/4747/p2p/12D3...
	Bootstrap []string `toml:"bootstrap"`
	// Relays are hubs, as in Bootstrap, through which others reach this node.
	Relays []string `toml:"relays"`
	MDNS   bool     `toml:"mdns"`
	DHT    bool     `toml:"dht"`
	// Allow has peer ids; if it is not empty, nobody else may connect.
	Allow []string `toml:"allow"`
	// ExemptPrefixes are networks, such as "10.1.0.0/16", from which any number of
	// connections may come.
	ExemptPrefixes []string `toml:"exempt_prefixes"`
	// AnnounceTopics tells others of which topics records are held here.
	AnnounceTopics bool `toml:"announce_topics"`
	// Subscribe has topic patterns such as "aws-ec2/spark/*".
	Subscribe []string `toml:"subscribe"`
	// SyncInterval is the mean time between two reconciliations.
	SyncInterval Duration `toml:"sync_interval"`
}

// ShareConfig is the file's form of [share.Policy].
type ShareConfig struct {
	Policy      share.Mode `toml:"policy"`
	MinimumRuns int        `toml:"minimum_runs"`
	Absolute    bool       `toml:"absolute_runtimes"`
	ExactSizes  bool       `toml:"exact_sizes"`
	// RuntimeModels shares general models, which tell runtimes in seconds.
	RuntimeModels bool `toml:"runtime_models"`
	// StageModels shares general predictors of stages, which tell seconds and bytes.
	StageModels bool     `toml:"stage_models"`
	Epsilon     float64  `toml:"epsilon"`
	ValidFor    Duration `toml:"valid_for"`
	// Topics override the policy by topic pattern; the first that matches counts.
	Topics []TopicShareConfig `toml:"topic"`
}

// TopicShareConfig is the policy of the topics that match a pattern.
type TopicShareConfig struct {
	Pattern string     `toml:"pattern"`
	Policy  share.Mode `toml:"policy"`
}

// CatalogConfig adds to the built-in machine types.
type CatalogConfig struct {
	// File overrides and extends the built-in catalog; empty is none.
	File string `toml:"file"`
}

// APIConfig says where the local API listens besides its unix socket.
type APIConfig struct {
	// TCP is a host:port; empty is none. A bearer token is then needed.
	TCP string `toml:"tcp"`
}

// MetricsConfig says where metrics and health are served.
type MetricsConfig struct {
	// Listen is a host:port; empty is nowhere. Everybody who can connect may ask.
	Listen string `toml:"listen"`
}

// LogConfig is about the log on standard error.
type LogConfig struct {
	Level slog.Level `toml:"level"`
	// Format is text or json.
	Format LogFormat `toml:"format"`
}

// LogFormat is the form of a log's lines.
type LogFormat string

// The forms.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// UnmarshalText implements [encoding.TextUnmarshaler].
func (f *LogFormat) UnmarshalText(text []byte) error {
	if *f = LogFormat(text); *f != LogText && *f != LogJSON {
		return fmt.Errorf("must be text or json: %q", text)
	}
	return nil
}

// Duration is a time.Duration that reads "30s" and "180d".
type Duration time.Duration

// maxDuration bounds what a file may say: 100 years, far below what overflows.
const maxDuration = 36525 * 24 * time.Hour

// UnmarshalText accepts what time.ParseDuration does, and whole days such as "90d".
func (d *Duration) UnmarshalText(text []byte) error {
	s, unit := string(text), int64(1)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		s, unit = days+"h", 24
	}
	v, err := time.ParseDuration(s)
	switch {
	case int64(v) > int64(maxDuration)/unit, int64(v) < -int64(maxDuration)/unit, err != nil && tooManyDigits(s):
		return fmt.Errorf("must be at most 100 years: %q", text)
	case err != nil:
		return fmt.Errorf("must be a time such as \"30s\", \"12h\" or \"180d\": %q", text)
	}
	*d = Duration(int64(v) * unit)
	return nil
}

// tooManyDigits tells a time that is too long from what is none: time.ParseDuration
// calls both invalid.
func tooManyDigits(s string) bool {
	digits := strings.TrimLeft(strings.TrimLeft(s, "+-"), "0123456789")
	_, err := time.ParseDuration("1" + digits)
	return err == nil && digits != strings.TrimLeft(s, "+-")
}

// DefaultListen is where a daemon listens unless told otherwise: a fixed port, so
// that others can be told where to find it.
func DefaultListen() []string {
	return []string{"/ip4/0.0.0.0/tcp/4747", "/ip4/0.0.0.0/udp/4747/quic-v1"}
}

// DefaultConfig returns the configuration of a home whose file sets nothing else.
func DefaultConfig(organisation string) Config {
	policy := share.DefaultPolicy()
	return Config{
		Organisation: organisation,
		Network: NetworkConfig{
			Role: p2p.Leaf, Listen: DefaultListen(), MDNS: true, DHT: true, AnnounceTopics: true,
			Subscribe: []string{"*/*/*"}, SyncInterval: Duration(exchange.DefaultSyncInterval),
		},
		Share: ShareConfig{Policy: policy.Mode, MinimumRuns: policy.MinimumRuns, ValidFor: Duration(policy.ValidFor)},
		Log:   LogConfig{Format: LogText},
	}
}

// LoadConfig reads a home's config.toml. Unknown keys are errors.
func LoadConfig(h Home) (Config, error) {
	path := h.ConfigFile()
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Config{}, fmt.Errorf("%w: no %s; create a home with: karasu init --org NAME", ErrNoHome, path)
	}
	if err != nil {
		return Config{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	c := DefaultConfig("")
	meta, err := toml.Decode(string(raw), &c)
	if err != nil {
		return Config{}, fmt.Errorf("%w: %s%s", ErrConfig, path, tomlProblem(err))
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return Config{}, fmt.Errorf("%w: %s%s: unknown key %q", ErrConfig, path, unknownLine(raw, unknown[0]), unknown[0].String())
	}
	if err := c.Validate(); err != nil {
		var entry *entryError
		if errors.As(err, &entry) {
			return Config{}, fmt.Errorf("%w: %s:%d: %w", ErrConfig, path, entryLine(raw, entry.table, entry.index, entry.field), entry)
		}
		return Config{}, fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
	}
	return c, nil
}

// Validate checks what does not need the network.
func (c Config) Validate() error {
	if err := validateOrganisation(c.Organisation); err != nil {
		return err
	}
	if len(c.Network.Listen) == 0 && len(c.Network.Relays) == 0 {
		return errors.New("network.listen is empty; leave it out for the default, or name a hub under network.relays")
	}
	if err := c.network().Validate(); err != nil {
		return err
	}
	if _, err := exchange.ParsePatterns(c.Network.Subscribe); err != nil {
		return fmt.Errorf("network.subscribe: %w", err)
	}
	if d := time.Duration(c.Network.SyncInterval); d < time.Second || d > 24*time.Hour {
		return fmt.Errorf("network.sync_interval is %s, must be between 1s and 24h", d)
	}
	if err := c.Circle.validate(); err != nil {
		return err
	}
	if err := validateListen("api.tcp", c.API.TCP, "127.0.0.1:7747"); err != nil {
		return err
	}
	if err := validateListen("metrics.listen", c.Metrics.Listen, "127.0.0.1:9464"); err != nil {
		return err
	}
	if err := c.Elastic.validate(); err != nil {
		return err
	}
	if _, err := c.rules(); err != nil {
		return err
	}
	for i, w := range c.Watches {
		if err := w.validate(i); err != nil {
			return err
		}
	}
	_, err := c.policy()
	return err
}

// validateListen checks a host:port; empty is none.
func validateListen(key, listen, example string) error {
	if listen == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%s must be a host and a port up to 65535, such as %s: %q", key, example, listen)
	}
	return nil
}

func (c Config) network() p2p.Config {
	n := c.Network
	if c.Circle.PSKFile != "" && slices.Equal(n.Listen, DefaultListen()) {
		n.Listen = n.Listen[:1] // a private network is TCP only
	}
	return p2p.Config{
		Role: n.Role, Listen: n.Listen, DialOnly: len(n.Listen) == 0, Announce: n.Announce, Bootstrap: n.Bootstrap, Relays: n.Relays,
		MDNS: n.MDNS, DHT: n.DHT, Allowlist: n.Allow,
		Limits: p2p.Limits{ExemptPrefixes: n.ExemptPrefixes},
	}
}

func (c Config) policy() (share.Policy, error) {
	p := share.Policy{
		Mode: c.Share.Policy, MinimumRuns: c.Share.MinimumRuns, Absolute: c.Share.Absolute, ExactSizes: c.Share.ExactSizes,
		Runtimes: c.Share.RuntimeModels, Stages: c.Share.StageModels,
		Epsilon: c.Share.Epsilon, ValidFor: time.Duration(c.Share.ValidFor),
	}
	for _, t := range c.Share.Topics {
		pattern, err := exchange.ParsePattern(t.Pattern)
		if err != nil {
			return p, fmt.Errorf("share.topic: %w", err)
		}
		p.Overrides = append(p.Overrides, share.Override{
			Match: pattern.Match, Mode: t.Policy,
		})
	}
	return p, p.Validate()
}

// validateOrganisation takes what records take, and wants a name.
func validateOrganisation(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("organisation is missing; name it with --org NAME, or organisation = \"NAME\" in config.toml")
	}
	return commons.ValidateOrganisation(s)
}
