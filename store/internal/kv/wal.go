package kv

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Badger replays a log up to the first entry that it cannot read and drops the
// rest without a word. That is right where a crash cut off the last write, and
// hides damage anywhere else. The two are told apart here.
//
// A log (badger v4, memtable.go and structs.go) is a header of 20 bytes and then
// entries: one byte of meta, one of user meta, the lengths of key and value and
// the expiry as unsigned varints, key, value, and the CRC-32C of all that, big
// endian. Behind the last entry the file is zero, as it is allocated ahead.
const walHeader = 20

// walEntry returns the length of the entry at the start of b. Whole says that b
// holds all of it and its checksum was written; ok that the checksum is right.
func walEntry(b []byte) (n int, whole, ok bool) {
	at := 2
	var lengths [3]uint64
	for i := range lengths {
		if at >= len(b) {
			return 0, false, false
		}
		v, m := binary.Uvarint(b[at:])
		if m <= 0 {
			return 0, false, false
		}
		lengths[i] = v
		at += m
	}
	key, value := lengths[0], lengths[1]
	// A key ends in the 8 bytes of its version.
	if key <= 8 || key > 1<<16 || value > 1<<30 || uint64(len(b)-at) < key+value+crc32.Size {
		return 0, false, false
	}
	end := at + int(key+value)
	sum := binary.BigEndian.Uint32(b[end:])
	return end + crc32.Size, sum != 0, crc32.Checksum(b[:end], crc32.MakeTable(crc32.Castagnoli)) == sum
}

// walTail returns where the entries of a log end, how many bytes behind that are
// in use, and whether those are damage rather than a write that was cut off.
func walTail(b []byte) (end, used int, damaged bool) {
	at := min(walHeader, len(b))
	for at < len(b) {
		n, whole, ok := walEntry(b[at:])
		if !ok {
			damaged = whole
			break
		}
		at += n
	}
	last := len(b)
	for last > at && b[last-1] == 0 {
		last--
	}
	if last == at {
		return at, 0, false
	}
	for i := at + 1; i < last && !damaged; i++ {
		_, _, damaged = walEntry(b[i:])
	}
	return at, last - at, damaged
}

// eachLog calls fn with the end of every log of a database, as walTail tells it.
func eachLog(dir string, fn func(file string, end, used int, damaged bool) error) error {
	for _, pattern := range []string{"*.mem", "*.vlog"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		for _, file := range files {
			b, err := readSparse(file)
			if err != nil {
				return err
			}
			end, used, damaged := walTail(b)
			if err := fn(file, end, used, damaged); err != nil {
				return err
			}
		}
	}
	return nil
}

// damagedSuffix is on the copy of a damaged log that a start keeps.
const damagedSuffix = ".damaged"

// checkLogs notes damage in the ends of logs, now or at an earlier start.
func checkLogs(dir string, r *Report) error {
	err := eachLog(dir, func(file string, end, used int, damaged bool) error {
		if damaged {
			r.Problemf("%s: %d bytes from %d on are damaged: what they held is lost at the next start", filepath.Base(file), used, end)
		} else {
			r.CutOff += int64(used)
		}
		return nil
	})
	if err != nil {
		return err
	}
	kept, err := filepath.Glob(filepath.Join(dir, "*"+damagedSuffix))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for _, file := range kept {
		r.Problemf("%s: a log that was damaged at an earlier start: what was written before that start may be lost; import it again and remove the file", filepath.Base(file))
	}
	return nil
}

// keepDamagedLogs copies every damaged log aside before Badger drops the rest of
// it: what can be read is used, and nothing is lost without a trace. It says what
// it kept.
func keepDamagedLogs(dir string) (kept []string, err error) {
	err = eachLog(dir, func(file string, _, _ int, damaged bool) error {
		if !damaged {
			return nil
		}
		to := file + "." + strconv.FormatInt(time.Now().UnixNano(), 36) + damagedSuffix
		if err := copyFile(file, to); err != nil {
			return fmt.Errorf("store: keeping damaged %s: %w", file, err)
		}
		kept = append(kept, to)
		return nil
	})
	return kept, err
}

// readSparse reads a log up to its last byte that is not zero, and a little more.
func readSparse(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	var out []byte
	buf := make([]byte, copyBlock)
	zeros := 0
	for {
		n, err := io.ReadFull(f, buf)
		if n > 0 {
			if allZero(buf[:n]) {
				zeros += n
			} else {
				out = append(append(out, make([]byte, zeros)...), buf[:n]...)
				zeros = 0
			}
		}
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return append(out, make([]byte, min(zeros, copyBlock))...), nil
		case err != nil:
			return nil, fmt.Errorf("store: reading %s: %w", file, err)
		}
	}
}
