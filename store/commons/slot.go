package commons

import (
	"bytes"
	"fmt"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
)

// parseSlot reverses slotKey.
func parseSlot(b []byte) (slot, error) {
	if len(b) < 2 || b[0] != floorPrefix || len(b) < 2+int(b[1]) {
		return slot{}, fmt.Errorf("%w: key %q", ErrCorrupt, b)
	}
	author, err := peer.IDFromBytes(b[2 : 2+int(b[1])])
	if err != nil {
		return slot{}, fmt.Errorf("%w: key %q: %w", ErrCorrupt, b, err)
	}
	name, rest, ok := bytes.Cut(b[2+int(b[1]):], []byte{0})
	topic, err := model.ParseTopic(string(name))
	key, writer, named := bytes.Cut(rest, []byte{0})
	if !ok || err != nil || !validKey(string(key)) || named && (len(writer) == 0 || !ValidWriter(string(writer))) {
		return slot{}, fmt.Errorf("%w: key %q", ErrCorrupt, b)
	}
	return slot{author, string(writer), topic, string(key)}, nil
}
