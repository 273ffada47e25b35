package spark

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a query's plan.
const (
	maxPlanDepth = 2000
	maxQueries   = 10_000 // distinct ones that enter the signature
)

var errPlan = errors.New("not a plan")

// signature hashes the shapes of an application's queries: the operators of their first
// plans, before adaptive execution changes them with the data.
type signature struct {
	seen map[[sha256.Size]byte]bool
	sum  hash.Hash
}

// add takes a SparkListenerSQLExecutionStart. Of all that it holds only sparkPlanInfo
// is walked, for its node names; the plan's text, which may have megabytes, is passed
// over.
func (s *signature) add(text []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), lenient)
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	shape := sha256.New()
	found := false
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return err
		}
		if key.String() == "sparkPlanInfo" && d.PeekKind() == '{' {
			found = true
			if err := walkPlan(d, shape, 0); err != nil {
				return err
			}
			continue
		}
		if err := d.SkipValue(); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil { // the closing brace
		return err
	}
	if found && len(s.seen) < maxQueries {
		s.join([sha256.Size]byte(shape.Sum(nil)))
	}
	return nil
}

func (s *signature) join(shape [sha256.Size]byte) {
	if s.seen == nil {
		s.seen, s.sum = make(map[[sha256.Size]byte]bool), sha256.New()
	}
	if !s.seen[shape] {
		s.seen[shape] = true
		s.sum.Write(shape[:])
	}
}

// hex returns 16 digits; empty without queries.
func (s *signature) hex() string {
	if s.sum == nil {
		return ""
	}
	return hex.EncodeToString(s.sum.Sum(nil)[:8])
}

func walkPlan(d *jsontext.Decoder, shape hash.Hash, depth int) error {
	if depth > maxPlanDepth {
		return errPlan
	}
	if _, err := d.ReadToken(); err != nil { // the opening brace
		return err
	}
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return err
		}
		switch name := key.String(); {
		case name == "nodeName" && d.PeekKind() == '"':
			value, err := d.ReadToken()
			if err != nil {
				return err
			}
			shape.Write([]byte(operator(value.String())))
		case name == "children" && d.PeekKind() == '[':
			if err := walkChildren(d, shape, depth); err != nil {
				return err
			}
		default:
			if err := d.SkipValue(); err != nil {
				return err
			}
		}
	}
	_, err := d.ReadToken()
	return err
}

func walkChildren(d *jsontext.Decoder, shape hash.Hash, depth int) error {
	shape.Write([]byte{'('})
	if _, err := d.ReadToken(); err != nil { // the opening bracket
		return err
	}
	for d.PeekKind() == '{' {
		if err := walkPlan(d, shape, depth+1); err != nil {
			return err
		}
		shape.Write([]byte{','})
	}
	shape.Write([]byte{')'})
	if d.PeekKind() != ']' {
		return errPlan
	}
	_, err := d.ReadToken()
	return err
}
