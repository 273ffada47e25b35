package node

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/karasu-project/karasu/optimizer/elastic"
)

// ElasticConfig is about training jobs.
type ElasticConfig struct {
	// HTTP is a loopback host:port that jobs report to without a token; empty is none.
	HTTP string `toml:"http"`
	// Brain is a host:port where DLRover masters ask without authentication; empty is none.
	Brain string `toml:"brain"`
	// Cores and Memory that all jobs may use together; 0 is no limit.
	Cores  float64 `toml:"cores"`
	Memory Size    `toml:"memory"`
}

// Size is bytes: "64GiB" (2^30), "64GB" (10^9).
type Size float64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Size) UnmarshalText(text []byte) error {
	v, err := humanize.ParseBytes(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("must be a size such as \"64GiB\": %q", text)
	}
	*s = Size(v)
	return nil
}

func (c ElasticConfig) validate() error {
	if err := c.validateBrain(); err != nil {
		return err
	}
	if !(c.Cores >= 0 && c.Cores <= math.MaxInt32) {
		return fmt.Errorf("elastic.cores must be between 0 and 2^31: %g", c.Cores)
	}
	if err := validateListen("elastic.http", c.HTTP, "127.0.0.1:7748"); err != nil || c.HTTP == "" {
		return err
	}
	host, _, err := net.SplitHostPort(c.HTTP)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return errors.New("elastic.http asks for no token, so it must be an address of this host alone, such as 127.0.0.1:7748: " + c.HTTP)
	}
	return nil
}

// validateBrain wants a host: a port alone would be open to everybody without saying so.
func (c ElasticConfig) validateBrain() error {
	if err := validateListen("elastic.brain", c.Brain, "127.0.0.1:50001"); err != nil || c.Brain == "" {
		return err
	}
	if host, _, err := net.SplitHostPort(c.Brain); err != nil || host == "" {
		return errors.New("elastic.brain must name a host, such as 127.0.0.1:50001, or 0.0.0.0:50001 for everybody who reaches this one: " + c.Brain)
	}
	return nil
}

func (c ElasticConfig) cluster() elastic.Cluster {
	return elastic.Cluster{CPU: c.Cores, Memory: float64(c.Memory)}
}
