package exchange

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCannotReachPrivateRuns proves by the import graph that nothing in the network
// can open the private store.
func TestCannotReachPrivateRuns(t *testing.T) {
	const module = "github.com/karasu-project/karasu/"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", module+"node/exchange", module+"node/p2p").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 100 {
		t.Fatalf("go list names only %d packages", len(deps))
	}
	for _, d := range deps {
		if strings.HasPrefix(d, module+"store/private") || strings.HasPrefix(d, module+"store/ingest") || strings.HasPrefix(d, module+"node/share") {
			t.Errorf("node/p2p or node/exchange depends on %s", d)
		}
	}
}
