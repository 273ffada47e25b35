// Package netsim runs networks of nodes in one process and measures them: how fast
// records reach everybody, what that costs in bytes and memory, and what happens to
// those who come late, are cut off or restart.
//
// Its nodes are real but for what is above the exchange: libp2p hosts on loopback, the
// gossip layer, databases on disk. They share the processor, so times are those of a
// network on a machine that does all the work of it.
package netsim
