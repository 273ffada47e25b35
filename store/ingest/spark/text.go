package spark

import (
	"strings"
	"unicode/utf8"

	"github.com/karasu-project/karasu/model"
)

// redacted starts what Spark writes in place of a value that looks like a secret.
const redacted = "*********("

// clean makes a name of a string from a log: valid UTF-8 without control characters,
// of a bounded length; empty where Spark redacted it.
func clean(s string, limit int) string {
	if strings.HasPrefix(s, redacted) {
		return ""
	}
	if len(s) > limit {
		s = s[:limit]
	}
	s = strings.ToValidUTF8(s, "")
	if strings.ContainsFunc(s, isControl) {
		s = strings.Map(func(r rune) rune {
			if isControl(r) {
				return ' '
			}
			return r
		}, s)
	}
	return model.NormalizeName(s)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// cleanName is clean for names; normalisation may lengthen a string threefold.
func cleanName(s string) string {
	s = clean(s, model.MaxName)
	for len(s) > model.MaxName {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

// cleanDetails keeps line breaks.
func cleanDetails(s string) string {
	if len(s) > model.MaxDetails {
		s = s[:model.MaxDetails]
	}
	return strings.ToValidUTF8(s, "")
}

// interner gives equal strings one copy: call sites repeat in every stage. What does
// not fit into its budget is dropped.
type interner struct {
	known map[string]string
	bytes int
}

const maxInterned = 16 << 20 // bytes

func (n *interner) intern(s string) string {
	if s == "" {
		return ""
	}
	if k, ok := n.known[s]; ok {
		return k
	}
	if n.bytes += len(s) + 64; n.bytes > maxInterned {
		return ""
	}
	if n.known == nil {
		n.known = make(map[string]string)
	}
	s = strings.Clone(s)
	n.known[s] = s
	return s
}

// operator returns the name of a plan node or RDD scope without its arguments, and so
// without tables, columns and paths: "Scan parquet db.t" is "Scan parquet",
// "WholeStageCodegen (3)" is "WholeStageCodegen".
func operator(s string) string {
	if i := strings.IndexAny(s, "([#{<"); i >= 0 {
		s = s[:i]
	}
	words := strings.Fields(s)
	if len(words) == 0 {
		return ""
	}
	first := clip(words[0], 64)
	if len(words) > 1 && (first == "Execute" || first != "BatchScan" && strings.HasSuffix(first, "Scan")) && isLetters(words[1]) {
		return cleanName(first + " " + clip(words[1], 64))
	}
	return cleanName(first)
}

func clip(s string, n int) string { return s[:min(len(s), n)] }

func isLetters(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') })
}
