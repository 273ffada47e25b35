package private

import "github.com/karasu-project/karasu/store/internal/kv"

// Space says how many bytes are free where a directory is, and how many a database
// needs to be opened and written to.
func Space(dir string) (free, needed int64, err error) { return kv.Space(dir) }
