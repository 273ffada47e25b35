package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// defaultKills is how often a daemon is killed in a run of all tests;
	// KARASU_KILLS=200 is the full number.
	defaultKills = 15
	// killWriters import at once. Each import takes some tens of milliseconds, and the
	// gossip that follows starts after 300: moments up to killWithin after the first
	// acknowledgement meet all of it. Every third kill comes that soon after the start.
	killWriters = 3
	killWithin  = 600 * time.Millisecond
	killRows    = 8
	// killVerify is how many kills are between two looks at everything.
	killVerify = 8
)

// batch is a table of runs that no other batch holds.
func batch(job string, rows int) string {
	var b strings.Builder
	b.WriteString("infrastructure,framework,algorithm,job,machine_type,nodes,runtime_s\n")
	for r := range rows {
		fmt.Fprintf(&b, "aws-ec2,spark,crash-%d,%s,m4.xlarge,%d,%d\n", len(job)%3, job, r+1, 100+r)
	}
	return b.String()
}

// journal is what the daemon was asked to store, and what of it was acknowledged, as
// the process knows that is not killed.
type journal struct {
	mu           sync.Mutex
	asked        int
	acknowledged map[string]bool
}

// next names a job that nobody has imported.
func (j *journal) next() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked++
	return fmt.Sprintf("job-%d", j.asked)
}

func (j *journal) acknowledge(job string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.acknowledged[job] = true
}

func (j *journal) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.acknowledged)
}

// TestKill kills a daemon again and again at random moments while it imports, gossips
// and receives: it starts each time, holds every run that was acknowledged, no import
// in part, and its databases are sound.
func TestKill(t *testing.T) {
	kills := defaultKills
	if s := os.Getenv("KARASU_KILLS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("KARASU_KILLS must be a number of kills: %q", s)
		}
		kills = n
	}
	if testing.Short() {
		kills = min(kills, 4)
	}
	peer := newOrganisation(t, "peer", "")
	peer.start()
	victim := newOrganisation(t, "victim", peer.bootstrap())
	moments := rand.New(rand.NewPCG(1, 2))
	theirs, ours := journal{acknowledged: map[string]bool{}}, journal{acknowledged: map[string]bool{}}
	for kill := 1; kill <= kills; kill++ {
		victim.launch()
		var writers sync.WaitGroup
		stop := make(chan struct{})
		for range killWriters {
			writers.Go(func() { victim.importUntil(stop, &ours) })
		}
		writers.Go(func() { // so that the victim has something to receive, too
			job := "peer-" + theirs.next()
			if _, _, code := peer.runInput(batch(job, killRows), "import", "csv", "-"); code == 0 {
				theirs.acknowledge(job)
			}
		})
		if kill%3 != 0 {
			before := ours.count()
			victim.eventually("an import is acknowledged", func() bool { return ours.count() > before })
		}
		time.Sleep(time.Duration(moments.Int64N(int64(killWithin))))
		victim.kill()
		close(stop)
		writers.Wait()
		if kill%killVerify == 0 || kill == kills {
			victim.sound(kill)
			victim.start()
			victim.holds(&ours, kill)
			victim.kill()
		}
	}
	t.Logf("%d kills, %d of %d imports acknowledged", kills, ours.count(), ours.asked)
	if n := ours.count(); n == ours.asked {
		t.Errorf("no kill came before an acknowledgement: %d of %d imports", n, ours.asked)
	}

	// What was killed between the import and the gossip is shared after the restart, and
	// what the peer shared meanwhile arrives.
	victim.start()
	jobs := len(victim.jobs())
	victim.eventually("everything is shared", func() bool { return victim.status().OwnRecords == 2*jobs })
	peer.eventually("the peer has it", func() bool { return peer.status().ReceivedRecords == 2*jobs })
	victim.eventually("the victim has the peer's", func() bool { return victim.status().ReceivedRecords == 2*len(theirs.acknowledged) })
	victim.stop()
	peer.stop()
	victim.sound(kills)
	peer.sound(kills)
}

// importUntil imports one batch after the other until the daemon is killed.
func (o *organisation) importUntil(stop <-chan struct{}, j *journal) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		job := j.next()
		if _, _, code := o.runInput(batch(job, killRows), "import", "csv", "-"); code == 0 {
			j.acknowledge(job)
		} else {
			time.Sleep(10 * time.Millisecond) // not up yet, or killed
		}
	}
}

// sound expects both databases to pass the check.
func (o *organisation) sound(kills int) {
	o.t.Helper()
	if out, errs, code := o.run("fsck"); code != 0 {
		o.t.Fatalf("fsck of %s after %d kills: exit %d\n%s%s", o.home, kills, code, out, errs)
	}
}

// jobs counts the stored runs of each job.
func (o *organisation) jobs() map[string]int {
	o.t.Helper()
	var list struct {
		Runs []struct {
			Workload struct{ Job string }
		}
	}
	o.query(&list, "runs", "list", "--limit", "0")
	out := make(map[string]int)
	for _, r := range list.Runs {
		out[r.Workload.Job]++
	}
	return out
}

// holds expects all that was acknowledged, and nothing in part.
func (o *organisation) holds(j *journal, kills int) {
	o.t.Helper()
	stored := o.jobs()
	for job := range j.acknowledged {
		if stored[job] != killRows {
			o.t.Errorf("after %d kills: %d runs of %s are left of %d that were acknowledged", kills, stored[job], job, killRows)
		}
	}
	for job, n := range stored {
		if n != killRows {
			o.t.Errorf("after %d kills: %s was stored in part, with %d runs of %d", kills, job, n, killRows)
		}
	}
	if o.t.Failed() {
		o.t.FailNow()
	}
}
