package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
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
	// or that of the call itself.
	URL  string
	Form RerankForm
	Key  string // sent as a bearer token; may be empty
	Name string // of the model; TEI has one alone

	Batch    int // texts in a request; 32 for TEI, as it is set by default, else 128
	Parallel int // requests at once; 8

	// Patience is how long callers wait as a rule. That one who has less time gets no
	// answer says nothing of the endpoint.
	Patience time.Duration
}

// Reranker is a cross-encoder behind an endpoint. It asks once, because somebody
// waits, and after a failure not at all for a while. It may be used concurrently.
type Reranker struct {
	cfg    RerankConfig
	url    *url.URL
	client *http.Client
	slots  chan struct{} // one for each request under way
	asked  atomic.Int64  // Unix nanoseconds until which the endpoint wants to be left alone
	rest   rest
}

// NewReranker returns a cross-encoder that is asked through the transport; nil is
// Go's default. It sends nothing.
func NewReranker(cfg RerankConfig, transport http.RoundTripper) (*Reranker, error) {
	switch {
	case cfg.Form != RerankCohere && cfg.Form != RerankTEI:
		return nil, fmt.Errorf("openai: %q is no form of reranking", cfg.Form)
	case cfg.Form == RerankCohere && cfg.Name == "":
		return nil, errors.New("openai: no name of a model")
	case min(cfg.Batch, cfg.Parallel) < 0:
		return nil, errors.New("openai: a limit is negative")
	}
	u, err := address(cfg.URL, "http://host:port/v1")
	if err != nil {
		return nil, err
	}
	u.Path, u.RawPath = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/rerank")+"/rerank", ""
	if cfg.Batch == 0 {
		cfg.Batch = 128
		if cfg.Form == RerankTEI {
			cfg.Batch = 32
		}
	}
	if cfg.Parallel == 0 {
		cfg.Parallel = 8
	}
	return &Reranker{cfg: cfg, url: u, client: newHTTP(transport, cfg.Parallel), slots: make(chan struct{}, cfg.Parallel)}, nil
}

// Close ends idle connections. Calls that are under way go on.
func (r *Reranker) Close() error {
	r.client.CloseIdleConnections()
	return nil
}

// Score returns for each text, in order, how relevant it is to the query, from 0
// to 1. Where the endpoint answers with logits, they are put on that scale.
func (r *Reranker) Score(ctx context.Context, query string, texts []string) ([]float64, error) {
	if err := r.rest.failed(); err != nil {
		return nil, fmt.Errorf("a moment ago: %w", err)
	}
	start := time.Now()
	scores := make([]float64, len(texts))
	group, gctx := errgroup.WithContext(ctx)
	for from := 0; from < len(texts); from += r.cfg.Batch {
		to := min(from+r.cfg.Batch, len(texts))
		group.Go(func() error { return r.request(gctx, query, texts[from:to], scores[from:to]) })
	}
	err := group.Wait()
	if err != nil {
		err = fmt.Errorf("%s: %w", shown(r.url), err)
	}
	if took := time.Since(start); !errors.Is(ctx.Err(), context.Canceled) && !r.ownFault(err, took) {
		r.rest.record(err, took)
	}
	if err != nil {
		return nil, err
	}
	return shares(scores), nil
}

// errCrowded says that so many requests are under way that there was no time for another.
var errCrowded = errors.New("too many requests are under way")

// ownFault reports whether it was not the endpoint that failed: the caller waited much
// shorter than callers do, or for its turn alone.
func (r *Reranker) ownFault(err error, took time.Duration) bool {
	return errors.Is(err, errCrowded) || errors.Is(err, context.DeadlineExceeded) && took < r.cfg.Patience/2
}

// shares puts scores beyond 0 and 1, which are logits, between them.
func shares(scores []float64) []float64 {
	for _, s := range scores {
		if s < 0 || s > 1 {
			for i := range scores {
				scores[i] = 1 / (1 + math.Exp(-scores[i]))
			}
			break
		}
	}
	return scores
}

// request asks for the scores of one batch.
func (r *Reranker) request(ctx context.Context, query string, texts []string, scores []float64) error {
	if wait := time.Until(time.Unix(0, r.asked.Load())); wait > 0 {
		return &problem{kind: busy, after: wait, err: fmt.Errorf("it asked not to be asked for another %s", wait.Round(time.Second))}
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errCrowded, ctx.Err())
	}
	body, err := r.body(query, texts)
	if err != nil {
		return err
	}
	resp, err := post(ctx, r.client, r.url, r.cfg.Key, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return r.read(resp, int64(len(body)), scores)
}

func (r *Reranker) body(query string, texts []string) ([]byte, error) {
	if r.cfg.Form == RerankTEI {
		return json.Marshal(struct {
			Query    string   `json:"query"`
			Texts    []string `json:"texts"`
			Truncate bool     `json:"truncate"`
		}{query, texts, true})
	}
	return json.Marshal(struct {
		Model     string   `json:"model"`
		Query     string   `json:"query"`
		Documents []string `json:"documents"`
		Top       int      `json:"top_n"`
	}{r.cfg.Name, query, texts, len(texts)})
}

// read puts the scores of an answer into their places. Some endpoints repeat the
// documents in it.
func (r *Reranker) read(resp *http.Response, sent int64, scores []float64) error {
	if resp.StatusCode != http.StatusOK {
		err := ofStatus(resp, r.cfg.Key)
		if p, ok := asProblem(err); ok && p.after > 0 {
			r.asked.Store(time.Now().Add(p.after).UnixNano())
		}
		return err
	}
	if err := isJSON(resp.Header.Get("Content-Type")); err != nil {
		return err
	}
	limit := 4*sent + int64(len(scores))*1024 + bytesBeside
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return failed("read the answer: %w", err)
	}
	if int64(len(body)) > limit {
		return unfit("the answer to %d texts is longer than %d bytes", len(scores), limit)
	}
	return r.decode(body, scores)
}

// judgement is one entry of an answer, in both forms.
type judgement struct {
	Index     *int     `json:"index"`
	Relevance *float64 `json:"relevance_score"`
	Score     *float64 `json:"score"`
}

// decode takes an answer that has every text once with a finite score, and no
// other.
func (r *Reranker) decode(body []byte, scores []float64) error {
	var list []judgement
	var err error
	if r.cfg.Form == RerankTEI {
		err = json.Unmarshal(body, &list)
	} else {
		var answer struct {
			Results []judgement `json:"results"`
		}
		err = json.Unmarshal(body, &answer)
		list = answer.Results
	}
	if err != nil {
		return unfit("the answer is not of the form %q", r.cfg.Form) // the decoder's words may repeat a text
	}
	if len(list) != len(scores) {
		return unfit("%d scores for %d texts", len(list), len(scores))
	}
	seen := make([]bool, len(scores))
	for _, j := range list {
		score := j.Relevance
		if r.cfg.Form == RerankTEI {
			score = j.Score
		}
		switch {
		case j.Index == nil || score == nil:
			return unfit("an entry of the answer lacks its index or its score")
		case *j.Index < 0 || *j.Index >= len(scores):
			return unfit("the answer has a score for text %d of %d", *j.Index, len(scores))
		case seen[*j.Index]:
			return unfit("the answer has two scores for text %d", *j.Index)
		case math.IsNaN(*score) || math.IsInf(*score, 0):
			return unfit("the score of text %d is not finite", *j.Index)
		}
		seen[*j.Index], scores[*j.Index] = true, *score
	}
	return nil
}
