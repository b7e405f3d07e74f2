package ranking

import (
	"cmp"
	"slices"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxSupporting bounds the tools named with a provider.
const maxSupporting = 10

// Hit is one place in an answer: the entity to show, and the candidate that earned it
// the place.
type Hit struct {
	schema.Ref
	By         *Ranked
	Step       int                     // from 1, of several steps: the one whose candidate it is
	Supporting []schema.SupportingTool // of a provider: its tools in the ranking, best first
	Others     []Hit                   // of a tool: its copies of other providers, best first
}

// Hits returns the ranked entities or their providers, best first. There is one ranking for each step of the search. The provider named first,
// if there is one, leads.
func Hits(rankings [][]Ranked, rank schema.Rank, first string) []Hit {
	lists := make([][]Hit, len(rankings))
	for i, ranked := range rankings {
		if rank == schema.RankProviders {
			lists[i] = byProvider(ranked)
		} else {
			lists[i] = entities(ranked)
		}
	}
	hits := inTurns(lists)
	at := slices.IndexFunc(hits, func(h Hit) bool { return h.Kind == schema.KindProvider && h.ID == first })
	if first == "" || at < 1 {
		return hits
	}
	return slices.Concat(hits[at:at+1], hits[:at], hits[at+1:])
}

func entities(rs []Ranked) []Hit {
	hits := make([]Hit, len(rs))
	for i := range rs {
		hits[i] = Hit{Ref: rs[i].Ref, By: &rs[i]}
	}
	return hits
}

// byProvider is Algorithm 1 of Tool-to-Agent Retrieval (arXiv 2511.01854): down the ranking of
// tools and providers together, each entity gives way to its provider, and a provider takes the
// place of its first entity. Tools without a provider are left out.
func byProvider(rs []Ranked) []Hit {
	var hits []Hit
	place := map[string]int{}
	for i := range rs {
		owner := Owner(&rs[i].Candidate)
		if owner == "" {
			continue
		}
		at, known := place[owner]
		if !known {
			at = len(hits)
			place[owner] = at
			hits = append(hits, Hit{Ref: schema.Ref{Tenant: rs[i].Tenant, Kind: schema.KindProvider, ID: owner}, By: &rs[i]})
		}
		if rs[i].Kind == schema.KindTool {
			hits[at].support(schema.SupportingTool{ID: rs[i].ID, Rank: i + 1, Score: rs[i].Score})
		}
	}
	return hits
}

// support adds a tool to the supporting tools of a provider, once.
func (h *Hit) support(tool schema.SupportingTool) {
	known := slices.ContainsFunc(h.Supporting, func(t schema.SupportingTool) bool { return t.ID == tool.ID })
	if !known && len(h.Supporting) < maxSupporting {
		h.Supporting = append(h.Supporting, tool)
	}
}

// inTurns merges the hits of several steps: the first of each, then the second of each, in a turn
// by their scores. An entity that several steps found keeps its first place, with the supporting
// tools of all of them. So no step can push another out, however well it matches. Sums of scores
// or of reciprocal ranks would put a hit that fits every step a little above a hit that one step
// needs.
func inTurns(lists [][]Hit) []Hit {
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
		return cmp.Or(cmp.Compare(a.rank, b.rank), fusion.Order(x.By.Score, x.ID, y.By.Score, y.ID),
			cmp.Compare(y.Kind, x.Kind), cmp.Compare(a.step, b.step))
	})
	var hits []Hit
	place := map[schema.Ref]int{}
	for _, t := range turns {
		h := lists[t.step][t.rank]
		at, known := place[h.Ref]
		if !known {
			at = len(hits)
			place[h.Ref] = at
			hits = append(hits, Hit{Ref: h.Ref, By: h.By, Step: t.step + 1})
		}
		for _, tool := range h.Supporting {
			tool.Step = t.step + 1
			hits[at].support(tool)
		}
	}
	return hits
}
