package search

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/kit/fairqueue"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Measuring answers the searches of an evaluation.
type Measuring struct {
	s       *Searcher
	version int       // of the index; 0: the current one
	last    *snapshot // of that version, as the last search saw it
}

// Measure returns a Measuring for an index version, 0 for the current one. It is for one
// goroutine.
func (s *Searcher) Measure(indexVersion int) *Measuring {
	return &Measuring{s: s, version: indexVersion}
}

// Search answers a request as Searcher.Search does. It gets its turn while no search of a
// caller waits for a turn, and one at a time in the process; it is not counted among searches,
// and teaches nothing. Its error is also a *schema.Invalid of the path /model if the index
// version is not in use in the process.
func (m *Measuring) Search(ctx context.Context, caller identity.Caller, req schema.SearchRequest) (schema.SearchResponse, error) {
	select {
	case m.s.measuring <- struct{}{}:
	case <-ctx.Done():
		return schema.SearchResponse{}, ctx.Err()
	}
	defer func() { <-m.s.measuring }()
	slot, err := m.s.queue.Acquire(ctx, fairqueue.Claim{Group: caller.Tenant, Member: caller.Subject, Last: true})
	if err != nil {
		return schema.SearchResponse{}, err
	}
	defer slot.Release()
	index, release, err := m.open()
	if err != nil {
		return schema.SearchResponse{}, err
	}
	defer release()
	req.Weights = cmp.Or(req.Weights, LiveWeights)
	return (&request{Searcher: m.s, caller: caller, req: req, index: index, slot: slot}).search(ctx)
}

// open returns the index version, which stays open until release is called.
func (m *Measuring) open() (index *snapshot, release func(), err error) {
	if m.version == 0 {
		index, release = m.s.current()
		return index, release, nil
	}
	var version Snapshot
	ok := false
	if m.s.deps.Other != nil {
		version, release, ok = m.s.deps.Other(m.version)
	}
	if !ok {
		return nil, nil, &schema.Invalid{Path: "/model", Value: strconv.Itoa(m.version), Reason: "must be an index version that is searched or built here"}
	}
	if m.last == nil || m.last.Index != version.Index {
		if m.last, err = newSnapshot(version); err != nil {
			release()
			return nil, nil, err
		}
	}
	return m.last, release, nil
}

// Retrieve returns what Search would rank for a request by the model m, without usage,
// with n candidates for each step. It is for evaluation and training: a query is not
// rewritten, and it is an error if any part does not answer.
func (s *Searcher) Retrieve(ctx context.Context, tenant string, req schema.SearchRequest, m *fusion.Model, n int) (Retrieval, error) {
	if _, err := req.Normalize(); err != nil {
		return Retrieval{}, err
	}
	req.Rerank = cmp.Or(req.Rerank, s.cfg.Rerank)
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	index, release := s.current()
	defer release()
	if index.Embedder != nil {
		index.awaitScale(ctx)
	}
	rq := &request{Searcher: s, caller: identity.Caller{Tenant: tenant}, req: req, index: index, model: m}
	rq.req, _ = rq.read(ctx)
	found, err := rq.retrieve(ctx, parse(rq.req), n)
	if without := rq.degraded.names(); err == nil && len(without) > 0 {
		err = fmt.Errorf("query %q: without %v", schema.Quote(req.Query), without)
	}
	return found, err
}

// Rerank returns a ranking of a step of Retrieve in the order that Search would show it
// in, and the evidence of whether one owner answers the query, if that decides. It is
// for evaluation and training, and fails if any part does not answer.
func (s *Searcher) Rerank(ctx context.Context, req schema.SearchRequest, m *fusion.Model, usage *ranking.Usage, step Step, ranked []ranking.Ranked) ([]ranking.Ranked, rerank.Evidence, error) {
	index, release := s.current()
	defer release()
	req.Rerank = cmp.Or(req.Rerank, s.cfg.Rerank)
	rq := &request{Searcher: s, caller: identity.Caller{Tenant: step.lookup.Tenant}, req: req, index: index, model: m, usage: usage}
	out := rq.rerank(ctx, parse(req), schema.RankTools, step, ranked)
	if without := rq.degraded.names(); len(without) > 0 {
		return nil, out.evidence, fmt.Errorf("query %q: without %v", schema.Quote(req.Query), without)
	}
	return out.ranked, out.evidence, nil
}
