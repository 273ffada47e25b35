package naming

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// template is a text with places for groups. The zero value is the empty text.
type template []piece

// piece is a literal text where group is 0.
type piece struct {
	text  string
	group int
}

// parseTemplate checks a template against the groups that its rule's patterns have:
// so many by number, and by name.
func parseTemplate(field, text string, groups int, names map[string]int) (template, error) {
	if len(text) > maxPattern {
		return nil, &RuleError{0, field, fmt.Sprintf("is longer than %d bytes", maxPattern)}
	}
	var t template
	for rest := text; rest != ""; {
		literal, after, dollar := strings.Cut(rest, "$")
		if literal != "" {
			t = append(t, piece{text: literal})
		}
		if !dollar {
			break
		}
		if next, ok := strings.CutPrefix(after, "$"); ok {
			t, rest = append(t, piece{text: "$"}), next
			continue
		}
		inner, next, closed := strings.Cut(strings.TrimPrefix(after, "{"), "}")
		if !strings.HasPrefix(after, "{") || !closed {
			return nil, &RuleError{0, field, fmt.Sprintf("holds a $ that begins no group: write ${1}, ${name}, or $$ for a dollar sign: %q", model.Clip(text))}
		}
		group := names[inner]
		if n, err := strconv.Atoi(inner); err == nil && n >= 1 && n <= groups {
			group = n
		}
		if group == 0 {
			return nil, &RuleError{0, field, fmt.Sprintf("names the group ${%s}, which no pattern of the rule captures (%s)", model.Clip(inner), known(groups))}
		}
		t, rest = append(t, piece{group: group}), next
	}
	return t, nil
}

func known(groups int) string {
	if groups == 0 {
		return "they capture none: put the part in parentheses"
	}
	return fmt.Sprintf("they capture %d", groups)
}

// fixed returns the text of a template without groups.
func (t template) fixed() (string, bool) {
	var b strings.Builder
	for _, p := range t {
		if p.group > 0 {
			return "", false
		}
		b.WriteString(p.text)
	}
	return b.String(), true
}

// fill puts in what the groups captured; captured[0] is group 1.
func (t template) fill(captured []string) string {
	var b strings.Builder
	for _, p := range t {
		if p.group > 0 {
			b.WriteString(captured[p.group-1])
		} else {
			b.WriteString(p.text)
		}
	}
	return strings.TrimSpace(b.String())
}

// slug makes a slug of any text: lower case, with a hyphen for each stretch of what a
// slug does not hold, and none at the ends. It may be empty.
func slug(s string) string {
	var b strings.Builder
	gap := false
	for _, c := range strings.ToLower(s) {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '-') {
			gap = true
			continue
		}
		if gap && b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
		gap = false
		b.WriteRune(c)
	}
	out := b.String()
	return strings.Trim(out[:min(len(out), model.MaxSlug)], "-")
}
