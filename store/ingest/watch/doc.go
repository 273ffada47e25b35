// Package watch takes the records of applications from a folder as they come: each once
// it is complete, each once, however often the folder is looked at.
//
// A word of the file system (fsnotify) makes it look; so does a timer, for file systems
// that say nothing. What it looks at is a listing: sizes and times decide, so that
// nothing rests on a word that was lost. A record is read when it has not changed for a
// moment. One that then turns out to be half-written, and one that says that it is
// still written, is left until it has been quiet for long; then it is taken as it is.
package watch
