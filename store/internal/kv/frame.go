package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrCorrupt is wrapped by errors about stored bytes that are not what was written.
var ErrCorrupt = errors.New("store: damaged data")

// A stored value is a frame: one byte of version, the CRC-32C (big endian) of key
// and payload, the payload. Badger checks its blocks; this check also covers its
// memory, its logs and a value that turns up under another's key.
const (
	frameVersion = 1
	frameHeader  = 1 + crc32.Size
)

func checksum(key, payload []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(key, table), table, payload)
}

func frame(key, payload []byte) []byte {
	b := make([]byte, frameHeader, frameHeader+len(payload))
	b[0] = frameVersion
	binary.BigEndian.PutUint32(b[1:], checksum(key, payload))
	return append(b, payload...)
}

// unframe returns the payload as a part of b.
func unframe(key, b []byte) ([]byte, error) {
	if len(b) < frameHeader {
		return nil, fmt.Errorf("%w: key %q holds %d bytes, less than a frame", ErrCorrupt, key, len(b))
	}
	if b[0] != frameVersion {
		return nil, fmt.Errorf("%w: key %q has frame version %d, want %d", ErrCorrupt, key, b[0], frameVersion)
	}
	payload := b[frameHeader:]
	if want, got := binary.BigEndian.Uint32(b[1:]), checksum(key, payload); want != got {
		return nil, fmt.Errorf("%w: key %q has checksum %08x, want %08x", ErrCorrupt, key, got, want)
	}
	return payload, nil
}
