package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// results looks up the first k hits that are still in the catalogue. What was deleted
// since the index was asked, is in quarantine or excluded by a flag, as the index may not
// know of a provider that its tools found, gives its place to the next.
func (s *Service) results(ctx context.Context, sr *search, q rewritten, found ordered) (results []schema.Result, shown []schema.Shown, entities []known) {
	results = []schema.Result{}
	connectionOf := s.connectionsOf(sr.caller)
	for _, h := range found.hits {
		if len(results) == sr.req.K {
			break
		}
		h, entity, ok := sr.first(ctx, h)
		if !ok {
			continue
		}
		h, entity, connection := sr.callable(ctx, h, entity, connectionOf)
		confidence := sr.confidence(h, found.scale)
		if confidence < sr.req.MinConfidence {
			continue
		}
		if sr.req.Connected && connection != nil && !connection.Connected {
			continue
		}
		if len(results) < maxSummaries {
			sr.summarise(ctx, &entity.Entity)
		}
		r, remembered := show(h, entity.Entity)
		connect(&r.Details, connection)
		r.Confidence = confidence
		if sr.stated() {
			remembered.Matches = h.By.Matches
		}
		remembered.Before = found.before[h.By.Ref]
		offer(&r, &remembered, h.Others)
		if relevance, ok := found.relevance[h.By.Ref]; ok {
			r.Relevance = &relevance
		}
		matches := sr.parameters(q, h, entity.Document.Parameters)
		for _, m := range matches {
			if m.Required && m.Match < sr.model.Tau {
				r.MissingParameters = append(r.MissingParameters, m.Name)
			}
		}
		if sr.req.Explain {
			r.Explanation = sr.explain(h.By, matches)
			if move, ok := found.moves[h.By.Ref]; ok {
				r.Explanation.Reranking = &move
			}
			if clicks, ok := found.clicks[h.By.Ref]; ok {
				r.Explanation.Clicks = &clicks
			}
			r.Explanation.Summary = sentences(q, h, &entity.Document, r.Explanation, r.MissingParameters)
		}
		results = append(results, r)
		shown = append(shown, remembered)
		entities = append(entities, entity)
	}
	return results, shown, entities
}

// knowsFlags refuses flags that no document can have.
func (s *Service) knowsFlags(flags []string) error {
	for i, flag := range flags {
		if len(s.cfg.Flags) > 0 && !slices.Contains(s.cfg.Flags, flag) {
			return &schema.Invalid{
				Path: fmt.Sprintf("/exclude_flags/%d", i), Value: schema.Quote(flag),
				Reason: "must be one of " + strings.Join(s.cfg.Flags, ", "),
			}
		}
	}
	return nil
}

func (sr *search) excludes(flag string) bool { return slices.Contains(sr.req.Exclude, flag) }

// hides reports whether an entity is in quarantine or excluded by a flag.
func (sr *search) hides(e *schema.Entity) bool {
	return e.Document.Quarantined || slices.ContainsFunc(e.Document.Flags, sr.excludes)
}

// quarantined reports whether tools of the providers that the search is for, or of all, are
// in quarantine. A catalogue that cannot be asked knows of none.
func (sr *search) quarantined(ctx context.Context) bool {
	providers := sr.req.Filters.Providers
	if len(providers) == 0 {
		providers = []string{""}
	}
	return slices.ContainsFunc(providers, func(provider string) bool {
		l := index.Listing{Kind: schema.KindTool, Scope: sr.scope, Provider: provider, Quarantined: true, Limit: 1}
		list, _, err := sr.index.Catalogue.List(ctx, sr.tenant, l)
		if err != nil {
			sr.parts.without(degradedCatalogue)
		}
		return len(list) > 0
	})
}

// entity returns what the catalogue says of a hit, and whether to show it. A catalogue
// that cannot be asked hides nothing, and a provider without a document of its own is
// known by its tools.
func (sr *search) entity(ctx context.Context, h ranking.Hit) (known, bool) {
	entity, raw, ok, err := sr.index.Catalogue.Get(ctx, h.Ref, sr.scope)
	if err != nil {
		sr.parts.without(degradedCatalogue)
	}
	if err != nil || !ok {
		entity = schema.Entity{Ref: h.Ref, Provider: h.By.Provider, Document: schema.Document{Name: h.ID}}
	}
	return known{entity, raw}, ok || err != nil || len(h.Supporting) > 0
}

// show returns a hit as the answer has it, and as an impression remembers it. A provider is
// remembered with the features of the tool that earned it the place.
func show(h ranking.Hit, e schema.Entity) (schema.Result, schema.Shown) {
	r := schema.Result{
		ID:                h.ID,
		Kind:              h.Kind,
		Name:              e.Document.Name,
		Description:       e.Document.Description,
		Score:             h.By.Score,
		Similarity:        min(1, max(-1, h.By.Similarity)),
		Flags:             e.Document.Flags,
		Step:              h.Step,
		MissingParameters: []string{},
		SupportingTools:   h.Supporting,
		HeldBack:          h.By.HeldBack,
	}
	s := schema.Shown{
		ID:       h.ID,
		Score:    h.By.Score,
		Features: append([]float64(nil), h.By.Features[:]...),
		Step:     h.Step,
	}
	if h.Kind == schema.KindTool {
		r.Provider, s.Provider, r.CallableName = e.Provider, h.By.Provider, e.CallableName
	} else {
		s.Kind = h.Kind
	}
	return r, s
}

// record queues the impression. A search that showed nothing cannot be learned from.
func (s *Service) record(ctx context.Context, sr *search, id string, vector []float32, shown []schema.Shown) {
	if len(shown) == 0 {
		return
	}
	if !s.impressions.add(ctx, schema.Impression{
		SearchID: id,
		Tenant:   sr.tenant,
		Query:    sr.req.Query,
		Time:     s.deps.Now().UTC(),
		Weights:  sr.model.Version,
		Model:    sr.index.Model,
		Vector:   schema.NewDirection(vector),
		Shown:    shown,
	}) {
		sr.parts.without(degradedImpressions)
	}
}

// toolsOf returns the ids of the tools that were shown, with their copies.
func toolsOf(shown []schema.Shown) (ids []string) {
	for i := range shown {
		if shown[i].Kind != schema.KindProvider {
			ids = append(ids, shown[i].ID)
		}
		for _, other := range shown[i].Also {
			ids = append(ids, other.ID)
		}
	}
	return ids
}

// The bounds of a summary: what is read for it, and what it says.
const (
	summarised   = 64 // tools of a provider, the first by id
	summaryNames = 10
	maxSummary   = 64 // bytes of a name
	maxSummaries = 20 // providers of an answer
)

// summarise gives a provider without a description that of its tools' names. They are
// read from the catalogue when it is shown, so it follows every change of them.
func (sr *search) summarise(ctx context.Context, e *schema.Entity) {
	if e.Kind != schema.KindProvider || e.Document.Description != "" {
		return
	}
	tools, more, err := sr.index.Catalogue.List(ctx, e.Tenant, index.Listing{Kind: schema.KindTool, Scope: sr.scope, Provider: e.ID, Limit: summarised})
	if err != nil {
		sr.parts.without(degradedCatalogue)
		return
	}
	var names []string
	for i := range tools {
		if !tools[i].Document.Quarantined { // its words are kept out of answers
			names = append(names, tools[i].Document.Name)
		}
	}
	e.Document.Description = summary(names, more != "")
}

// summary says in a line what tools of these names do: their names in words, each once and
// the short ones first. There may be more tools than names.
func summary(names []string, more bool) string {
	var said []string
	for _, name := range names {
		phrase := text.Truncate(strings.ToLower(strings.Join(strings.Fields(text.Split(name)), " ")), maxSummary)
		if phrase != "" && !slices.Contains(said, phrase) {
			said = append(said, phrase)
		}
	}
	if len(said) == 0 {
		return ""
	}
	slices.SortFunc(said, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	count := fmt.Sprintf("%d tools: ", len(names))
	switch {
	case more:
		count = "more than " + count
	case len(names) == 1:
		count = "1 tool: "
	}
	out := count + strings.Join(said[:min(len(said), summaryNames)], ", ")
	if more || len(said) > summaryNames {
		out += " and others"
	}
	return out
}
