package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/catalogue"
)

// maxOffers bounds the other offers that a result names.
const maxOffers = 10

// results looks up the first k hits that are still in the catalogue. A hit gives its place to
// the next if it shares nothing with the query, was deleted since the index was asked, is in
// quarantine or is excluded by a flag, as the index may not know of a provider that its tools found.
// It returns the results, what
// an impression remembers of each, and the tools among them, to be described.
func (rq *request) results(ctx context.Context, q query, found Retrieval, ranked ordered) ([]schema.Result, []schema.Shown, []catalogue.Detailed) {
	results := []schema.Result{}
	var shown []schema.Shown
	var entities []catalogue.Known
	connectionOf := catalogue.ConnectionOf(rq.calls, rq.caller)
	for _, h := range ranked.hits {
		if len(results) == rq.req.K {
			break
		}
		h, entity, connection, ok := rq.pick(ctx, h, connectionOf)
		confidence := h.By.Confidence(rq.model, found.Scale)
		if !ok || confidence < rq.req.MinConfidence || h.By.Score == 0 || !shares(h.By) {
			continue
		}
		if len(results) < maxSummaries {
			rq.summarise(ctx, &entity.Entity)
		}
		r, s := show(h, entity.Entity)
		catalogue.SetConnection(&r.Details, connection)
		r.Confidence = confidence
		if len(rq.req.Arguments) > 0 {
			s.Matches = h.By.Matches
		}
		s.Before = ranked.before[h.By.Ref]
		if relevance, ok := ranked.relevance[h.By.Ref]; ok {
			r.Relevance = &relevance
		}
		matches := parameters(rq.model, q, h, entity.Document.Parameters)
		for _, m := range matches {
			if m.Required && m.Match < rq.model.Tau {
				r.MissingParameters = append(r.MissingParameters, m.Name)
			}
		}
		if rq.req.Explain {
			r.Explanation = explain(rq.model, q, h, &ranked, matches, &entity.Document, r.MissingParameters)
		}
		results, shown, entities = append(results, r), append(shown, s), append(entities, entity)
	}
	if rq.calls != nil {
		demote(rq.calls, results, shown, entities)
	}
	var tools []catalogue.Detailed
	for i := range results {
		if e := entities[i]; e.Kind == schema.KindTool && e.CallableName != "" { // else the catalogue does not know it
			tools = append(tools, catalogue.Detailed{Known: e, Details: &results[i].Details})
		}
	}
	return results, shown, tools
}

// pick returns the first of a hit and its copies that can be shown, with its entity and whether
// the caller can call it. A copy that can be called takes the place of a hit that cannot.
func (rq *request) pick(ctx context.Context, h ranking.Hit, connectionOf func(*catalogue.Known) *schema.Connection) (ranking.Hit, catalogue.Known, *schema.Connection, bool) {
	others := h.Others
	entity, ok := rq.lookUpEntity(ctx, h)
	for ; !ok; others = others[1:] {
		if len(others) == 0 {
			return h, catalogue.Known{}, nil, false
		}
		h = others[0]
		entity, ok = rq.lookUpEntity(ctx, h)
	}
	h.Others = nil
	for _, other := range others {
		if _, deleted, _ := rq.index.Catalogue.Version(other.Ref); !deleted {
			h.Others = append(h.Others, other)
		}
	}
	connection := connectionOf(&entity)
	if connection == nil || connection.Connected {
		return h, entity, connection, true
	}
	for i, other := range h.Others {
		copied, ok := rq.lookUpEntity(ctx, other)
		if !ok {
			continue
		}
		if c := connectionOf(&copied); c != nil && c.Connected {
			rest := slices.Delete(slices.Clone(h.Others), i, i+1)
			h.Others = nil
			other.Others = append([]ranking.Hit{h}, rest...)
			return other, copied, c, true
		}
	}
	return h, entity, connection, true
}

// lookUpEntity returns the catalogue entry of a hit, and whether to show it: it is neither in
// quarantine nor excluded by a flag. A catalogue that cannot be asked hides nothing, and a
// provider without a document of its own is known by its tools.
func (rq *request) lookUpEntity(ctx context.Context, h ranking.Hit) (catalogue.Known, bool) {
	entity, raw, ok, err := rq.index.Catalogue.Get(ctx, h.Ref, rq.scope)
	if err != nil {
		rq.degraded.add(degradedCatalogue)
	}
	if err != nil || !ok {
		entity = schema.Entity{Ref: h.Ref, Provider: h.By.Provider, Document: schema.Document{Name: h.ID}}
	}
	known := ok || err != nil || len(h.Supporting) > 0
	excluded := slices.ContainsFunc(entity.Document.Flags, func(flag string) bool { return slices.Contains(rq.req.Exclude, flag) })
	return catalogue.Known{Entity: entity, Raw: raw}, known && !entity.Document.Quarantined && !excluded
}

// Bounds of summaries.
const (
	summarised   = 64 // tools of a provider, the first by id
	summaryNames = 10
	maxSummary   = 64 // bytes of a name
	maxSummaries = 20 // providers of an answer
)

// summarise gives a provider without a description that of its tools' names. They are
// read from the catalogue when it is shown, so it follows every change of them.
func (rq *request) summarise(ctx context.Context, e *schema.Entity) {
	if e.Kind != schema.KindProvider || e.Document.Description != "" {
		return
	}
	tools, more, err := rq.index.Catalogue.List(ctx, e.Tenant, index.Listing{Kind: schema.KindTool, Scope: rq.scope, Provider: e.ID, Limit: summarised})
	if err != nil {
		rq.degraded.add(degradedCatalogue)
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
	r.OtherOffers = len(h.Others)
	for _, other := range h.Others[:min(len(h.Others), maxOffers)] {
		r.AlsoOfferedBy = append(r.AlsoOfferedBy, schema.Offer{ID: other.ID, Provider: other.By.Provider})
	}
	s.Also = r.AlsoOfferedBy
	return r, s
}

// parameters names the candidate's matches. It names none if the hit is a provider,
// whose parameters they are not, or if the document changed between the index's
// answer and the catalogue's.
func parameters(m *fusion.Model, q query, h ranking.Hit, params []schema.Parameter) []schema.ParameterMatch {
	c := h.By.Candidate
	if h.Ref != c.Ref || len(c.Matches) > len(params) {
		return nil
	}
	out := make([]schema.ParameterMatch, 0, len(c.Matches))
	for i, match := range c.Matches {
		argument := ""
		if i < len(c.BestArg) && c.BestArg[i] >= 0 && c.BestArg[i] < len(q.arguments) {
			argument = q.arguments[c.BestArg[i]].name
		}
		out = append(out, schema.ParameterMatch{
			Name:     params[i].Name,
			Required: match.Required,
			Argument: argument,
			Match:    match.Score,
			Penalty:  m.Missing(match, h.By.Unit),
		})
	}
	return out
}

// nearly is how far below another one a result may score that counts as its equal: a share of
// the best score.
const nearly = 0.02

// demote moves unhealthy tools behind the results that score as well. It moves
// nothing into the answer or out of it.
func demote(calls Calls, results []schema.Result, shown []schema.Shown, entities []catalogue.Known) {
	if len(results) == 0 {
		return
	}
	margin := nearly * math.Abs(results[0].Score)
	unhealthy := make([]bool, len(results))
	for i := range results {
		unhealthy[i] = results[i].Kind == schema.KindTool && calls.Unhealthy(&entities[i].Entity)
	}
	for first := len(results) - 1; first >= 0; first-- {
		for i := first; unhealthy[i] && i+1 < len(results) && !unhealthy[i+1] && equal(&results[i], &results[i+1], margin); i++ {
			results[i], results[i+1] = results[i+1], results[i]
			shown[i], shown[i+1] = shown[i+1], shown[i]
			entities[i], entities[i+1] = entities[i+1], entities[i]
			unhealthy[i], unhealthy[i+1] = false, true
		}
	}
}

// equal reports whether the second of two results is as good as the first, within a margin.
func equal(first, second *schema.Result, margin float64) bool {
	switch {
	case first.Step != second.Step, first.HeldBack != second.HeldBack, (first.Relevance == nil) != (second.Relevance == nil):
		return false
	case first.Relevance != nil:
		return *first.Relevance-*second.Relevance <= nearly
	}
	return first.Score-second.Score <= margin
}
