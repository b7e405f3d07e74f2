package query

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// stepsAtOnce bounds the steps of one search that the index works on together.
const stepsAtOnce = 4

// stepwise reports whether the parts of the query are searched one by one.
func (sr *search) stepwise() bool { return sr.req.Stepwise || len(sr.req.Steps) > 0 }

// stepByStep answers a request each of whose steps is searched by itself: those
// that it gives, else the needs that somebody made of the query, else its own
// clauses.
func (s *Service) stepByStep(ctx context.Context, sr *search) (schema.SearchResponse, error) {
	s.settle(ctx, sr)
	rankings, err := s.rankSteps(ctx, sr, sr.plan.steps(sr.req.Steps))
	if err != nil {
		return schema.SearchResponse{}, err
	}
	ctx, st := s.stage(ctx, "answer")
	defer st.end(nil)
	lists := make([][]pick, len(rankings))
	for i, ranked := range rankings {
		lists[i] = picksOf(ranked, sr.req.Rank)
	}
	return s.show(ctx, sr, inTurns(lists)), nil
}

// rankSteps returns a ranking for each plan. Their texts, and the query that the
// search is remembered by, are embedded in one call.
func (s *Service) rankSteps(ctx context.Context, sr *search, plans []plan) ([][]ranking.Ranked, error) {
	vectors := s.embed(ctx, sr, textsOf([]string{sr.plan.query}, plans))
	rankings, parts := make([][]ranking.Ranked, len(plans)), make([]search, len(plans))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(stepsAtOnce)
	for i, p := range plans {
		parts[i] = *sr
		part := &parts[i]
		part.plan, part.degraded = p, nil
		g.Go(func() error {
			found, err := s.enough(gctx, part, p.probe(vectors))
			rankings[i] = fuse(gctx, part, found)
			return err
		})
	}
	err := g.Wait()
	sr.vector = vectors[sr.plan.query]
	for i := range parts {
		for _, without := range parts[i].degraded {
			sr.degrade(without)
		}
	}
	return rankings, err
}

// textsOf returns the texts of several plans and some more, each once.
func textsOf(texts []string, plans []plan) []string {
	for _, p := range plans {
		texts = append(texts, p.texts()...)
	}
	return once(texts)
}

// steps returns a plan for each of the given steps, or for each need where none
// is given.
func (p plan) steps(given []string) []plan {
	var plans []plan
	step := p // with its arguments, which may serve every step
	for _, text := range given {
		step.query = strings.TrimSpace(text)
		step.needs = ownNeeds(step.query)
		plans = append(plans, step)
	}
	if len(given) > 0 {
		return plans
	}
	for i, n := range p.needs {
		step.query, step.needs = whole(n), p.needs[i:i+1]
		plans = append(plans, step)
	}
	return plans
}

// inTurns makes one order of those of several steps: the first of each, then the
// second of each, in a turn by their scores. What several steps found stands
// where it comes first, with all the tools that brought it. No step can push
// another out, however well what it asks for matches: a sum of scores or of
// reciprocal ranks brings what fits every step a little before what one of them
// needs.
func inTurns(lists [][]pick) []pick {
	if len(lists) == 1 {
		return lists[0]
	}
	type turn struct{ rank, step int }
	var turns []turn
	for i, list := range lists {
		for rank := range list {
			turns = append(turns, turn{rank, i})
		}
	}
	slices.SortFunc(turns, func(a, b turn) int {
		x, y := &lists[a.step][a.rank], &lists[b.step][b.rank]
		return cmp.Or(cmp.Compare(a.rank, b.rank), fusion.Order(x.by.Score, x.ref.ID, y.by.Score, y.ref.ID),
			cmp.Compare(y.ref.Kind, x.ref.Kind), cmp.Compare(a.step, b.step))
	})
	var picks []pick
	place := map[schema.Ref]int{}
	for _, t := range turns {
		p := lists[t.step][t.rank]
		at, known := place[p.ref]
		if !known {
			at = len(picks)
			place[p.ref] = at
			picks = append(picks, pick{ref: p.ref, by: p.by, step: t.step + 1})
		}
		for _, b := range p.brought {
			b.Step = t.step + 1
			picks[at].bring(b)
		}
	}
	return picks
}
