package exchange

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/karasu-project/karasu/model"
)

func TestPatternMatch(t *testing.T) {
	for _, c := range []struct {
		pattern string
		topic   model.Topic
		want    bool
	}{
		{"*/*/*", pagerank, true},
		{"aws-ec2/*/*", pagerank, true},
		{"aws-ec2/spark/*", pagerank, true},
		{"*/*/pagerank", pagerank, true},
		{"aws-ec2/spark/pagerank", pagerank, true},
		{"aws-ec2/spark/pagerank", kmeans, false},
		{"gcp/*/*", pagerank, false},
		{"*/hadoop/*", pagerank, false},
	} {
		p, err := ParsePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got := p.Match(c.topic); got != c.want {
			t.Errorf("%s matches %s: %v", c.pattern, c.topic, got)
		}
		if p.String() != c.pattern {
			t.Errorf("%s reads back as %s", c.pattern, p)
		}
	}
}

func TestPatternRefuses(t *testing.T) {
	for _, s := range []string{
		"", "*", "*/*", "*/*/*/*", "/spark/*", "AWS/*/*", "aws*/*/*", "a b/*/*", "**/*/*", "*/*/*\x00",
		strings.Repeat("a", model.MaxSlug+1) + "/*/*",
	} {
		if _, err := ParsePattern(s); !errors.Is(err, ErrPattern) {
			t.Errorf("%q: %v", s, err)
		}
	}
	if _, err := ParsePatterns(slices.Repeat([]string{"*/*/*"}, MaxPatterns+1)); !errors.Is(err, ErrPattern) {
		t.Errorf("too many: %v", err)
	}
}

// TestPatternOfTopic: a topic's own name is a pattern that matches it and nothing
// else, and a wildcard in any place still matches it.
func TestPatternOfTopic(t *testing.T) {
	slug := rapid.StringMatching(`[a-z0-9.-]{1,12}`)
	rapid.Check(t, func(t *rapid.T) {
		topic := model.Topic{Infrastructure: slug.Draw(t, "i"), Framework: slug.Draw(t, "f"), Algorithm: slug.Draw(t, "a")}
		p, err := ParsePattern(Pattern(topic).String())
		if err != nil || !p.Match(topic) {
			t.Fatalf("%s: %v", topic, err)
		}
		other := topic
		other.Algorithm = slug.Filter(func(s string) bool { return s != topic.Algorithm }).Draw(t, "other")
		if p.Match(other) {
			t.Fatalf("%s matches %s", p, other)
		}
		seg := []*string{&p.Infrastructure, &p.Framework, &p.Algorithm}[rapid.IntRange(0, 2).Draw(t, "segment")]
		*seg = Wildcard
		if !p.Match(topic) {
			t.Fatalf("%s does not match %s", p, topic)
		}
	})
}
