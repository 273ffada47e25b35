package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// batch is a table of runs that no other batch holds.
func batch(i, rows int) string {
	var b strings.Builder
	b.WriteString("infrastructure,framework,algorithm,job,machine_type,nodes,runtime_s\n")
	for r := range rows {
		fmt.Fprintf(&b, "aws-ec2,spark,crash-%d,job-%d,m4.xlarge,%d,%d\n", i%5, i, r+1, 100+r)
	}
	return b.String()
}

// TestKill kills a daemon 20 times while it imports and while it gossips. It restarts
// each time, keeps every run that was acknowledged, and its databases are sound.
func TestKill(t *testing.T) {
	const kills, rows = 20, 40
	peer := newOrganisation(t, "peer", "")
	peer.start()
	victim := newOrganisation(t, "victim", peer.bootstrap())
	moments := rand.New(rand.NewPCG(1, 2))
	acknowledged := 0
	for i := range kills {
		victim.start()
		done := make(chan bool)
		go func() {
			_, _, code := victim.runInput(batch(i, rows), "import", "csv", "-")
			done <- code == 0
		}()
		// An import takes some tens of milliseconds, the gossip that follows it
		// starts after 300: moments up to half a second meet both.
		time.Sleep(time.Duration(moments.IntN(500)) * time.Millisecond)
		victim.kill()
		if <-done {
			acknowledged++
		}
	}
	if out, errs, code := victim.run("fsck"); code != 0 {
		t.Fatalf("fsck: exit %d\n%s%s", code, out, errs)
	}
	victim.start()
	runs := victim.status().Runs
	if runs < acknowledged*rows {
		t.Errorf("%d runs are left of %d that were acknowledged", runs, acknowledged*rows)
	}
	if runs%rows != 0 {
		t.Errorf("%d runs: an import of %d was stored in part", runs, rows)
	}
	if acknowledged == 0 || acknowledged == kills {
		t.Logf("all kills came on one side of the acknowledgement: %d of %d imports", acknowledged, kills)
	}
	// What was killed between the import and the gossip is shared after the restart.
	want := 2 * runs / rows
	victim.eventually("everything is shared", func() bool { return victim.status().OwnRecords == want })
	peer.eventually("the peer has it", func() bool { return peer.status().ReceivedRecords == want })
	victim.stop()
	peer.stop()
	for _, o := range []*organisation{victim, peer} {
		if out, errs, code := o.run("fsck"); code != 0 {
			t.Errorf("fsck of %s: exit %d\n%s%s", o.home, code, out, errs)
		}
	}
}
