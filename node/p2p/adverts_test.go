package p2p

import (
	"fmt"
	"testing"

	"github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/query"
	"github.com/libp2p/go-libp2p/core/peer"
)

// TestAdvertsOfOnePeer: whoever advertises any number of names in the DHT takes no more
// room than a node with all its topics, and none of the others'.
func TestAdvertsOfOnePeer(t *testing.T) {
	n := start(t, newKey(t), func(c *Config) { c.DHT, c.Role = true, Hub })
	other, flooder := start(t, newKey(t), nil), start(t, newKey(t), nil)
	store := n.dht.ProviderStore()
	add := func(name string, by *Network) {
		t.Helper()
		if err := store.AddProvider(t.Context(), []byte(name), peer.AddrInfo{ID: by.ID(), Addrs: by.Host().Addrs()}); err != nil {
			t.Fatal(err)
		}
	}
	name := func(i int) string { return fmt.Sprintf("name %d", i) }
	for i := range 4 * maxPeerAdverts {
		add(name(i), flooder)
	}
	// Written in batches of 256, so that the last are not yet held.
	for i := range 256 {
		add(name(i), other)
	}
	kept := map[peer.ID]int{}
	for i := range 4 * maxPeerAdverts {
		found, err := store.GetProviders(t.Context(), []byte(name(i)))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range found {
			kept[p.ID]++
		}
	}
	if got := kept[flooder.ID()]; got < maxPeerAdverts || got > maxPeerAdverts+256 {
		t.Errorf("%d adverts of the flooder are kept, want %d and what waits to be written", got, maxPeerAdverts)
	}
	if got := kept[other.ID()]; got != 256 {
		t.Errorf("%d adverts of the other peer are kept, want 256", got)
	}
}

func TestAdvertsAreBounded(t *testing.T) {
	a := newAdverts()
	key := func(name, by int) datastore.Key { return datastore.NewKey(fmt.Sprintf("/providers/%d/%d", name, by)) }
	put := func(k datastore.Key, v string) {
		t.Helper()
		b, err := a.Batch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Put(t.Context(), k, []byte(v)); err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	held := func() int {
		t.Helper()
		found, err := a.Query(t.Context(), query.Query{KeysOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		all, err := found.Rest()
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	for by := range maxAdverts/maxPeerAdverts + 1 {
		for name := range maxPeerAdverts {
			put(key(name, by), "first")
		}
	}
	if got := held(); got != maxAdverts {
		t.Fatalf("%d adverts are held, want %d", got, maxAdverts)
	}
	put(key(0, 0), "renewed")
	if v, err := a.Get(t.Context(), key(0, 0)); err != nil || string(v) != "renewed" {
		t.Errorf("a renewal is not kept: %q, %v", v, err)
	}
	for range 2 { // the second time there is nothing to delete
		if err := a.Delete(t.Context(), key(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	put(key(0, 9999), "new")
	put(key(1, 9999), "new")
	if ok, err := a.Has(t.Context(), key(0, 9999)); err != nil || !ok {
		t.Errorf("what was deleted left no room: %v", err)
	}
	if got := held(); got != maxAdverts {
		t.Errorf("%d adverts are held, want %d", got, maxAdverts)
	}
}
