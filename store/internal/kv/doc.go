// Package kv is how Karasu uses Badger: one set of settings, a checksum of our
// own around every value, a mark of clean shutdown, and a check that reads
// everything and changes nothing.
//
// A [DB] owns its directory: a second process that opens it gets [ErrInUse].
// What an [DB.Update] wrote is on disk when it returns. The format of keys and
// values belongs to the packages that use this one.
package kv
