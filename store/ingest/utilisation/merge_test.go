package utilisation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/karasu-project/karasu/store/ingest/utilisation"
)

// TestMerge joins an export a node: the percentiles are over the nodes together.
func TestMerge(t *testing.T) {
	export := func(node, idle string) *utilisation.Usage {
		text := "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n"
		for _, at := range []string{"12:00:30", "12:01:00"} {
			text += node + ";30;2026-03-01 " + at + " UTC;-1;0;0;0;0;0;" + idle + "\n"
		}
		u, err := utilisation.ReadSar(t.Context(), strings.NewReader(text), node, utilisation.SarOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	u, err := utilisation.Merge(export("n1", "80"), export("n2", "20"), export("n1", "80"))
	if err != nil {
		t.Fatal(err)
	}
	if nodes := strings.Join(u.Nodes(), " "); nodes != "n1 n2" {
		t.Errorf("nodes %s", nodes)
	}
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w := utilisation.Window{Start: start, End: start.Add(time.Minute)}
	all, one := u.Of(w), u.Of(w, "n2")
	if c := all.Metrics.CPU; c == nil || c.P10 > 0.21 || c.P90 < 0.79 || all.Nodes != 2 {
		t.Errorf("all nodes: %+v of %d", c, all.Nodes)
	}
	if c := one.Metrics.CPU; c == nil || c.P10 < 0.79 || one.Nodes != 1 {
		t.Errorf("n2: %+v of %d", c, one.Nodes)
	}
	none, err := utilisation.Merge()
	if err != nil || len(none.Nodes()) != 0 {
		t.Errorf("nothing merged: %v (%v)", none.Nodes(), err)
	}
}
