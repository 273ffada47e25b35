// Package backup writes and reads backups of a home: one file with the configuration,
// the keys, and both databases as of one moment each.
//
// A backup is a tar file compressed with gzip, so that it can be looked into with the
// usual tools. Its entries, in this order:
//
//	karasu-backup.json   [Manifest]
//	config/NAME          files of the configuration folder, such as identity.key
//	data/NAME            files of the data folder that are no database
//	private/00000 ...    the private database in Badger's backup format, in parts
//	commons/00000 ...    the commons, in parts
//	SHA256SUMS           the SHA-256 of every entry before, as sha256sum writes them
//
// The last entry tells a file that was cut from a whole one. Formats with a higher
// number than [Format] are refused, not guessed at.
package backup

import (
	"errors"
	"regexp"
	"time"
)

// Format is the version of the format that is written, and the highest that is read.
const Format = 1

// Bounds of what is read. Databases are parts of at most partSize.
const (
	partSize = 1 << 20
	// maxFile bounds a file that is no database: an audit log is rotated far below.
	maxFile = 64 << 20
	// maxFiles bounds their number.
	maxFiles = 64
	// maxSums bounds SHA256SUMS: 100,000 parts are 100 GB.
	maxSums = 10 << 20
)

// Names of entries.
const (
	manifestName = "karasu-backup.json"
	sumsName     = "SHA256SUMS"
)

// ErrDamaged is wrapped by errors about a file that is no backup, is cut, or holds what
// no backup does.
var ErrDamaged = errors.New("not a sound backup")

// Manifest says what a backup is of. It is not secret by itself; the backup is.
type Manifest struct {
	Format int `json:"format"`
	// Version of the program that wrote it.
	Version      string    `json:"version"`
	Created      time.Time `json:"created"`
	Organisation string    `json:"organisation"`
	PeerID       string    `json:"peer_id"`
}

// Part of a backup that holds files.
type Part string

// The parts.
const (
	Config Part = "config"
	Data   Part = "data"
)

// fileName is what a file may be called: no folders, nothing hidden.
var fileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

// ValidFileName says whether a file of that name can be part of a backup.
func ValidFileName(name string) bool { return fileName.MatchString(name) }
