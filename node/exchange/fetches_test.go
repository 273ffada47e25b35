package exchange

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/store/commons"
)

func TestFetches(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	none := func(commons.ID) bool { return false }
	ids := []commons.ID{id(1), id(2), id(3)}
	claim := func(t *testing.T, s *fetches, f *fetcher, at time.Time, want, wantBusy int) {
		t.Helper()
		got, busy := s.claim(f, ids, none, at)
		if len(got) != want || busy != wantBusy {
			t.Errorf("claimed %d, busy %d; want %d, %d", len(got), busy, want, wantBusy)
		}
	}
	t.Run("one fetches, others wait", func(t *testing.T) {
		s := newFetches()
		a, b := &fetcher{peer: "a"}, &fetcher{peer: "b"}
		claim(t, s, a, now, 3, 0)
		claim(t, s, b, now, 0, 3)
		s.progress(a, 3, now)
		s.release(a, now)
		claim(t, s, b, now, 3, 0)
	})
	t.Run("held ones are not fetched", func(t *testing.T) {
		s := newFetches()
		got, busy := s.claim(&fetcher{peer: "a"}, ids, func(i commons.ID) bool { return i == id(2) }, now)
		if len(got) != 2 || busy != 0 {
			t.Errorf("%d, %d", len(got), busy)
		}
	})
	t.Run("an idle session gives way", func(t *testing.T) {
		s := newFetches()
		a, b := &fetcher{peer: "a"}, &fetcher{peer: "b"}
		claim(t, s, a, now, 3, 0)
		s.progress(a, 1, now.Add(claimIdle))
		claim(t, s, b, now.Add(2*claimIdle-1), 0, 3)
		claim(t, s, b, now.Add(2*claimIdle), 3, 0)
		s.release(a, now) // Must not release what is b's by now.
		claim(t, s, &fetcher{peer: "c"}, now.Add(2*claimIdle), 0, 3)
	})
	t.Run("who does not send cannot block again", func(t *testing.T) {
		s := newFetches()
		liar, honest := &fetcher{peer: "liar"}, &fetcher{peer: "honest"}
		claim(t, s, liar, now, 3, 0)
		s.release(liar, now)
		again := &fetcher{peer: "liar"}
		claim(t, s, again, now, 3, 0)
		claim(t, s, honest, now, 3, 0)
	})
	t.Run("what was refused is left alone for a while", func(t *testing.T) {
		s := newFetches()
		for _, i := range ids {
			s.refuse(i, now.Add(time.Minute), now)
		}
		claim(t, s, &fetcher{peer: "a"}, now, 0, 0)
		claim(t, s, &fetcher{peer: "a"}, now.Add(time.Minute), 3, 0)
	})
	t.Run("memory of refusals is bounded", func(t *testing.T) {
		s := newFetches()
		for n := range maxRefused + 10 {
			s.refuse(id(n), now.Add(time.Minute), now)
		}
		if len(s.refused) > maxRefused {
			t.Errorf("%d", len(s.refused))
		}
	})
}

func TestGreylist(t *testing.T) {
	g, now := newGreylist(), time.Unix(1_000_000, 0)
	for range maxOffences - 1 {
		g.offence("bad", reject(Forged, nil), now)
	}
	if g.listed("bad", now) {
		t.Error("listed too early")
	}
	long := errors.New("body: " + strings.Repeat("ä", 300))
	if !g.offence("bad", reject(Malformed, long), now) || g.offence("bad", reject(Forged, nil), now) {
		t.Error("the first of a reason is not told from others")
	}
	last := "body: " + strings.Repeat("ä", 97)
	if got := reject(Malformed, long).text(); got != last {
		t.Errorf("text of a long error is %q", got)
	}
	want := []Offender{{"bad", greylistTime, map[Reason]uint64{Forged: maxOffences, Malformed: 1}, string(Forged)}}
	if !g.listed("bad", now) || g.listed("good", now) {
		t.Error("not listed")
	}
	if diff := cmp.Diff(want, g.all(now)); diff != "" {
		t.Errorf("offenders (-want +got):\n%s", diff)
	}
	if later := now.Add(greylistTime + 1); g.listed("bad", later) {
		t.Error("listed for ever")
	}
	for n := range 2 * maxWatched {
		i := id(n)
		g.offence(peer.ID(i[:]), reject(Forged, nil), now)
	}
	if len(g.peers) > maxWatched || !g.listed("bad", now) {
		t.Errorf("%d peers are watched, the worst of them: %v", len(g.peers), g.listed("bad", now))
	}
	if n := g.pardon(now); n != 1 || len(g.all(now)) != 0 {
		t.Errorf("%d pardoned, %d left", n, len(g.all(now)))
	}
}
