// Package advisor answers with what the node knows: it assembles a search problem
// from the private runs, the commons and the catalog, asks a search method, and
// keeps the searches of the organisation.
//
// It speaks the messages of the local API and knows nothing of how they travel.
package advisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/share"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/private"
)

// Errors that callers tell apart. Bad input wraps [model.ErrInvalid].
var (
	// ErrNotFound means that no search of that name exists.
	ErrNotFound = errors.New("no such search")
	// ErrExists means that a search of that name exists already.
	ErrExists = errors.New("search exists already")
	// ErrRepeated means that the configuration was reported before.
	ErrRepeated = errors.New("configuration was reported before")
	// ErrNothingToUndo means that no run has been reported in a search.
	ErrNothingToUndo = errors.New("no run has been reported")
)

// Runs is what the advisor needs of the private store.
type Runs interface {
	Runs(ctx context.Context, f private.Filter) ([]model.Run, error)
	PutSearch(ctx context.Context, s *karasuv1.Search, runs ...model.Run) error
	GetSearch(ctx context.Context, job string) (*karasuv1.Search, error)
	ListSearches(ctx context.Context) ([]*karasuv1.Search, error)
	DeleteSearch(ctx context.Context, job string) error
	// Subscribe signals changes; the function ends the subscription.
	Subscribe() (<-chan struct{}, func())
	DeleteRuns(ctx context.Context, ids []string) (runs, searches int, err error)
}

// Commons is what the advisor needs of the shared records.
type Commons interface {
	Usable(match func(model.Topic) bool) []commons.Entry
	Get(id commons.ID) (*commons.Record, error)
}

// Options of an [Advisor]. All fields but Join are needed.
type Options struct {
	Organisation string
	Self         commons.Writer
	Runs         Runs
	Commons      Commons
	// RuntimeModels are those of the same commons.
	RuntimeModels RuntimeModels
	Catalog       *catalog.Catalog
	Lookup        share.MachineLookup
	Pseudonyms    share.Pseudonymizer
	// Join makes the node interested in a topic and fetches what peers know of it.
	// It returns within a few seconds, with or without an answer.
	Join func(ctx context.Context, t model.Topic)
	Now  func() time.Time
}

// Advisor is safe for concurrent use.
type Advisor struct {
	Options
	methods map[string]search.Method
	// mu serialises changes of searches.
	mu          sync.Mutex
	known       knowledge
	models      ownModels
	unsubscribe func()
}

// New returns an advisor.
func New(o Options) (*Advisor, error) {
	a := &Advisor{Options: o, methods: map[string]search.Method{}}
	for _, name := range search.Names() {
		m, err := search.New(name)
		if err != nil {
			return nil, err
		}
		a.methods[name] = m
	}
	a.known.changed, a.unsubscribe = o.Runs.Subscribe()
	a.models.open(o.Runs)
	return a, nil
}

// Close ends the advisor's subscriptions to the private store and what it computes in
// the background.
func (a *Advisor) Close() {
	a.unsubscribe()
	a.models.close()
}

func (a *Advisor) method(name string) (search.Method, error) {
	m, ok := a.methods[name]
	if !ok {
		return nil, badInput("method", fmt.Sprintf("must be one of %s: %q", strings.Join(search.Names(), ", "), name))
	}
	return m, nil
}

func badInput(field, problem string) error { return &model.FieldError{Field: field, Problem: problem} }
