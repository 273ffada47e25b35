package node

import (
	"fmt"
	"strings"

	"github.com/karasu-project/karasu/node/share"
)

// InitOptions are what a new home's configuration starts with. The zero value
// leaves every default.
type InitOptions struct {
	// Listen and Bootstrap are multiaddrs.
	Listen, Bootstrap []string
	// Local keeps discovery off: no mDNS and no DHT, only bootstrap peers.
	Local bool
	// Share is the policy: off, summaries, models or both. Empty is the default.
	Share share.Mode
}

// configFile writes a configuration in which the defaults stand as comments.
func configFile(organisation string, o InitOptions) string {
	listen, bootstrap := "# listen = "+tomlList(DefaultListen()), "# bootstrap = []"
	if len(o.Listen) > 0 {
		listen = "listen = " + tomlList(o.Listen)
	}
	if len(o.Bootstrap) > 0 {
		bootstrap = "bootstrap = " + tomlList(o.Bootstrap)
	}
	discovery := "# mdns = true            # find peers on the local network\n# dht = true             # find peers through other peers"
	if o.Local {
		discovery = "mdns = false             # find peers on the local network\ndht = false              # find peers through other peers"
	}
	policy := `# policy = "both"            # off, summaries, models, both`
	if o.Share != "" {
		policy = fmt.Sprintf("%-26s # off, summaries, models, both", fmt.Sprintf("policy = %q", o.Share))
	}
	return fmt.Sprintf(template, organisation, listen, bootstrap, discovery, policy)
}

func tomlList(items []string) string {
	quoted := make([]string, len(items))
	for i, s := range items {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

const template = `# Karasu's configuration. What is commented out shows the default.

# Display name that peers see.
organisation = %q

[network]
# role = "leaf"          # "hub": can be dialled by all, relays for others, has room for many
%s
# announce = []          # addresses that others should dial instead
# Peers to dial, e.g. ["/dns4/karasu.example.org/tcp/4747/p2p/12D3KooW..."]
%s
# relays = []            # hubs through which others reach this node, for one that cannot be dialled
%s
# allow = []             # peer ids; if any, nobody else may connect
# exempt_prefixes = []   # members' networks, e.g. "10.1.0.0/16": any number of connections from there
# announce_topics = true # tell others of which topics records are held here
# subscribe = ["*/*/*"]  # <infrastructure>/<framework>/<algorithm>
# sync_interval = "30s"

# [circle]               # a consortium; without it the network is open
# name = "demo"
# admins = ["12D3KooW..."]  # organisations that sign the list of members
# psk_file = "circle.psk"   # a key that all members have; TCP only

[share]
%s
# minimum_runs = 3           # of a workload, before anything of it leaves
# absolute_runtimes = false  # false: only the shape leaves, not the seconds
# exact_sizes = false        # false: only the power of two of an input size leaves
# runtime_models = false     # true: general models leave, which tell runtimes in seconds
# stage_models = false       # true: predictors of stages leave, which tell seconds and bytes
# epsilon = 0.0              # above 0: Laplace noise of scale ln 2 / epsilon
# valid_for = "180d"
#
# [[share.topic]]            # the first pattern that matches counts
# pattern = "aws-ec2/spark/*"
# policy = "off"

# [[watch]]                  # a folder whose logs are imported as they come
# kind = "spark"
# path = "/var/log/spark"
#
# [[workload]]               # which workload an application is; the first that matches
# name = '^nightly-(\w+)'    # also user, queue, main_class, query_signature
# infrastructure = "aws-emr"
# algorithm = "etl"          # public
# job = "nightly-${1}"       # private
# machine_type = "m5.xlarge"

[catalog]
# file = "machines.toml"     # overrides and extends the built-in machine types

[api]
# tcp = "127.0.0.1:7747"     # besides the unix socket; needs the token in api.token

[metrics]
# listen = "127.0.0.1:9464"  # /metrics for Prometheus, /healthz, /readyz; none without it

[elastic]
# http = "127.0.0.1:7748"    # where training jobs report; asks for no token, so this host only
# brain = "127.0.0.1:50001"  # where DLRover masters ask; no authentication, see docs/dlrover.md
# cores = 400                # that all training jobs may use together; no limit without it
# memory = "1600GiB"

[log]
# level = "INFO"             # DEBUG, INFO, WARN, ERROR
# format = "text"            # or "json"
`
