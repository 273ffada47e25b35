package search

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnknownMethod means that no method has the name asked for.
var ErrUnknownMethod = errors.New("unknown search method")

// methods are in the order in which they are listed, the default first.
var methods = []struct {
	name string
	make func() Method
}{
	{"evidence", func() Method { return NewEvidence() }},
	{"karasu", func() Method { return NewKarasu() }},
	{"karasu-trees", func() Method { return NewKarasuTrees() }},
	{"cherrypick", func() Method { return NewCherryPick() }},
	{"arrow", func() Method { return NewArrow() }},
	{"random", func() Method { return NewRandom() }},
}

// New returns a method by its name; "" is the default, the first of [Names]. It
// wraps [ErrUnknownMethod].
func New(name string) (Method, error) {
	for _, m := range methods {
		if name == m.name || name == "" {
			return m.make(), nil
		}
	}
	return nil, fmt.Errorf("%w %q, want one of %s", ErrUnknownMethod, name, strings.Join(Names(), ", "))
}

// Names lists the methods, the default first.
func Names() []string {
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = m.name
	}
	return names
}
