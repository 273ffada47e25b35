// Package commons keeps what organisations share: signed records, own and
// received, in a Badger database of its own.
//
// It knows nothing about runs and cannot reach them. A record that it returns
// has passed [Open]: its signature, its bounds and its topic are checked.
// [DB.Put] asks [Record.CheckTime]; whether a body makes sense is [ValidateBody],
// which is the caller's to ask before.
//
// Of all records of one author, topic and key, the highest revision counts. Two
// bodies under one revision are equivocation: both are kept as proof and neither
// is used. The outcome does not depend on the order in which records arrive.
package commons
