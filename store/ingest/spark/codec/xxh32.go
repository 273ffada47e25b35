package codec

import (
	"encoding/binary"
	"math/bits"
)

// The primes of XXH32 (xxHash specification, section "XXH32 algorithm description").
const (
	prime1 uint32 = 2654435761
	prime2 uint32 = 2246822519
	prime3 uint32 = 3266489917
	prime4 uint32 = 668265263
	prime5 uint32 = 374761393
)

// xxh32 hashes b.
func xxh32(b []byte, seed uint32) uint32 {
	h := seed + prime5
	n := uint32(len(b))
	if len(b) >= 16 {
		p1, p2 := prime1, prime2 // variables, so that sums wrap around
		v := [4]uint32{seed + p1 + p2, seed + p2, seed, seed - p1}
		for ; len(b) >= 16; b = b[16:] {
			v[0] = round32(v[0], binary.LittleEndian.Uint32(b))
			v[1] = round32(v[1], binary.LittleEndian.Uint32(b[4:]))
			v[2] = round32(v[2], binary.LittleEndian.Uint32(b[8:]))
			v[3] = round32(v[3], binary.LittleEndian.Uint32(b[12:]))
		}
		h = bits.RotateLeft32(v[0], 1) + bits.RotateLeft32(v[1], 7) + bits.RotateLeft32(v[2], 12) + bits.RotateLeft32(v[3], 18)
	}
	h += n
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*prime3, 17) * prime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*prime5, 11) * prime1
	}
	h = (h ^ h>>15) * prime2
	h = (h ^ h>>13) * prime3
	return h ^ h>>16
}

func round32(acc, lane uint32) uint32 {
	return bits.RotateLeft32(acc+lane*prime2, 13) * prime1
}
