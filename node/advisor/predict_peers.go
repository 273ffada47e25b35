package advisor

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime"
	"github.com/karasu-project/karasu/model/runtime/structured"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// maxPeerModels bounds the peers' models that one prediction rests on: conditioning
// one takes some milliseconds a machine type.
const maxPeerModels = 32

// peerModel is a general model that a peer trained.
type peerModel struct {
	organisation, author string
	weights              *predict.Weights
	// general is nil where err says why the weights cannot be used.
	general predict.General
	err     error
}

// peerModels keeps the decoded models of the commons by record, those of the topics
// that were asked for last.
type peerModels struct {
	mu    sync.Mutex
	known map[commons.ID]*peerModel
}

// runtimeModels returns the models that peers share of a topic, by author: one each,
// that of the default family where there are several.
func (a *Advisor) runtimeModels(topic model.Topic) ([]*peerModel, error) {
	a.peerModels.mu.Lock()
	defer a.peerModels.mu.Unlock()
	var out []*peerModel
	known := map[commons.ID]*peerModel{}
	for _, e := range a.Commons.Usable(func(t model.Topic) bool { return t == topic }) {
		m, ok := a.peerModels.known[e.ID]
		if !ok {
			r, err := a.Commons.Get(e.ID)
			if errors.Is(err, commons.ErrNotFound) {
				continue // deleted since it was listed
			}
			if err != nil {
				return nil, err
			}
			m = a.decodeRuntime(r)
		}
		known[e.ID] = m
		if m != nil {
			out = append(out, m)
		}
	}
	a.peerModels.known = known
	rank := func(m *peerModel) int {
		switch {
		case m.err != nil:
			return 2
		case m.weights.Family != structured.Family:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(x, y *peerModel) int {
		return cmp.Or(strings.Compare(x.author, y.author), cmp.Compare(rank(x), rank(y)))
	})
	out = slices.CompactFunc(out, func(x, y *peerModel) bool { return x.author == y.author })
	return out[:min(len(out), maxPeerModels)], nil
}

// decodeRuntime returns nil for a record that is no runtime model of a peer.
func (a *Advisor) decodeRuntime(r *commons.Record) *peerModel {
	if r.Author == a.Self || r.Kind != karasuv1.RecordKind_RECORD_KIND_RUNTIME_MODEL {
		return nil
	}
	m := &peerModel{organisation: r.Organisation, author: r.Author.String()}
	if m.weights, m.err = commons.DecodeRuntimeModel(r); m.err == nil {
		m.general, m.err = commons.GeneralOf(m.weights)
	}
	return m
}
