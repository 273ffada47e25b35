package exchange

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

const (
	// Wildcard matches any segment of a topic.
	Wildcard = "*"
	// EveryTopic is the pattern of a node that takes all there is.
	EveryTopic = "*/*/*"
	// MaxPatterns bounds the patterns of one node.
	MaxPatterns = 64
)

// Pattern selects topics. Each segment is a slug or [Wildcard].
type Pattern struct{ Infrastructure, Framework, Algorithm string }

// ParsePattern reads "<infrastructure>/<framework>/<algorithm>", such as
// "aws-ec2/spark/*". The error wraps [ErrPattern].
func ParsePattern(s string) (Pattern, error) {
	parts := strings.Split(s, "/")
	if len(parts) != 3 {
		return Pattern{}, fmt.Errorf("%w %q: want <infrastructure>/<framework>/<algorithm>, each a name or *", ErrPattern, model.Clip(s))
	}
	p := Pattern{parts[0], parts[1], parts[2]}
	// A wildcard stands for a slug, so the rest is valid if it is with one in place.
	t := model.Topic{Infrastructure: p.Infrastructure, Framework: p.Framework, Algorithm: p.Algorithm}
	for _, seg := range []*string{&t.Infrastructure, &t.Framework, &t.Algorithm} {
		if *seg == Wildcard {
			*seg = "x"
		}
	}
	if err := t.Validate(); err != nil {
		return Pattern{}, fmt.Errorf("%w %q: %w", ErrPattern, model.Clip(s), err)
	}
	return p, nil
}

// ParsePatterns reads several; none means [EveryTopic].
func ParsePatterns(in []string) ([]Pattern, error) {
	if len(in) == 0 {
		in = []string{EveryTopic}
	}
	if len(in) > MaxPatterns {
		return nil, fmt.Errorf("%w: %d patterns, at most %d", ErrPattern, len(in), MaxPatterns)
	}
	out := make([]Pattern, 0, len(in))
	for _, s := range in {
		p, err := ParsePattern(s)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// String returns the form that [ParsePattern] reads.
func (p Pattern) String() string {
	return p.Infrastructure + "/" + p.Framework + "/" + p.Algorithm
}

// Match says whether the pattern selects a topic.
func (p Pattern) Match(t model.Topic) bool {
	return matchSegment(p.Infrastructure, t.Infrastructure) &&
		matchSegment(p.Framework, t.Framework) &&
		matchSegment(p.Algorithm, t.Algorithm)
}

func matchSegment(pattern, s string) bool { return pattern == Wildcard || pattern == s }

// matchAny says whether one of the patterns selects a topic.
func matchAny(patterns []Pattern, t model.Topic) bool {
	return slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Match(t) })
}
