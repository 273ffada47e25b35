// Package p2p is a node's place in the network: its libp2p host, how it finds
// other nodes, whom it talks to, and the gossip layer it speaks. It moves bytes
// and knows nothing of records; package exchange gives the bytes their meaning.
//
// A [Network] finds peers in four ways that work side by side: addresses given in
// the configuration, the last good peers of earlier starts, multicast DNS on the
// local network, and a rendezvous in a Kademlia DHT of its own. With an allowlist
// it is a consortium: a stranger is refused when dialled and, once its key is
// known, when it dials.
//
// It cannot reach private runs: it imports nothing of the store.
package p2p
