package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// crossEncoder scores a text by its length, a tenth for each byte, and answers
// the longest first, as endpoints do.
func crossEncoder(t *testing.T, form RerankForm, scale float64) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		var body struct {
			Model, Query     string
			Texts, Documents []string
			Top              int `json:"top_n"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/rerank" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s %v: %v", r.URL.Path, r.Header, err)
		}
		texts := append(body.Texts, body.Documents...)
		if form == RerankCohere && (body.Model != "m" || body.Top != len(texts)) || body.Query != "q" {
			t.Errorf("asked %+v", body)
		}
		name := map[RerankForm]string{RerankCohere: "relevance_score", RerankTEI: "score"}[form]
		var list []map[string]any
		for i, text := range texts {
			list = append(list, map[string]any{"index": i, name: scale * float64(len(text)), "document": text})
		}
		slices.Reverse(list)
		var answer any = list
		if form == RerankCohere {
			answer = map[string]any{"results": list, "meta": 1}
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server, &calls
}

func newReranker(t *testing.T, cfg RerankConfig, transport http.RoundTripper) *Reranker {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "m"
	}
	r := check.Value(NewReranker(cfg, transport))(t)
	t.Cleanup(func() { r.Close() })
	return r
}

func TestRerankerScores(t *testing.T) {
	texts := []string{"aaa", "a", "aaaaa", "aa"}
	for _, form := range []RerankForm{RerankCohere, RerankTEI} {
		server, calls := crossEncoder(t, form, 0.1)
		for _, path := range []string{"/v1", "/v1/", "/v1/rerank"} {
			r := newReranker(t, RerankConfig{URL: server.URL + path, Form: form, Key: "secret", Batch: 3}, nil)
			calls.Store(0)
			scores, err := r.Score(t.Context(), "q", texts)
			if err != nil || calls.Load() != 2 {
				t.Fatalf("%s: %d calls: %v", form, calls.Load(), err)
			}
			for i, text := range texts {
				if math.Abs(scores[i]-0.1*float64(len(text))) > 1e-9 {
					t.Errorf("%s: %v", form, scores)
				}
			}
		}
	}
}

func TestLogitsArePutOnTheScale(t *testing.T) {
	server, _ := crossEncoder(t, RerankTEI, -2)
	r := newReranker(t, RerankConfig{URL: server.URL + "/v1", Form: RerankTEI, Key: "secret"}, nil)
	scores, err := r.Score(t.Context(), "q", []string{"", "a"})
	if err != nil || scores[0] != 0.5 || math.Abs(scores[1]-0.119) > 0.001 {
		t.Errorf("%v: %v", scores, err)
	}
}

func TestUnusableScoresAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		form   RerankForm
		answer string
		says   string
	}{
		"NaN":             {RerankTEI, `[{"index":0,"score":NaN},{"index":1,"score":1}]`, "not a list of scores"},
		"beyond a number": {RerankTEI, `[{"index":0,"score":1e999},{"index":1,"score":1}]`, "not a list of scores"},
		"a word":          {RerankTEI, `[{"index":0,"score":"NaN"},{"index":1,"score":1}]`, "not a list of scores"},
		"duplicate":       {RerankTEI, `[{"index":1,"score":1},{"index":1,"score":1}]`, "two scores"},
		"missing":         {RerankTEI, `[{"index":1,"score":1}]`, "1 scores for 2"},
		"out of range":    {RerankTEI, `[{"index":2,"score":1},{"index":1,"score":1}]`, "text 2 of 2"},
		"negative":        {RerankTEI, `[{"index":-1,"score":1},{"index":1,"score":1}]`, "text -1"},
		"no index":        {RerankTEI, `[{"score":1},{"index":1,"score":1}]`, "lacks"},
		"an error in 200": {RerankCohere, `{"error":"overloaded"}`, "0 scores"},
		"no JSON":         {RerankCohere, `secret text`, "not a list of scores"},
		"huge":            {RerankTEI, `[` + strings.Repeat(" ", 1<<20) + `]`, "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, test.answer)
			}))
			defer server.Close()
			r := newReranker(t, RerankConfig{URL: server.URL, Form: test.form}, nil)
			scores, err := r.Score(t.Context(), "q", []string{"a", "b"})
			if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v: %v", scores, err)
			}
		})
	}
}

// After a failure nobody waits for the endpoint for a while, nor before the time
// that it asks for.
func TestAFailingCrossEncoderCoolsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, status := 0, http.StatusTooManyRequests
		transport := transport(func(*http.Request) (*http.Response, error) {
			calls++
			return respond(status, `[{"index":0,"score":1}]`, "Retry-After", "60"), nil
		})
		r := newReranker(t, RerankConfig{URL: "http://h", Form: RerankTEI}, transport)
		ask := func() error {
			_, err := r.Score(t.Context(), "q", []string{"a"})
			return err
		}
		for range 3 {
			if ask() == nil {
				t.Error("answered")
			}
		}
		time.Sleep(10 * time.Second) // rested, but the endpoint asked for more
		if err := ask(); err == nil || calls != 1 {
			t.Errorf("%d calls: %v", calls, err)
		}
		time.Sleep(time.Minute)
		status = http.StatusOK
		if err := ask(); err != nil || calls != 2 {
			t.Errorf("%d calls: %v", calls, err)
		}
	})
}

func TestAHangingCrossEncoderCoolsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		r := newReranker(t, RerankConfig{URL: "http://h", Form: RerankTEI}, transport(func(req *http.Request) (*http.Response, error) {
			calls++
			<-req.Context().Done()
			return nil, req.Context().Err()
		}))
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := r.Score(ctx, "q", []string{"a"}); err == nil {
				t.Error("answered")
			}
			cancel()
		}
		if calls != 1 {
			t.Errorf("asked %d times", calls)
		}
	})
}

// Who has less time than callers have, or waits for a turn in vain, says nothing of the
// endpoint: others ask it all the same.
func TestAHurriedCallStartsNoCooldown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReranker(t, RerankConfig{URL: "http://h", Form: RerankTEI, Parallel: 1, Budget: 500 * time.Millisecond}, transport(func(req *http.Request) (*http.Response, error) {
			select {
			case <-req.Context().Done():
				return nil, req.Context().Err()
			case <-time.After(300 * time.Millisecond):
			}
			return respond(http.StatusOK, `[{"index":0,"score":1}]`), nil
		}))
		ask := func(within time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			_, err := r.Score(ctx, "q", []string{"a"})
			return err
		}
		if err := ask(30 * time.Millisecond); err == nil {
			t.Error("answered before it could")
		}
		if err := ask(500 * time.Millisecond); err != nil {
			t.Errorf("after one in a hurry: %v", err)
		}
		r.slots <- struct{}{}
		if err := ask(500 * time.Millisecond); !errors.Is(err, errNoSlot) {
			t.Errorf("without a turn: %v", err)
		}
		<-r.slots
		if err := ask(500 * time.Millisecond); err != nil {
			t.Errorf("after one without a turn: %v", err)
		}
	})
}

func TestWrongRerankerSettingsAreRefused(t *testing.T) {
	for _, cfg := range []RerankConfig{
		{URL: "http://h", Form: "other", Name: "m"}, {URL: "http://h", Form: RerankCohere}, {URL: "h", Form: RerankTEI},
		{URL: "http://key@h", Form: RerankTEI},
	} {
		if _, err := NewReranker(cfg, nil); err == nil {
			t.Errorf("%+v: taken", cfg)
		}
	}
}

// FuzzRerankAnswer: whatever is taken has a finite score for every text.
func FuzzRerankAnswer(f *testing.F) {
	f.Add(`[{"index":0,"score":1},{"index":1,"score":-2}]`)
	f.Add(`{"results":[{"index":1,"relevance_score":0.5},{"index":0,"relevance_score":1}]}`)
	f.Add(`[{"index":0,"score":1},{"index":0,"score":1}]`)
	f.Fuzz(func(t *testing.T, body string) {
		scores := []float64{math.NaN(), math.NaN()}
		if decodeScores([]byte(body), scores) != nil {
			return
		}
		for _, s := range new(Reranker).probabilities(scores) {
			if !(s >= 0 && s <= 1) {
				t.Fatalf("%v of %q", scores, body)
			}
		}
	})
}

// An endpoint that has once answered with a logit means logits by small scores, too.
func TestTheScaleOfARerankerDoesNotChange(t *testing.T) {
	server, _ := crossEncoder(t, RerankTEI, 0.5)
	r := newReranker(t, RerankConfig{URL: server.URL + "/v1", Form: RerankTEI, Key: "secret"}, nil)
	check.Value(r.Score(t.Context(), "q", []string{"a", "aaaaaa"}))(t) // 0.5 and 3
	if got := check.Value(r.Score(t.Context(), "q", []string{"a"}))(t); math.Abs(got[0]-0.6225) > 1e-4 {
		t.Errorf("%v for the logit 0.5", got)
	}
}
