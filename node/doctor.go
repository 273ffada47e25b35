package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/karasu-project/karasu/node/p2p"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

const (
	// skewWorth is from which difference of clocks on it is told, and skewBad from which
	// records are refused for being ahead ([commons.MaxAhead]).
	skewWorth = time.Minute
	skewBad   = commons.MaxAhead
)

// checks collect what the doctor found.
type checks []*karasuv1.Check

func (c *checks) add(state karasuv1.CheckState, name, advice, format string, args ...any) {
	*c = append(*c, &karasuv1.Check{Name: name, State: state, Finding: fmt.Sprintf(format, args...), Advice: advice})
}

func (c *checks) ok(name, format string, args ...any) {
	c.add(karasuv1.CheckState_CHECK_STATE_OK, name, "", format, args...)
}

func (c *checks) warn(name, advice, format string, args ...any) {
	c.add(karasuv1.CheckState_CHECK_STATE_WARNING, name, advice, format, args...)
}

func (c *checks) fail(name, advice, format string, args ...any) {
	c.add(karasuv1.CheckState_CHECK_STATE_FAILED, name, advice, format, args...)
}

func (c *checks) skip(name, format string, args ...any) {
	c.add(karasuv1.CheckState_CHECK_STATE_SKIPPED, name, "", format, args...)
}

// Diagnose says what of the running node's network works.
func (a *App) Diagnose(ctx context.Context) ([]*karasuv1.Check, error) {
	var c checks
	c.network(a.network.Diagnose(ctx), a.config.Network)
	c.greylist(a)
	return c, nil
}

// network judges what the network says of itself.
func (c *checks) network(d p2p.Diagnosis, config NetworkConfig) {
	c.listening(d)
	c.reachable(d)
	c.relays(d)
	c.bootstrap(d)
	c.peers(d, config)
	c.topics(d)
	c.dht(d)
	c.clocks(d)
}

func (c *checks) listening(d p2p.Diagnosis) {
	if len(d.Listening) == 0 {
		c.skip("listening", "on no address, as the configuration says; others reach this node through relays only")
		return
	}
	text := make([]string, len(d.Listening))
	for i, a := range d.Listening {
		text[i] = a.String()
	}
	c.ok("listening", "on %s", strings.Join(text, ", "))
}

func (c *checks) reachable(d p2p.Diagnosis) {
	const name = "reachable"
	reserved := slices.ContainsFunc(d.Relays, func(r p2p.RelayState) bool { return r.Reserved })
	inbound := 0
	for _, p := range d.Peers {
		if p.Inbound {
			inbound++
		}
	}
	switch {
	case inbound > 0:
		c.ok(name, "%s dialled this node", plural(inbound, "connected peer has", "connected peers have"))
	case d.Reachability == network.ReachabilityPublic && d.Role == p2p.Hub:
		c.warn(name, "see that the firewall lets its port in, and set network.announce to the address that others dial",
			"nobody has dialled this hub yet; it says of itself that others can")
	case d.Reachability == network.ReachabilityPublic:
		c.ok(name, "peers have tried, and it can be dialled")
	case reserved:
		c.ok(name, "through a relay")
	case d.Reachability == network.ReachabilityPrivate:
		c.warn(name, "open its port in the firewall and set network.announce, or name a hub under network.relays",
			"peers cannot dial this node; it finds others, and what it shares travels when it dials")
	default:
		c.skip(name, "nobody has dialled this node yet, and peers try public addresses only")
	}
}

func (c *checks) relays(d p2p.Diagnosis) {
	const name = "relay"
	if d.Role == p2p.Hub {
		c.ok(name, "this hub relays for others")
		return
	}
	if len(d.Relays) == 0 {
		c.skip(name, "none is configured")
	}
	for _, r := range d.Relays {
		switch {
		case r.Reserved:
			c.ok(name, "reached through %s", r.ID)
		case r.Connected && r.LastError == "":
			c.warn(name, "look again in a moment", "%s is connected and has not answered yet", r.ID)
		case r.Connected:
			c.fail(name, "its configuration must say network.role = \"hub\"", "%s is connected and grants no place%s", r.ID, because(r.LastError))
		default:
			c.fail(name, "check its address under network.relays, and that it runs", "%s is not connected%s", r.ID, because(r.LastError))
		}
	}
}

func (c *checks) bootstrap(d p2p.Diagnosis) {
	const name = "bootstrap"
	named := 0
	for _, p := range d.Peers {
		switch {
		case !p.Bootstrap:
			continue
		case p.Connected:
			c.ok(name, "%s is connected", p.ID)
		default:
			c.fail(name, "check its address under network.bootstrap, that it runs, and what is between", "%s is not connected%s", p.ID, because(p.LastError))
		}
		named++
	}
	if named == 0 {
		c.skip(name, "no peer is named in the configuration")
	}
}

func (c *checks) peers(d p2p.Diagnosis, config NetworkConfig) {
	connected, relayed := 0, 0
	for _, p := range d.Peers {
		if p.Connected {
			connected++
		}
		if p.Relayed {
			relayed++
		}
	}
	switch {
	case connected > 0 && relayed > 0:
		c.ok("peers", "%d connected, %d of them through relays only", connected, relayed)
	case connected > 0:
		c.ok("peers", "%d connected", connected)
	case len(config.Bootstrap) == 0 && !config.MDNS:
		c.warn("peers", "name a peer under network.bootstrap, or turn mdns on", "nobody is connected, and nothing says where to look")
	default:
		c.warn("peers", "name a peer that runs under network.bootstrap; karasu status there prints its address", "nobody is connected")
	}
}

func (c *checks) topics(d p2p.Diagnosis) {
	delete(d.TopicPeers, commons.ControlTopic().String())
	var alone []string
	for t, n := range d.TopicPeers {
		if n == 0 {
			alone = append(alone, strings.TrimPrefix(t, "/karasu/1/"))
		}
	}
	slices.Sort(alone)
	const name = "topics"
	switch {
	case len(d.TopicPeers) == 0:
		c.skip(name, "none is taken part in yet: there are no records")
	case len(alone) > 0:
		c.warn(name, "karasu topics --all lists what others serve", "%d of %d have no connected peer: %s",
			len(alone), len(d.TopicPeers), some(alone))
	default:
		least := -1
		for _, n := range d.TopicPeers {
			if least < 0 || n < least {
				least = n
			}
		}
		c.ok(name, "%s, each with %s or more", plural(len(d.TopicPeers), "topic", "topics"), plural(least, "peer", "peers"))
	}
}

func (c *checks) dht(d p2p.Diagnosis) {
	switch {
	case !d.DHT:
		c.skip("dht", "is off; peers find each other by bootstrap and the local network")
	case d.DHTPeers == 0:
		c.warn("dht", "it needs one connected peer that has network.dht = true", "knows no node, so it finds nobody")
	default:
		c.ok("dht", "knows %s", plural(d.DHTPeers, "node", "nodes"))
	}
}

func (c *checks) clocks(d p2p.Diagnosis) {
	const name = "clock"
	if len(d.Clocks) == 0 {
		c.skip(name, "no peer is there to compare with")
		return
	}
	ahead := make([]time.Duration, len(d.Clocks))
	for i, k := range d.Clocks {
		ahead[i] = k.Ahead
	}
	slices.Sort(ahead)
	middle := ahead[len(ahead)/2]
	const advice = "synchronise the clock of this machine (NTP); records of a node that is ahead are refused"
	text := fmt.Sprintf("%s off that of %s", middle.Abs().Round(time.Millisecond), plural(len(ahead), "peer", "peers"))
	switch {
	case middle.Abs() >= skewBad:
		c.fail(name, advice, "%s", text)
	case middle.Abs() >= skewWorth:
		c.warn(name, advice, "%s", text)
	default:
		c.ok(name, "%s", text)
	}
}

func (c *checks) greylist(a *App) {
	n := 0
	for _, o := range a.exchange.Offenders() {
		if o.Greylisted > 0 {
			n++
		}
	}
	if n == 0 {
		c.ok("greylist", "is empty")
		return
	}
	c.warn("greylist", "karasu peers says why; karasu peers reset lets them back", "nothing is taken from %s", plural(n, "peer", "peers"))
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// some names a few and counts the others.
func some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
