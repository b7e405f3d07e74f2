package query

import (
	"context"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// results looks up the first k picks that are still in the catalogue. What was
// deleted since the index was asked, or is in quarantine, gives its place to the
// next.
func (s *Service) results(ctx context.Context, sr *search, picks []pick) ([]schema.Result, []schema.Shown) {
	results := []schema.Result{}
	var shown []schema.Shown
	for _, p := range picks {
		if len(results) == sr.req.K {
			break
		}
		entity, ok := s.lookUp(ctx, sr, p)
		if !ok || entity.Document.Quarantined {
			continue
		}
		if len(results) < maxSummaries {
			s.describe(ctx, sr, &entity)
		}
		results = append(results, sr.result(p, entity))
		shown = append(shown, shownAs(p))
	}
	return results, shown
}

// lookUp returns what the catalogue says of a pick, and whether to show it. A
// catalogue that can not be asked hides nothing, and an owner that was never
// described is known by its tools.
func (s *Service) lookUp(ctx context.Context, sr *search, p pick) (schema.Entity, bool) {
	entity, _, ok, err := sr.view.Catalogue.Get(ctx, p.ref)
	if err != nil {
		sr.degrade(degradedCatalogue)
	}
	if err != nil || !ok {
		entity = schema.Entity{Ref: p.ref, Agent: p.by.Agent, Document: schema.Document{Name: p.ref.ID}}
	}
	return entity, ok || err != nil || len(p.brought) > 0
}

func (sr *search) result(p pick, e schema.Entity) schema.Result {
	r := schema.Result{
		ID:                p.ref.ID,
		Kind:              p.ref.Kind,
		Name:              e.Document.Name,
		Description:       e.Document.Description,
		Score:             p.by.Score,
		Similarity:        min(1, max(-1, p.by.Similarity)),
		Step:              p.step,
		Explored:          p.explored,
		MissingParameters: []string{},
		Tools:             p.tools(),
		BroughtBy:         p.brought,
	}
	if r.Kind == schema.KindTool {
		r.Agent = e.Agent
	}
	if relevance, ok := sr.reordered.relevance[p.by.Ref]; ok {
		r.Relevance = &relevance
	}
	matches := sr.parameters(p, e.Document.Parameters)
	for _, m := range matches {
		if m.Required && m.Match < sr.model.Tau {
			r.MissingParameters = append(r.MissingParameters, m.Name)
		}
	}
	if sr.req.Explain {
		r.Explanation = sr.explain(p.by, matches)
	}
	return r
}

// parameters names the candidate's matches. It names none where the pick is an
// owner, whose parameters they are not, or where the document changed between
// the index's answer and the catalogue's.
func (sr *search) parameters(p pick, params []schema.Parameter) []schema.ParameterMatch {
	c := p.by.Candidate
	if p.ref != c.Ref || len(c.Matches) > len(params) {
		return nil
	}
	out := make([]schema.ParameterMatch, 0, len(c.Matches))
	for i, m := range c.Matches {
		out = append(out, schema.ParameterMatch{
			Name:     params[i].Name,
			Required: m.Required,
			Argument: sr.argument(c, i),
			Match:    m.Score,
			Penalty:  sr.model.Missing(m),
		})
	}
	return out
}

// argument returns the name of the argument that matched parameter i best.
func (sr *search) argument(c index.Candidate, i int) string {
	if i >= len(c.BestArg) || c.BestArg[i] < 0 || c.BestArg[i] >= len(sr.plan.arguments) {
		return ""
	}
	return sr.plan.arguments[c.BestArg[i]].name
}

// explain takes a score apart: bias and terms less the penalty are the score.
func (sr *search) explain(r *ranking.Ranked, matches []schema.ParameterMatch) *schema.Explanation {
	e := &schema.Explanation{
		Weights:    sr.model.Version,
		Features:   r.Features.ByName(),
		Terms:      map[string]float64{},
		Bias:       sr.model.Bias,
		Penalty:    r.Penalty,
		Parameters: matches,
	}
	if move, ok := sr.reordered.moves[r.Ref]; ok {
		e.Reranking = &move
	}
	for i, x := range r.Features {
		if term := sr.model.Features[i] * x; term != 0 {
			e.Terms[fusion.Feature(i).String()] = term
		}
	}
	return e
}

// shownAs is a pick as an impression remembers it. An agent that a tool brought
// is remembered with that tool's features: by them it was ranked.
func shownAs(p pick) schema.Shown {
	s := schema.Shown{
		ID:       p.ref.ID,
		Score:    p.by.Score,
		Features: append([]float64(nil), p.by.Features[:]...),
		Matches:  p.by.Matches,
		Step:     p.step,

		Explored: p.explored, Propensity: p.propensity,
	}
	if p.ref.Kind == schema.KindTool {
		s.Agent = p.by.Agent
	} else {
		s.Kind = p.ref.Kind
	}
	return s
}
