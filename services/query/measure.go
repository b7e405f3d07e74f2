package query

import (
	"cmp"
	"context"
	"strconv"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Measuring answers the searches of an evaluation.
type Measuring struct {
	s       *Service
	version int       // of the index; 0: what is searched
	seen    *snapshot // of that version, as it was used last; nil: it was not
}

// Measure returns what answers searches by an index version, 0 for the one that is searched.
// It is for one goroutine.
func (s *Service) Measure(indexVersion int) *Measuring {
	return &Measuring{s: s, version: indexVersion}
}

// measured is the turn of a search of an evaluation, and what it sees.
type measured struct {
	*Measuring
	turn *turn
}

// Search answers a request as Service.Search does. It gets its turn while no search of a
// caller waits for one, and one at a time in the process; it is not counted among searches,
// and teaches nothing. Its error is a *schema.Invalid of the path /model, too, where the index
// version is not at work in the process.
func (m *Measuring) Search(ctx context.Context, caller identity.Caller, req schema.SearchRequest) (schema.SearchResponse, error) {
	select {
	case m.s.measuring <- struct{}{}:
	case <-ctx.Done():
		return schema.SearchResponse{}, ctx.Err()
	}
	defer func() { <-m.s.measuring }()
	turn, err := m.s.queue.enterLast(ctx, caller)
	if err != nil {
		return schema.SearchResponse{}, err
	}
	defer turn.leave()
	req.Weights = cmp.Or(req.Weights, LiveWeights)
	return m.s.search(ctx, caller, req, &measured{m, turn})
}

// sees returns what a search sees, which stays open until release is called, and the turn
// that it has, nil for one that is yet to get it.
func (s *Service) sees(of *measured) (index *snapshot, t *turn, release func(), err error) {
	if of == nil {
		index, release = s.snapshot()
		return index, nil, release, nil
	}
	if of.version == 0 {
		index, release = s.snapshot()
		return index, of.turn, release, nil
	}
	other, release, ok := s.other(of.version)
	if !ok {
		return nil, nil, nil, &schema.Invalid{Path: "/model", Value: strconv.Itoa(of.version), Reason: "is no index version that is searched or built here"}
	}
	if of.seen == nil || of.seen.Index != other.Index {
		if of.seen, err = newSnapshot(other); err != nil {
			release()
			return nil, nil, nil, err
		}
	}
	return of.seen, of.turn, release, nil
}

func (s *Service) other(version int) (Snapshot, func(), bool) {
	if s.deps.Other == nil {
		return Snapshot{}, nil, false
	}
	return s.deps.Other(version)
}

// Problem turns an error of a search into an answer (RFC 9457).
func (s *Service) Problem(ctx context.Context, err error) error {
	return s.problem(ctx, err, &s.searching, "query: searches fail")
}
