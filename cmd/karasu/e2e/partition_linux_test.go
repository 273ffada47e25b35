package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// partitionTime is how long the network is cut.
const partitionTime = 60 * time.Second

// TestPartition: five daemons on hosts of their own, with 100 ms and 2% of packets lost
// on every way, hold the same records; go on in two parts that do not reach each other
// for a minute; and are equal again after that, without anybody's help.
func TestPartition(t *testing.T) {
	if testing.Short() {
		t.Skip("two minutes of waiting")
	}
	t.Parallel()
	const hosts = 5
	network := newLossyNetwork(t, hosts)
	orgs := make([]*organisation, hosts)
	addresses := make([]string, hosts)
	for i := range orgs {
		orgs[i] = newHome(t, fmt.Sprint("host", i+1))
		orgs[i].inside = append([]string{"nsenter"}, network.hosts[i].inside(nil)...)
		var home struct {
			PeerID string `json:"peer_id"`
		}
		orgs[i].query(&home, "init", "--org", fmt.Sprint("host", i+1))
		addresses[i] = fmt.Sprintf("/ip4/10.77.0.%d/tcp/4747/p2p/%s", i+1, home.PeerID)
	}
	for i, o := range orgs {
		others, err := json.Marshal(slices.Delete(slices.Clone(addresses), i, i+1))
		if err != nil {
			t.Fatal(err)
		}
		listen, _, _ := strings.Cut(addresses[i], "/p2p/")
		text := fmt.Sprintf("organisation = \"host%d\"\n[network]\nlisten = [%q]\nbootstrap = %s\nmdns = false\ndht = false\nsync_interval = \"5s\"\n", i+1, listen, others)
		if err := os.WriteFile(filepath.Join(o.home, "config.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o.start()
	}
	publish := func(round string) {
		for i, o := range orgs {
			if out, errs, code := o.runInput(batch(fmt.Sprintf("%s-of-%d", round, i+1), 4), "import", "csv", "-"); code != 0 {
				t.Fatalf("import: exit %d\n%s%s", code, out, errs)
			}
		}
	}
	// A summary and a model of each job.
	publish("before")
	network.equal(orgs, 2*hosts)
	begin := time.Now()
	network.cut.Store(2)
	publish("during")
	network.equal(orgs[:2], 2*(hosts+2))
	network.equal(orgs[2:], 2*(hosts+3))
	if a, b := recordsOf(orgs[0]), recordsOf(orgs[4]); slices.Equal(a, b) {
		t.Fatal("the network was not cut")
	}
	time.Sleep(time.Until(begin.Add(partitionTime)))
	network.cut.Store(0)
	healed := time.Now()
	network.equal(orgs, 2*2*hosts)
	t.Logf("equal %.1f s after the cut; of %d packets %d were lost", time.Since(healed).Seconds(), network.sent.Load(), network.lost.Load())
}

// equal waits until all hold the same records, so many.
func (n *lossyNetwork) equal(orgs []*organisation, want int) {
	n.t.Helper()
	orgs[0].eventually(fmt.Sprintf("%d hosts with the same %d records", len(orgs), want), func() bool {
		first := recordsOf(orgs[0])
		return len(first) == want && !slices.ContainsFunc(orgs[1:], func(o *organisation) bool { return !slices.Equal(recordsOf(o), first) })
	})
}

// recordsOf lists the ids of the records of jobs that a daemon holds.
func recordsOf(o *organisation) []string {
	var list struct {
		Records []struct {
			ID string `json:"id"`
		} `json:"records"`
	}
	o.query(&list, "records", "list", "--topic", "aws-ec2/*/*")
	var out []string
	for _, r := range list.Records {
		out = append(out, r.ID)
	}
	slices.Sort(out)
	return out
}
