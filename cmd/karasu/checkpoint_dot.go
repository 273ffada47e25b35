package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// cutColors fill what is before each cut, in order, again and again.
func cutColor(cut uint32) string {
	colors := []string{"#9ecae1", "#a1d99b", "#fdd0a2", "#dadaeb", "#fcbba1"}
	return colors[int(cut-1)%len(colors)]
}

// writeCutDot writes the graph for Graphviz into a file that only its owner reads: what is
// before a cut in its colour, persisted outputs with a bold line.
func writeCutDot(path string, m *karasuv1.AdviseCheckpointResponse) error {
	if err := os.WriteFile(path, cutDot(m), 0o600); err != nil {
		return fmt.Errorf("--dot: %w", err)
	}
	return nil
}

func cutDot(m *karasuv1.AdviseCheckpointResponse) []byte {
	var b bytes.Buffer
	b.WriteString("digraph stages {\n  rankdir=LR;\n  node [shape=box, style=filled, fillcolor=\"#f0f0f0\", fontname=\"sans-serif\"];\n")
	by := make(map[uint32]*karasuv1.CheckpointStage, len(m.GetStages()))
	for _, s := range m.GetStages() {
		by[s.GetId()] = s
		label := fmt.Sprintf("%d", s.GetId())
		if s.GetName() != "" {
			label += " " + callSite(s.GetName(), 40)
		}
		label += "\n" + amount(s.GetBytes()) + ", " + instant(s.GetEndSeconds()-s.GetStartSeconds())
		fmt.Fprintf(&b, "  s%d [label=%s", s.GetId(), dotText(label))
		if s.GetCut() > 0 {
			fmt.Fprintf(&b, ", fillcolor=%q", cutColor(s.GetCut()))
		}
		if s.GetPersist() {
			b.WriteString(", penwidth=3")
		}
		b.WriteString("];\n")
	}
	for _, s := range m.GetStages() {
		for _, p := range s.GetParents() {
			fmt.Fprintf(&b, "  s%d -> s%d", p, s.GetId())
			if crosses(by[p], s) {
				b.WriteString(" [color=\"#d62728\", penwidth=2]")
			}
			b.WriteString(";\n")
		}
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// crosses says whether a stage reads across a cut: its parent is before one that it is not.
func crosses(parent, s *karasuv1.CheckpointStage) bool {
	return parent.GetCut() > 0 && (s.GetCut() == 0 || s.GetCut() > parent.GetCut())
}

// dotText quotes a text for Graphviz, in which only quotes and backslashes are special.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
