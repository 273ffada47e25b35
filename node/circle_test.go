package node_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/node/membership"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// inCircle puts a node into a circle; the founding admin is who an id is named of, or
// the node itself.
func inCircle(admin *peer.ID) func(*node.Home, *node.Config) {
	return func(h *node.Home, c *node.Config) {
		if *admin == "" {
			s, err := h.Signer()
			if err != nil {
				panic(err)
			}
			*admin = s.Writer().Organisation
		}
		c.Circle = node.CircleConfig{Name: "demo", Admins: []string{admin.String()}}
	}
}

func dial(t *testing.T, from, to *node.App) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return from.Network().Connect(ctx, to.Network().Addrs()[0].String())
}

func linked(a, b *node.App) bool {
	return a.Network().Host().Network().Connectedness(b.Network().ID()) == network.Connected
}

// usableOf counts what a node may use of an organisation, under topics.
func usableOf(app *node.App, organisation peer.ID) int {
	records, err := app.Commons().All(nil)
	if err != nil {
		return -1
	}
	n := 0
	for _, r := range records {
		if r.Author == organisation && r.Kind == karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY {
			n++
		}
	}
	return n
}

// TestCircle: a stranger is kept out, is added, shares, and is removed with all that it
// shared. Its peers follow the list without being told by hand.
func TestCircle(t *testing.T) {
	var founder peer.ID
	admin := startNode(t, "acme", inCircle(&founder), node.Options{})
	old := startNode(t, "globex", inCircle(&founder), node.Options{})
	fresh := startNode(t, "initech", inCircle(&founder), node.Options{})
	oldID, freshID := old.Network().ID(), fresh.Network().ID()
	change := func(c membership.Change) {
		t.Helper()
		if _, err := admin.ChangeMembers(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	change(membership.Change{Organisation: oldID, Name: "globex"})
	if err := dial(t, admin, old); err != nil {
		t.Fatal(err)
	}
	// The stranger may dial the founding admin, who hangs up.
	_ = dial(t, fresh, admin)
	eventually(t, "the stranger is kept out", func() bool {
		peers, err := admin.Peers(t.Context())
		return err == nil && !linked(admin, fresh) && slices.ContainsFunc(peers, func(p *karasuv1.Peer) bool {
			return p.GetPeerId() == freshID.String() && p.GetTurnedAway() > 0
		})
	})
	if _, err := old.ChangeMembers(t.Context(), membership.Change{Organisation: freshID}); !errors.Is(err, membership.ErrNotAdmin) {
		t.Errorf("a member changes the list: error %v, want %v", err, membership.ErrNotAdmin)
	}
	if _, _, err := fresh.ImportRuns(t.Context(), pagerankRuns()); err != nil {
		t.Fatal(err)
	}
	change(membership.Change{Organisation: freshID, Name: "initech"})
	eventually(t, "the newcomer is let in", func() bool { return linked(admin, fresh) || dial(t, fresh, admin) == nil && linked(admin, fresh) })
	eventually(t, "all members have what the newcomer shares", func() bool {
		return usableOf(admin, freshID) == 1 && usableOf(old, freshID) == 1
	})
	eventually(t, "members dial each other", func() bool { return linked(old, fresh) || dial(t, old, fresh) == nil })

	change(membership.Change{Organisation: freshID, Remove: true, Drop: true})
	eventually(t, "it is gone, and so is what it shared", func() bool {
		return usableOf(admin, freshID)+usableOf(old, freshID) == 0 && !linked(admin, fresh) && !linked(old, fresh)
	})
	members, err := old.Members(t.Context())
	if err != nil || members.GetRevision() != 3 || len(members.GetMembers()) != 3 || !members.GetMembers()[2].GetDropped() || members.GetMayChange() {
		t.Errorf("members as another sees them: %v, %v", members, err)
	}
}

// TestHostsOfAnOrganisation: a second daemon with a delegation shares in the
// organisation's name, is let into the circle once a member has introduced it, and
// learns from the first; a rotation cuts it off.
func TestHostsOfAnOrganisation(t *testing.T) {
	var founder peer.ID
	var key *membership.Key
	admin := startNode(t, "acme", func(h *node.Home, c *node.Config) {
		inCircle(&founder)(h, c)
		var err error
		if key, err = h.CreateOrganisation(true); err != nil {
			t.Fatal(err)
		}
	}, node.Options{})
	var grant *membership.Grant
	second := startNode(t, "acme", func(h *node.Home, c *node.Config) {
		inCircle(&founder)(h, c)
		r, err := h.Request(false, nil)
		if err != nil {
			t.Fatal(err)
		}
		if grant, err = key.Delegate(membership.Terms{Host: r.Host, Writer: r.Writer, Valid: 48 * time.Hour}, "acme", time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Import(grant, time.Now()); err != nil {
			t.Fatal(err)
		}
	}, node.Options{})
	_ = dial(t, second, admin)
	eventually(t, "who was not introduced is kept out", func() bool { return len(admin.Network().TurnedAway()) > 0 && !linked(admin, second) })
	for i, want := range []bool{true, false} {
		res, err := admin.AnnounceOrganisation(t.Context(), grant.Record.Envelope)
		if err != nil || res.GetNew() != want || res.GetOrganisationId() != founder.String() {
			t.Fatalf("announced for the %d. time: %v, %v", i+1, res, err)
		}
	}
	if _, err := admin.AnnounceOrganisation(t.Context(), []byte("x")); !errors.Is(err, node.ErrRefused) {
		t.Errorf("announcing nonsense: error %v, want %v", err, node.ErrRefused)
	}
	eventually(t, "the second host is let in", func() bool { return linked(admin, second) || dial(t, second, admin) == nil && linked(admin, second) })
	for _, app := range []*node.App{admin, second} {
		if _, _, err := app.ImportRuns(t.Context(), pagerankRuns()); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "both have both shares, under one organisation", func() bool { return usableOf(admin, founder) == 2 && usableOf(second, founder) == 2 })
	if n := admin.Commons().Authors()[founder].Equivocations; n != 0 {
		t.Errorf("%d equivocations between the hosts of one organisation", n)
	}
	rotated, err := key.Rotate(time.Unix(0, 0), "acme", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.AnnounceOrganisation(t.Context(), rotated.Envelope); err != nil {
		t.Fatal(err)
	}
	eventually(t, "after the rotation the second host and its share are gone", func() bool { return usableOf(admin, founder) == 1 && !linked(admin, second) })
}

// TestRetract: what a user takes back is withdrawn everywhere, and
// leaves again when that is undone.
func TestRetract(t *testing.T) {
	app, reader := startNode(t, "acme", nil, node.Options{}), startNode(t, "globex", nil, node.Options{})
	if err := dial(t, app, reader); err != nil {
		t.Fatal(err)
	}
	if _, _, err := app.ImportRuns(t.Context(), pagerankRuns()); err != nil {
		t.Fatal(err)
	}
	id := app.Network().ID()
	for _, c := range []*karasuv1.RetractShareRequest{{Job: " weekly "}, {Topic: "aws-ec2/*/pagerank"}} {
		eventually(t, "the reader has the summary", func() bool { return usableOf(reader, id) == 1 })
		res, err := app.Retract(t.Context(), c)
		if err != nil || res.GetWithdrawn() != 2 || len(res.GetJobs())+len(res.GetTopics()) != 1 {
			t.Fatalf("%v: %v, %v", c, res, err)
		}
		eventually(t, "the reader uses nothing of it", func() bool { return usableOf(reader, id) == 0 })
		preview, err := app.PreviewShare(t.Context())
		if err != nil || len(preview.GetRecords()) != 0 || len(preview.GetWithheld()) != 1 {
			t.Errorf("%v: the preview shows %v, %v", c, preview, err)
		}
		c.Undo = true
		if res, err = app.Retract(t.Context(), c); err != nil || res.GetShared() != 2 || len(res.GetJobs())+len(res.GetTopics()) != 0 {
			t.Fatalf("undo %v: %v, %v", c, res, err)
		}
	}
	for _, c := range []*karasuv1.RetractShareRequest{{Job: "misspelt"}, {Topic: "one/two"}, {Job: "weekly", Undo: true}, {Topic: "a/b/c", Undo: true}} {
		if res, err := app.Retract(t.Context(), c); err == nil {
			t.Errorf("%v: %v, want an error", c, res)
		}
	}
}

func TestCircleConfig(t *testing.T) {
	id := "12D3KooWPa7XkHGfbvn7RLhfDhkQThPHdGoMP6tstcZ34XMgrodk"
	for _, c := range []struct {
		circle node.CircleConfig
		ok     bool
	}{
		{node.CircleConfig{}, true},
		{node.CircleConfig{Name: "demo", Admins: []string{id, id}}, true},
		{node.CircleConfig{Name: "demo"}, false},
		{node.CircleConfig{Admins: []string{id}}, false},
		{node.CircleConfig{Name: "De mo", Admins: []string{id}}, false},
		{node.CircleConfig{Name: "demo", Admins: []string{"acme"}}, false},
	} {
		config := node.DefaultConfig("acme")
		config.Circle = c.circle
		if err := config.Validate(); (err == nil) != c.ok {
			t.Errorf("%+v: error %v, want one: %v", c.circle, err, !c.ok)
		}
	}
}
