// Package metrics serves what a daemon's operators watch: Prometheus metrics, whether
// the daemon lives, and whether it is ready.
//
// The figures are read from the node when they are asked for, through a [Source]; no
// package of the node imports this one or a metrics library. The registry is the
// daemon's own: what libraries register with Prometheus' global one is not served.
//
// Names and labels are kept compatible. Labels are from closed sets (procedures of the
// API, reasons, directions), but for topics, of which a node joins a bounded number.
// None holds a private name.
package metrics
