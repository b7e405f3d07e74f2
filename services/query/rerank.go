package query

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Scorer is a cross-encoder: it reads the query and a text together, which is the name
// of a tool, a full stop and its description.
type Scorer interface {
	// Score returns for each text, in order, how relevant it is to the query,
	// from 0 to 1. It waits no longer than ctx lasts.
	Score(ctx context.Context, query string, texts []string) ([]float64, error)
}

// maxDocuments bounds the documents whose words are cached, some three megabytes.
const maxDocuments = 16384

// documentWords are the words of one version of a document.
type documentWords struct {
	version schema.Version
	words   rerank.Words
}

// maxJudged bounds what a cross-encoder reads of a tool, in bytes: few read more
// than 512 tokens.
const maxJudged = 2 << 10

// reranked is a ranking in its new order, and how it came about.
type reranked struct {
	ranked    []ranking.Ranked
	algorithm rerank.Algorithm
	relevance map[schema.Ref]float64          // by the cross-encoder, of what it judged
	moves     map[schema.Ref]schema.Reranking // of everything; only where it is to be explained
}

// rerank puts a ranking into the order of ToolRerank (arXiv 2403.06551), after the
// cross-encoder has judged it, if there is one. Tools without a provider are not
// reordered by providers, and a ranking of providers stays as it is.
func (s *Service) rerank(ctx context.Context, sr *search, q rewritten, rank schema.Rank, ranked []ranking.Ranked) reranked {
	out := reranked{ranked: ranked}
	mode := cmp.Or(sr.req.Rerank, s.cfg.Rerank)
	owned := slices.ContainsFunc(ranked, func(r ranking.Ranked) bool { return ranking.Owner(&r.Candidate) != "" })
	if mode == schema.RerankOff || rank == schema.RankProviders || !owned && s.deps.Scorer == nil {
		return out
	}
	ctx, st := s.stage(ctx, "rerank")
	defer st.end(nil)
	items, err := s.items(ctx, sr, ranked)
	if err != nil {
		sr.parts.without(degradedRerank)
		return out
	}
	bounds, single := s.cfg.Reranking, 0.
	var needs []rerank.Words
	switch {
	case !owned:
	case mode == schema.RerankAuto:
		needs = needWords(q.needs)
		single = rerank.SingleProbability(items, len(needs))
		out.algorithm = bounds.Choose(items, single)
	default:
		out.algorithm = rerank.Algorithm(mode)
	}
	items = rerank.Calibrate(items)
	from := make([]int, len(ranked)) // the place in ranked of each item
	for i := range from {
		from[i] = i
	}
	if s.deps.Scorer != nil {
		items, from, bounds = s.judge(ctx, sr, q, &out, items, from)
	}
	order := bounds.Order(items, needs, out.algorithm)
	out.ranked = make([]ranking.Ranked, len(order))
	for to, place := range order {
		out.ranked[to] = ranked[from[place.At]]
	}
	if sr.req.Explain {
		out.moves = make(map[schema.Ref]schema.Reranking, len(order))
		for to, place := range order {
			out.moves[out.ranked[to].Ref] = schema.Reranking{
				Algorithm: cmp.Or(schema.Rerank(out.algorithm), schema.RerankOff), Single: single,
				Calibrated: items[place.At].Score, From: from[place.At] + 1, To: to + 1, Why: string(place.Why),
			}
		}
	}
	return out
}

// items returns a ranking as package rerank sees it. Words are known of what can be
// reordered; a tool is seen if one of its provider's was used.
func (s *Service) items(ctx context.Context, sr *search, ranked []ranking.Ranked) ([]rerank.Item, error) {
	bounds := s.cfg.Reranking
	items := make([]rerank.Item, len(ranked))
	seen := map[string]bool{}
	for i := range ranked {
		r := &ranked[i]
		items[i] = rerank.Item{ID: r.ID, Owner: ranking.Owner(&r.Candidate), Score: r.Score}
		seen[items[i].Owner] = seen[items[i].Owner] || sr.usage.Used(r.ID)
		if i >= max(bounds.KeepSeen, bounds.KeepUnseen) {
			continue
		}
		var err error
		if items[i].Words, err = s.words(ctx, sr.index.Catalogue, r.Ref); err != nil {
			return nil, err
		}
	}
	for i := range items {
		items[i].Seen = seen[items[i].Owner]
		if items[i].Owner == "" {
			items[i].Seen = sr.usage.Used(items[i].ID)
		}
	}
	return items, nil
}

// words returns the words of an entity's document, none where it is gone.
func (s *Service) words(ctx context.Context, c Catalogue, ref schema.Ref) (rerank.Words, error) {
	version, _, _ := c.Version(ref)
	if cached, ok := s.documents.Get(ref); ok && cached.version == version {
		return cached.words, nil
	}
	e, _, ok, err := c.Get(ctx, ref)
	if err != nil || !ok {
		return nil, err
	}
	words := DocumentWords(&e.Document)
	s.documents.Add(ref, documentWords{e.Version, words})
	return words, nil
}

// judge lets the cross-encoder order the items that can be reordered, and gives the
// others, which follow as they are, no relevance. It returns bounds by which all that
// was judged is reordered. Without an answer in time everything stays as it was.
func (s *Service) judge(ctx context.Context, sr *search, q rewritten, out *reranked, items []rerank.Item, from []int) ([]rerank.Item, []int, rerank.Config) {
	bounds := s.cfg.Reranking
	kept, cut := bounds.Truncate(items)
	scores, err := s.score(ctx, sr, q.text, out.ranked, kept)
	s.scoring.Note(ctx, s.deps.Logger, err, "query: the cross-encoder does not answer, results stay in the order of their scores", "query: the cross-encoder answers again")
	if err != nil {
		sr.parts.without(degradedRerank)
		return items, from, bounds
	}
	out.relevance = make(map[schema.Ref]float64, len(kept))
	own := make([]float64, len(kept))
	for i, at := range kept {
		out.relevance[out.ranked[at].Ref], own[i] = scores[i], out.ranked[at].Score
	}
	advisor, advises := s.deps.Scorer.(Advisor)
	if advises {
		scores = advised(own, scores, advisor.Weight())
	}
	for i, at := range kept {
		items[at].Score = scores[i]
	}
	for _, at := range cut {
		items[at].Score = 0
		if advises {
			items[at].Score = out.ranked[at].Score
		}
	}
	slices.SortStableFunc(kept, func(a, b int) int { return cmp.Compare(items[b].Score, items[a].Score) })
	order := slices.Concat(kept, cut)
	judged := make([]rerank.Item, len(order))
	for i, at := range order {
		judged[i] = items[at]
	}
	if advises {
		judged = rerank.Calibrate(judged)
	}
	bounds.KeepSeen, bounds.KeepUnseen = len(kept), len(kept)
	return judged, order, bounds
}

// score returns the cross-encoder's scores of what stands at some places of a ranking,
// got within its budget.
func (s *Service) score(ctx context.Context, sr *search, query string, ranked []ranking.Ranked, places []int) ([]float64, error) {
	ctx, cancel := budgeted(ctx, s.cfg.ScoreBudget)
	defer cancel()
	texts := make([]string, len(places))
	for i, at := range places {
		e, _, _, err := sr.index.Catalogue.Get(ctx, ranked[at].Ref)
		if err != nil {
			return nil, err
		}
		texts[i] = text.Truncate(e.Document.Name+". "+e.Document.Description, maxJudged)
	}
	scores, err := s.deps.Scorer.Score(ctx, query, texts)
	if err != nil {
		return nil, err
	}
	if len(scores) != len(texts) {
		return nil, fmt.Errorf("%d scores for %d texts", len(scores), len(texts))
	}
	for _, x := range scores {
		if math.IsNaN(x) || x < 0 || x > 1 {
			return nil, fmt.Errorf("a score of %v", x)
		}
	}
	return scores, nil
}

// NeedWords returns the words of each need of a request, as reranking compares
// them with those of documents: stems, without words that only phrase a request.
func NeedWords(req schema.SearchRequest) []rerank.Words {
	return needWords(parse(req).needs)
}

func needWords(needs []schema.Need) []rerank.Words {
	words := make([]rerank.Words, len(needs))
	for i, n := range needs {
		words[i] = rerank.WordsOf(contentWords(whole(n)))
	}
	return words
}

// DocumentWords returns the words of a tool's name and description in the form
// of NeedWords.
func DocumentWords(doc *schema.Document) rerank.Words {
	fields := index.Texts(doc)
	return rerank.WordsOf(contentWords(fields.Name + " " + fields.Description))
}

// contentWords returns the stems of a text's words, without words that say nothing.
func contentWords(s string) []string {
	var words []string
	for _, token := range text.Tokens(s) {
		if !text.StopWord(token) && !text.Filler(token) {
			words = append(words, text.Stem(token))
		}
	}
	return words
}
