package p2p

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/pnet"
	ma "github.com/multiformats/go-multiaddr"
)

// hubTag protects connections to a circle's hubs from being trimmed.
const hubTag = "karasu-hub"

// Restrict makes the node talk only to peers that a circle permits, too, and keeps
// connections to its hubs. It disconnects whom the circle no longer permits, and is to be
// called again when its answers change. permit must be safe for concurrent use.
func (n *Network) Restrict(permit func(peer.ID) bool, hubs []peer.ID) error {
	n.gater.permit.Store(&permit)
	for _, id := range n.host.Peerstore().Peers() {
		if slices.Contains(hubs, id) {
			n.host.ConnManager().Protect(id, hubTag)
		} else {
			n.host.ConnManager().Unprotect(id, hubTag)
		}
	}
	return n.disconnectStrangers()
}

// disconnectStrangers closes connections to peers that are not allowed.
func (n *Network) disconnectStrangers() error {
	var errs []error
	for _, id := range n.host.Network().Peers() {
		if !n.gater.allowed(id) {
			errs = append(errs, n.host.Network().ClosePeer(id))
		}
	}
	return errors.Join(errs...)
}

// TurnedAway lists peers that called and were kept out, at most 256.
func (n *Network) TurnedAway() []TurnedAway { return n.gater.callers() }

// ParsePSK reads the key of a private network: the file that `karasu members psk`
// writes, which is the form that other libp2p programs use, too.
func ParsePSK(file []byte) (pnet.PSK, error) {
	key, err := pnet.DecodeV1PSK(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("%w: pre-shared key: %w; a new one is made by: karasu members psk", ErrConfig, err)
	}
	return key, nil
}

// checkPrivate refuses what a private network cannot do: its key encrypts streams of
// TCP, and QUIC has none.
func (c Config) checkPrivate(field string, addrs []ma.Multiaddr) error {
	for _, a := range addrs {
		if s := a.String(); len(c.PSK) > 0 && strings.Contains(s, "/udp/") {
			return fmt.Errorf("%w: a network with a pre-shared key is TCP only; take %s out of %s", ErrConfig, s, field)
		}
	}
	return nil
}
