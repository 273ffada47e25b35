// Package private keeps what never leaves an organisation: its runs, its searches
// and the secret behind its pseudonyms, in a Badger database of its own.
//
// What is stored has passed model's validation and is normalised. Storing is
// idempotent: a run that is stored already, by its ID, changes nothing. What a
// method reports as stored is on disk.
package private
