package p2p

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
)

// errSelf means that a node was about to dial itself.
var errSelf = errors.New("is this node itself")

// dialFailures remembers why peers could not be dialled last.
type dialFailures struct {
	mu     sync.Mutex
	reason map[peer.ID]string
}

// set says whether the reason is another than before.
func (f *dialFailures) set(id peer.ID, reason string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reason[id] == reason {
		return false
	}
	if f.reason == nil {
		f.reason = make(map[peer.ID]string)
	}
	f.reason[id] = reason
	return true
}

func (f *dialFailures) clear(id peer.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.reason, id)
}

func (f *dialFailures) of(id peer.ID) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reason[id]
}

func (f *dialFailures) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.reason)
}

// isRelay says whether the configuration names a peer as a relay.
func (n *Network) isRelay(id peer.ID) bool {
	return slices.ContainsFunc(n.settings.relays, func(r peer.AddrInfo) bool { return r.ID == id })
}

// noteDial keeps how dialling a bootstrap peer or relay ended, and warns of a failure
// once, and again where the reason changes.
func (n *Network) noteDial(t peer.AddrInfo, err error) {
	kind := "bootstrap peer"
	if n.isRelay(t.ID) {
		kind = "relay"
	}
	named := kind == "relay" || slices.ContainsFunc(n.settings.bootstrap, func(b peer.AddrInfo) bool { return b.ID == t.ID })
	switch {
	case !named || n.ctx.Err() != nil:
	case err == nil:
		n.failures.clear(t.ID)
	default:
		if reason := dialReason(err); n.failures.set(t.ID, reason) {
			n.logger.Warn(kind+" cannot be dialled; it is tried again and again", "peer", t.ID, "error", reason)
		}
	}
}

// dialReason puts why a dial failed into one line: each address with its reason.
func dialReason(err error) string {
	var all *swarm.DialError
	if !errors.As(err, &all) || len(all.DialErrors) == 0 {
		return cause(err)
	}
	parts := make([]string, len(all.DialErrors))
	for i, e := range all.DialErrors {
		parts[i] = fmt.Sprintf("%s: %s", e.Address, cause(e.Cause))
	}
	slices.Sort(parts) // addresses are tried in any order
	return strings.Join(slices.Compact(parts), "; ")
}

// cause is what the system said, where it was the system that failed.
func cause(err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return strings.ReplaceAll(err.Error(), "\n", ";")
}
