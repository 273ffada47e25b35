// Package node is the daemon: it wires the two databases, the network, the share
// policy, the advisor and the local API into one [App], and knows where they keep
// their things ([Home], [Config]).
//
// [New] validates and opens, [App.Start] starts, [App.Stop] waits for the end.
package node
