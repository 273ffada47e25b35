package naming

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// Unnamed is an execution that is no run.
type Unnamed struct {
	Execution model.Execution
	Hints     Hints
	Reason    Reason
	Detail    string
}

// Group is executions that are no runs for one reason and whose names are alike but
// for dates, numbers and ids.
type Group struct {
	Reason     Reason
	Detail     string
	Executions int
	// Example is the latest of them by start.
	Example model.Execution
	Hints   Hints
	// Suggestion is a rule in TOML that matches all of them, where none does.
	Suggestion string
}

// variable is what differs between the names of one recurring application. Parts are
// tried in this order at each place of a name.
var variable = []struct{ find, pattern string }{
	{`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`, `[0-9a-fA-F-]{36}`}, // UUID
	{`\d{4}([-_/.])\d{1,2}[-_/.]\d{1,2}`, `\d{4}[-_/.]\d{1,2}[-_/.]\d{1,2}`},                            // date
	{`\d{1,2}:\d{2}(:\d{2})?`, `[\d:]+`},                                                                // time of day
	{`[0-9a-fA-F]*(?:[0-9][a-fA-F]|[a-fA-F][0-9])[0-9a-fA-F]*`, `[0-9a-fA-F]+`},                         // hash, where it is long
	{`\d+`, `\d+`},
}

// minHash is how many hex digits make a hash; fewer may be part of a word.
const minHash = 8

// maxInWord is how many digits between letters are part of a word, as in e2e and k8s.
const maxInWord = 2

// normal is a name with its variable parts found.
type normal struct {
	// shape is the name with a # for each of them, pattern a regular expression for
	// the whole name.
	shape, pattern string
}

func normalise(finders []*regexp.Regexp, name string) normal {
	var shape, pattern strings.Builder
	literal := 0
	flush := func(to int) {
		shape.WriteString(name[literal:to])
		pattern.WriteString(regexp.QuoteMeta(name[literal:to]))
	}
	for i := 0; i < len(name); {
		n, p := variableAt(finders, name, i)
		if n == 0 {
			i++
			continue
		}
		flush(i)
		shape.WriteByte('#')
		pattern.WriteString(p)
		i += n
		literal = i
	}
	flush(len(name))
	return normal{shape.String(), "^" + pattern.String() + "$"}
}

// variableAt returns how long a variable part at a place is, and a pattern for it.
func variableAt(finders []*regexp.Regexp, name string, at int) (int, string) {
	if c := name[at]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
		return 0, ""
	}
	begins := at == 0 || !alphanumeric(name[at-1])
	for i, f := range finders {
		m := f.FindString(name[at:])
		if m == "" {
			continue
		}
		hash := i == 3
		whole := begins && (at+len(m) == len(name) || !alphanumeric(name[at+len(m)]))
		if hash && (len(m) < minHash || !whole) {
			continue
		}
		if i == 4 && len(m) <= maxInWord && at > 0 && letter(name[at-1]) && at+len(m) < len(name) && letter(name[at+len(m)]) {
			continue
		}
		return len(m), variable[i].pattern
	}
	return 0, ""
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func alphanumeric(c byte) bool { return c >= '0' && c <= '9' || letter(c) }

// Groups puts executions that are alike together, the most numerous first.
func Groups(unnamed []Unnamed) []Group {
	finders := make([]*regexp.Regexp, len(variable))
	for i, v := range variable {
		finders[i] = regexp.MustCompile(`^(?:` + v.find + `)`)
	}
	at := map[string]int{}
	var out []Group
	var patterns []string
	for _, u := range unnamed {
		n := normalise(finders, u.Execution.Name)
		key := fmt.Sprintf("%s\x00%s\x00%s\x00%s", u.Reason, u.Execution.Framework, n.shape, u.Detail)
		if u.Reason == NoRule && u.Execution.Name == "" {
			key += u.Execution.MainClass
		}
		i, seen := at[key]
		if !seen {
			i = len(out)
			at[key] = i
			out = append(out, Group{Reason: u.Reason, Detail: u.Detail, Example: u.Execution, Hints: u.Hints})
			patterns = append(patterns, n.pattern)
		}
		g := &out[i]
		g.Executions++
		if u.Execution.Start.After(g.Example.Start) {
			g.Example, g.Hints = u.Execution, u.Hints
		}
		g.Hints = g.Hints.Over(u.Hints)
	}
	for i := range out {
		if out[i].Reason == NoRule {
			out[i].Suggestion = suggestion(out[i], patterns[i], finders)
		}
	}
	slices.SortStableFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Executions, a.Executions), strings.Compare(a.Example.Name, b.Example.Name),
			strings.Compare(string(a.Reason), string(b.Reason)))
	})
	return out
}

// algorithms are public names that a workload's own name may hold, the more specific
// first. Only they are suggested for an algorithm: it is public, and names are not.
var algorithms = []struct{ word, algorithm string }{
	{"pagerank", "pagerank"}, {"kmeans", "kmeans"}, {"wordcount", "wordcount"}, {"terasort", "terasort"}, {"tpcds", "tpc-ds"}, {"tpch", "tpc-h"},
	{"logisticregression", "logistic-regression"}, {"linearregression", "linear-regression"}, {"randomforest", "random-forest"},
	{"connectedcomponents", "connected-components"}, {"trianglecount", "triangle-count"}, {"bayes", "naive-bayes"}, {"grep", "grep"},
	{"sort", "sort"}, {"join", "join"}, {"aggregat", "aggregation"}, {"als", "als"}, {"sgd", "sgd"}, {"lda", "lda"}, {"svd", "svd"}, {"pca", "pca"},
}

// suggestion writes a rule for a group.
func suggestion(g Group, pattern string, finders []*regexp.Regexp) string {
	e := g.Example
	var b strings.Builder
	fmt.Fprintf(&b, "[[workload]]\n")
	field, name := "name", e.Name
	if name == "" {
		field, name = "main_class", e.MainClass
		pattern = "^" + regexp.QuoteMeta(name) + "$"
	}
	if name == "" {
		field, name, pattern = "user", e.User, "^"+regexp.QuoteMeta(e.User)+"$"
	}
	fmt.Fprintf(&b, "%s = %s\n", field, quote(pattern))
	where := g.Hints.Infrastructure
	if where == "" {
		where = infrastructure(e)
		fmt.Fprintf(&b, "infrastructure = %s\n", quote(where))
	}
	fmt.Fprintf(&b, "algorithm = %s  # public: say what it computes\n", quote(algorithm(e)))
	fmt.Fprintf(&b, "job = %s\n", quote(jobName(name, finders)))
	if g.Hints.MachineType == "" && e.Cluster.MachineType == "" {
		fmt.Fprintln(&b, machineLine(where))
	}
	return b.String()
}

// machineLine is a comment that shows how to name a machine type. Those of AWS and GCP are
// known; others must be described first.
func machineLine(infrastructure string) string {
	switch cloud, _, _ := strings.Cut(infrastructure, "-"); cloud {
	case "aws", "ec2", "emr", "eks":
		return `# machine_type = "m5.xlarge"  # of its workers`
	case "gcp", "gce", "gke", "dataproc":
		return `# machine_type = "n2-standard-4"  # of its workers`
	}
	return fmt.Sprintf(`# machine_type = "node-a"  # of its workers: describe it for %s in the file of [catalog] first, see docs/catalog.md`, infrastructure)
}

// jobName is the name without its variable parts.
func jobName(name string, finders []*regexp.Regexp) string {
	job := strings.Join(strings.FieldsFunc(normalise(finders, name).shape, func(r rune) bool { return r == '#' }), "")
	job = strings.Trim(job, "-_./: \t")
	for _, double := range []string{"--", "__", "  "} {
		job = strings.ReplaceAll(job, double, double[:1])
	}
	if job == "" {
		job = "unnamed"
	}
	return strings.ReplaceAll(job, "$", "$$")
}

func algorithm(e model.Execution) string {
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, strings.ToLower(s))
	}
	text := plain(e.Name) + " " + plain(e.MainClass)
	for _, a := range algorithms {
		if strings.Contains(text, a.word) {
			return a.algorithm
		}
	}
	if e.QuerySignature != "" {
		return "sql"
	}
	return "batch"
}

// infrastructure is what the source tells of it.
func infrastructure(e model.Execution) string {
	for _, known := range []struct{ word, infrastructure string }{
		{"databricks-aws", "aws-databricks"}, {"databricks-azure", "azure-databricks"}, {"databricks-gcp", "gcp-databricks"},
		{"emr", "aws-emr"}, {"dataproc", "gcp-dataproc"}, {"aws", "aws"}, {"azure", "azure"}, {"gcp", "gcp"},
	} {
		if strings.Contains(e.Cluster.Platform, known.word) {
			return known.infrastructure
		}
	}
	return "on-premises"
}

// quote writes a TOML string: a literal one where the text allows that.
func quote(s string) string {
	if !strings.ContainsAny(s, "'\n\r\t") && strings.Contains(s, `\`) {
		return "'" + s + "'"
	}
	return fmt.Sprintf("%q", s)
}
