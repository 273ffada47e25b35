package api

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// strictJSON is the JSON of the protobuf mapping, as connect's own, but refuses fields
// that the schema does not have: a misspelt limit would be no limit. Clients of a newer
// schema learn so from a daemon that is older.
type strictJSON struct{ name string }

// The names under which connect keeps its codecs of JSON.
const (
	jsonName        = "json"
	jsonCharsetName = "json; charset=utf-8"
)

// Name implements connect's Codec.
func (c strictJSON) Name() string { return c.name }

// Marshal implements connect's Codec.
func (strictJSON) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message of the schema", message)
	}
	return protojson.Marshal(m)
}

// Unmarshal implements connect's Codec.
func (strictJSON) Unmarshal(raw []byte, message any) error {
	m, ok := message.(proto.Message)
	switch {
	case !ok:
		return fmt.Errorf("%T is no message of the schema", message)
	case len(raw) == 0:
		return errors.New("the body is empty; the least is {}")
	}
	if err := protojson.Unmarshal(raw, m); err != nil {
		return fmt.Errorf("%s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return nil
}
