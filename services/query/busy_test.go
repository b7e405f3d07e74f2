package query

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/search"
)

func TestARefusedSearchIsAnsweredWhenToComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, tool("a", "", 1))
		b.build(t, Config{Places: 1, MaxWait: time.Millisecond})
		b.index.takes = time.Second
		b.search(t, schema.SearchRequest{}) // after this, a second one would wait too long
		done := make(chan schema.SearchResponse)
		go func() { done <- b.search(t, schema.SearchRequest{}) }()
		synctest.Wait()
		req := httptest.NewRequest("POST", "/v1/search", strings.NewReader(`{"query":"q"}`))
		req.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		b.handler().ServeHTTP(rec, req)
		if rec.Code != 503 || rec.Header().Get("Retry-After") != "1" || !strings.Contains(rec.Body.String(), "wait for their turn") {
			t.Errorf("%d %v %s", rec.Code, rec.Header(), rec.Body)
		}
		if _, err := b.Handle(t.Context(), testCaller, []byte(`{"query":"q"}`)); search.Status(err) != 503 {
			t.Errorf("over NATS: %v", err)
		}
		<-done
		b.search(t, schema.SearchRequest{})
		if refused := b.metric(t, "toolstream_searches_total", "refused"); refused != 2 {
			t.Errorf("%v are counted as refused", refused)
		}
	})
}

// TestAPlaceIsNotHeldWhileAnotherProcessWorks lets searches that take 100 ms elsewhere and
// 10 ms here come together: here they work one after the other.
func TestAPlaceIsNotHeldWhileAnotherProcessWorks(t *testing.T) {
	const searches = 10
	tests := map[string]struct {
		change func(*bench)
		took   time.Duration
	}{
		"a language model": {func(b *bench) { b.rewriter = &fakeRewriter{answer: sampleRewrite(), takes: 100 * time.Millisecond} }, 200 * time.Millisecond},
		"an endpoint of vectors": {func(b *bench) {
			b.embedder.takes = 100 * time.Millisecond
			b.elsewhere = true
		}, 200 * time.Millisecond},
		"a model of this process": {func(b *bench) { b.embedder.takes = 100 * time.Millisecond }, searches * 110 * time.Millisecond},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, tool("a", "", 1))
				b.index.takes = 10 * time.Millisecond
				test.change(b)
				b.build(t, Config{Places: 1, MaxWait: time.Minute})
				start := time.Now()
				ended := make(chan error, searches)
				for range searches {
					go func() {
						_, err := b.Search(t.Context(), testCaller, schema.SearchRequest{Query: "weather"})
						ended <- err
					}()
				}
				for range searches {
					check.OK(t, <-ended)
				}
				if took := time.Since(start); took != test.took {
					t.Errorf("took %s, want %s", took, test.took)
				}
			})
		})
	}
}
