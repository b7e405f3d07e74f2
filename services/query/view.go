package query

import (
	"errors"
	"fmt"
	"sync"

	"github.com/toolstream/toolstream/internal/working"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// View is what searches see: the index of one embedding model and what belongs to
// it, as in Config and Deps.
type View struct {
	Model     string
	Index     Index
	Catalogue Catalogue
	Embedder  Embedder
}

// serving is a view at work.
type serving struct {
	View
	builtin *fusion.Model // its model's weights, until others are learned
	blind   working.State // the embedding of queries
	using   sync.RWMutex  // read-locked by whoever uses the view
}

func newServing(v View) (*serving, error) {
	switch {
	case v.Index == nil:
		return nil, errors.New("query: no index")
	case v.Catalogue == nil:
		return nil, errors.New("query: no catalogue")
	}
	builtin, err := fusion.ModelOf(fusion.BuiltinFor(v.Model))
	if err != nil {
		return nil, fmt.Errorf("query: built-in weights: %w", err)
	}
	return &serving{View: v, builtin: &builtin}, nil
}

// use returns the view to be used until done is called: it stays open so long,
// whatever is switched to meanwhile.
func (s *Service) use() (v *serving, done func()) {
	for {
		v := s.now.Load()
		// A view is waited for only once it is not the one to be used any more.
		if !v.using.TryRLock() {
			continue
		}
		if s.now.Load() == v {
			return v, v.using.RUnlock
		}
		v.using.RUnlock()
	}
}

// Switch lets what begins from now on see another view: its index, its catalogue,
// its embedder, and what was learned with its model. What has begun before ends
// with the view that it began with; wait returns once all of it has.
func (s *Service) Switch(v View) (wait func(), err error) {
	next, err := newServing(v)
	if err != nil {
		return nil, err
	}
	before := s.now.Swap(next)
	return func() {
		before.using.Lock()
		defer before.using.Unlock() // to have waited is all
	}, nil
}
