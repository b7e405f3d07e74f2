package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc/pool"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// RerankForm is how a cross-encoder is asked.
type RerankForm string

// The forms.
const (
	RerankCohere RerankForm = "cohere" // also Jina's and vLLM's
	RerankTEI    RerankForm = "tei"
)

// RerankConfig says which cross-encoder is asked, and how. The zero value of a
// limit means its default.
type RerankConfig struct {
	// URL is the address that "rerank" is appended to ("https://api.jina.ai/v1"),
	// or the address of the call itself.
	URL  string
	Form RerankForm
	Key  string // sent as a bearer token; may be empty
	Name string // of the model; TEI has one alone

	Batch    int // texts in a request; 32 for TEI, as it is set by default, else 128
	Parallel int // requests at once; 8

	// Budget is the time that callers have as a rule. A caller with less than half
	// of it that gets no answer says nothing about the endpoint.
	Budget time.Duration
}

// Reranker is a cross-encoder behind an endpoint. It asks once, because a user
// waits, and after a failure not at all for a while. It may be used concurrently.
type Reranker struct {
	endpoint
	cfg      RerankConfig
	slots    chan struct{} // one for each request under way
	cooldown cooldown
	logits   atomic.Bool // a score was beyond 0 and 1, so all scores are logits
}

// NewReranker returns a cross-encoder that is asked through the transport; nil is
// Go's default. It sends nothing.
func NewReranker(cfg RerankConfig, transport http.RoundTripper) (*Reranker, error) {
	switch {
	case cfg.Form != RerankCohere && cfg.Form != RerankTEI:
		return nil, fmt.Errorf("openai: %q is not a form of reranking", cfg.Form)
	case cfg.Form == RerankCohere && cfg.Name == "":
		return nil, errors.New("openai: no name of a model")
	}
	u, err := parseAddress(cfg.URL, "/rerank")
	if err != nil {
		return nil, err
	}
	batch := 128
	if cfg.Form == RerankTEI {
		batch = 32
	}
	cfg.Batch = cmp.Or(cfg.Batch, batch)
	cfg.Parallel = cmp.Or(cfg.Parallel, 8)
	return &Reranker{
		endpoint: newEndpoint(u, cfg.Key, transport, cfg.Parallel),
		cfg:      cfg, slots: make(chan struct{}, cfg.Parallel),
	}, nil
}

// Score returns the relevance of each text to the query, in order, from 0 to 1.
// Logits are mapped to that scale.
func (r *Reranker) Score(ctx context.Context, query string, texts []string) ([]float64, error) {
	if err := r.cooldown.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", redacted(r.url), err)
	}
	start := time.Now()
	scores := make([]float64, len(texts))
	group := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	for from := 0; from < len(texts); from += r.cfg.Batch {
		to := min(from+r.cfg.Batch, len(texts))
		group.Go(func(ctx context.Context) error { return r.request(ctx, query, texts[from:to], scores[from:to]) })
	}
	err := group.Wait()
	if err == nil {
		return r.probabilities(scores), nil
	}
	err = fmt.Errorf("%s: %w", redacted(r.url), err)
	took := time.Since(start)
	hurried := errors.Is(err, context.DeadlineExceeded) && took < r.cfg.Budget/2
	if !hurried && !errors.Is(err, errNoSlot) && !errors.Is(ctx.Err(), context.Canceled) {
		r.cooldown.failed(err, took)
	}
	return nil, err
}

// errNoSlot says that no slot became free in time.
var errNoSlot = errors.New("too many requests are under way")

// probabilities puts logits between 0 and 1. An endpoint's scores are logits from its first score
// beyond 0 and 1 on, so that the scale does not differ from search to search.
func (r *Reranker) probabilities(scores []float64) []float64 {
	if slices.ContainsFunc(scores, func(s float64) bool { return s < 0 || s > 1 }) {
		r.logits.Store(true)
	}
	if r.logits.Load() {
		for i := range scores {
			scores[i] = 1 / (1 + math.Exp(-scores[i]))
		}
	}
	return scores
}

// request asks for the scores of one batch.
func (r *Reranker) request(ctx context.Context, query string, texts []string, scores []float64) error {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errNoSlot, ctx.Err())
	}
	body := map[string]any{"model": r.cfg.Name, "query": query, "documents": texts, "top_n": len(texts)}
	if r.cfg.Form == RerankTEI {
		body = map[string]any{"query": query, "texts": texts, "truncate": true}
	}
	limit := bytesBeside + 1024*int64(len(texts))
	for _, s := range texts { // some endpoints repeat the documents
		limit += 8 * int64(len(s)+len(query))
	}
	answer, err := r.post(ctx, body, limit, false)
	if err != nil {
		return err
	}
	return decodeScores(answer, scores)
}

// rerankResult is one entry of an answer, in both forms.
type rerankResult struct {
	Index     *int     `json:"index"`
	Relevance *float64 `json:"relevance_score"`
	Score     *float64 `json:"score"` // TEI
}

// valuesPerScore bounds the JSON values of an answer by the number of its scores: some endpoints
// repeat the documents.
const valuesPerScore = 32

// decodeScores takes an answer that has every text once with a finite score, and no
// other. TEI answers with the list alone.
func decodeScores(body []byte, scores []float64) error {
	var answer struct {
		Results []rerankResult `json:"results"`
	}
	limits := jsondoc.Limits{Bytes: len(body), Nodes: 1000 + valuesPerScore*len(scores)}
	if jsondoc.Unmarshal(body, limits, &answer.Results) != nil && jsondoc.Unmarshal(body, limits, &answer) != nil {
		return misconfiguredf("the answer is not a list of scores") // the decoder's words may repeat a text
	}
	if len(answer.Results) != len(scores) {
		return misconfiguredf("%d scores for %d texts", len(answer.Results), len(scores))
	}
	seen := make([]bool, len(scores))
	for _, j := range answer.Results {
		score := cmp.Or(j.Relevance, j.Score)
		switch {
		case j.Index == nil || score == nil:
			return misconfiguredf("an entry of the answer lacks its index or its score")
		case *j.Index < 0 || *j.Index >= len(scores):
			return misconfiguredf("the answer has a score for text %d of %d", *j.Index, len(scores))
		case seen[*j.Index]:
			return misconfiguredf("the answer has two scores for text %d", *j.Index)
		case math.IsNaN(*score) || math.IsInf(*score, 0):
			return misconfiguredf("the score of text %d is not finite", *j.Index)
		}
		seen[*j.Index], scores[*j.Index] = true, *score
	}
	return nil
}
