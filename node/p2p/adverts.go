package p2p

import (
	"context"

	"github.com/ipfs/go-datastore"
	dssync "github.com/ipfs/go-datastore/sync"
)

const (
	// maxAdverts bounds the adverts that a node keeps for others in the DHT, some 300
	// bytes each. A lookup walks through all of them.
	maxAdverts = 1 << 15
	// maxPeerAdverts bounds those of one peer: it advertises the topics that it joins,
	// and itself.
	maxPeerAdverts = MaxPeerTopics + 1
)

// adverts keep who advertises which name: keys end in the peer's id. The DHT takes
// adverts of any name from anybody for two days, so what is above the bounds is left
// out, without an error, which would cost the others of its batch. Renewals always fit.
// It is not safe for concurrent use.
type adverts struct {
	*datastore.MapDatastore
	all int
	of  map[string]int // by peer, as the key writes it
}

// newAdverts returns a datastore for the DHT's provider records.
func newAdverts() datastore.Batching {
	return dssync.MutexWrap(&adverts{MapDatastore: datastore.NewMapDatastore(), of: make(map[string]int)})
}

// Put keeps an advert if there is room.
func (a *adverts) Put(ctx context.Context, key datastore.Key, value []byte) error {
	known, err := a.Has(ctx, key)
	if err != nil {
		return err
	}
	if !known {
		by := key.BaseNamespace()
		if a.all >= maxAdverts || a.of[by] >= maxPeerAdverts {
			return nil
		}
		a.all++
		a.of[by]++
	}
	return a.MapDatastore.Put(ctx, key, value)
}

// Delete forgets an advert.
func (a *adverts) Delete(ctx context.Context, key datastore.Key) error {
	known, err := a.Has(ctx, key)
	if err != nil || !known {
		return err
	}
	by := key.BaseNamespace()
	a.all--
	if a.of[by]--; a.of[by] == 0 {
		delete(a.of, by)
	}
	return a.MapDatastore.Delete(ctx, key)
}

// Batch returns changes that go through Put and Delete.
func (a *adverts) Batch(context.Context) (datastore.Batch, error) {
	return datastore.NewBasicBatch(a), nil
}
