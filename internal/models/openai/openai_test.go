package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestEmbed(t *testing.T) {
	for name, path := range map[string]string{"base": "/v1", "slash": "/v1/", "full": "/v1/embeddings"} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			m := s.model(t, func(c *Config) { c.URL, c.Batch, c.Key = s.URL+path, 2, "sk-secret-key" })
			texts := []string{"a", " \t", "b", "c", "", "d", "e"}
			got := check.Value(m.Embed(t.Context(), texts))(t)
			if got[1] != nil || got[4] != nil {
				t.Error("white space has a vector")
			}
			checkVectors(t, slices.DeleteFunc(got, func(v []float32) bool { return v == nil }), []string{"a", "b", "c", "d", "e"})
			if m.Dimensions() != testDimensions {
				t.Errorf("learnt %d dimensions", m.Dimensions())
			}
			if n := len(s.seen()); n != 3 {
				t.Errorf("%d requests for 5 texts in batches of 2", n)
			}
			if s.keys[0] != "Bearer sk-secret-key" {
				t.Errorf("authorized by %q", s.keys[0])
			}
		})
	}
}

func TestBatchesAreBoundedInBytes(t *testing.T) {
	s := newServer(t)
	m := s.model(t, func(c *Config) { c.Bytes, c.Parallel = 10, 1 })
	texts := []string{"1234", "5678", "90", strings.Repeat("x", 30), "ab"}
	got := check.Value(m.Embed(t.Context(), texts))(t)
	checkVectors(t, got, texts)
	var sizes []int
	for _, batch := range s.seen() {
		sizes = append(sizes, len(batch))
	}
	if !slices.Equal(sizes, []int{3, 1, 1}) {
		t.Errorf("batches of %v texts", sizes)
	}
}

func TestPrefixes(t *testing.T) {
	s := newServer(t)
	m := s.model(t, func(c *Config) { c.DocumentPrefix, c.QueryPrefix = "passage: ", "query: " })
	document := check.Value(m.Embed(t.Context(), []string{"weather"}))(t)
	query := check.Value(m.EmbedQueries(t.Context(), []string{"weather"}))(t)
	checkVectors(t, slices.Concat(document, query), []string{"passage: weather", "query: weather"})
	plain, other := s.model(t, nil), s.model(t, func(c *Config) { c.QueryPrefix = "query: " })
	if m.Name() == plain.Name() || plain.Name() != other.Name() {
		t.Errorf("names %q, %q, %q: documents are other vectors by their prefix, and by nothing of queries", m.Name(), plain.Name(), other.Name())
	}
}

// A server that refuses to be asked for a dimension is asked without, also if it takes
// the place of another one.
func TestADimensionIsAskedForWhereItCanBe(t *testing.T) {
	s := newServer(t)
	m := s.model(t, func(c *Config) { c.Dimensions = testDimensions })
	for _, s.knowsDimensions = range []bool{true, false, false} {
		got := check.Value(m.Embed(t.Context(), []string{"a", "b"}))(t)
		checkVectors(t, got, []string{"a", "b"})
		if asked := s.bodies[len(s.bodies)-1]["dimensions"] != nil; asked != s.knowsDimensions {
			t.Errorf("asked for %v dimensions", asked)
		}
	}
}

// Whatever passes is tried again; the pauses are those of a virtual clock.
func TestTransientFailuresAreRetried(t *testing.T) {
	for name, first := range map[string]http.HandlerFunc{
		"429":        func(w http.ResponseWriter, _ *http.Request) { refuse(w, 429, "slow down") },
		"500":        func(w http.ResponseWriter, _ *http.Request) { refuse(w, 500, "oops") },
		"503":        func(w http.ResponseWriter, _ *http.Request) { refuse(w, 503, "loading") },
		"overloaded": func(w http.ResponseWriter, _ *http.Request) { refuse(w, 529, "overloaded") },
		"cut short":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[{"index":0,"embed`) },
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "500")
			fmt.Fprint(w, `{"data"`)
		},
		"hung up":      func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"empty answer": func(http.ResponseWriter, *http.Request) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			var calls atomic.Int32
			s.set(func(w http.ResponseWriter, _ []string) bool {
				if calls.Add(1) == 1 {
					first(w, nil)
					return true
				}
				return false
			})
			m := s.model(t, nil)
			for _, embed := range []func(context.Context, []string) ([][]float32, error){m.Embed, m.EmbedQueries} {
				calls.Store(0)
				got := check.Value(embed(t.Context(), []string{"a", "b"}))(t)
				checkVectors(t, got, []string{"a", "b"})
			}
		})
	}
}

// away is a transport that gives every request the same answer.
func away(status int, header ...string) transport {
	return func(*http.Request) (*http.Response, error) { return respond(status, "", header...), nil }
}

func TestRetriesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		transport   transport
		least, most time.Duration // that documents wait
	}{
		"refused connection": {func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }, 2 * time.Second, 5 * time.Second},
		"busy":               {away(503), 2 * time.Second, 5 * time.Second},
		"asks for a pause":   {away(429, "Retry-After", "3"), 3 * time.Second, 5 * time.Second},
		"asks for too much":  {away(429, "Retry-After", "120"), 0, 0},
		"wrong key":          {away(401), 0, 0},
		"wrong name":         {away(404), 0, 0},
		"moved":              {away(308), 0, 0},
		"refuses everything": {away(400), 0, 0},
		"says nothing":       {func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }, 30 * time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel(t, Config{URL: "http://h/v1?key=sk-secret-key", Key: "sk-secret-key", Name: "m"}, c.transport)
				start := time.Now()
				_, err := m.Embed(t.Context(), []string{"a", "b"})
				if _, permanent := stream.AsPermanent(err); err == nil || permanent || strings.Contains(err.Error(), "sk-secret-key") {
					t.Errorf("error %v; it is no text's fault and holds no secret", err)
				}
				if took := time.Since(start); took < c.least || took > c.most {
					t.Errorf("documents waited %s, want %s to %s", took, c.least, c.most)
				}
			})
		})
	}
}

// What Retry-After asks for is kept beyond the call that was told.
func TestRetryAfterHoldsForLaterCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked int
		m := newModel(t, Config{URL: "http://h/v1", Name: "m"}, transport(func(*http.Request) (*http.Response, error) {
			asked++
			return respond(429, "", "Retry-After", "60"), nil
		}))
		for range 5 {
			if _, err := m.Embed(t.Context(), []string{"a"}); err == nil {
				t.Error("no error")
			}
			time.Sleep(time.Second)
		}
		if asked != 1 {
			t.Errorf("%d requests in the minute in which none was welcome", asked)
		}
		time.Sleep(time.Minute)
		if _, err := m.Embed(t.Context(), []string{"a"}); err == nil || asked != 2 {
			t.Errorf("after it %d requests, error %v", asked, err)
		}
	})
}

// A query fails soon, the next ones at once, and after a while the endpoint is
// asked again.
func TestQueriesDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked int
		m := newModel(t, Config{URL: "http://h/v1", Name: "m"}, transport(func(*http.Request) (*http.Response, error) {
			asked++
			return nil, errors.New("connection refused")
		}))
		start := time.Now()
		if _, err := m.EmbedQueries(t.Context(), []string{"a"}); err == nil || time.Since(start) > time.Second {
			t.Errorf("error %v after %s", err, time.Since(start))
		}
		before := asked
		start = time.Now()
		if _, err := m.EmbedQueries(t.Context(), []string{"b"}); err == nil || asked > before || time.Since(start) > 0 {
			t.Errorf("error %v, %d requests, %s", err, asked-before, time.Since(start))
		}
		time.Sleep(maxCooldown)
		if _, _ = m.EmbedQueries(t.Context(), []string{"b"}); asked == before {
			t.Error("the endpoint is not asked any more")
		}
	})
}

// Documents that the endpoint asks to wait keep no query from it.
func TestRetryAfterOfDocumentsDoesNotBlockQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := false
		m := newModel(t, Config{URL: "http://h/v1", Name: "m", DocumentPrefix: "document: "}, embedding(func(texts []string, _ *http.Request) (*http.Response, error) {
			if busy && strings.HasPrefix(texts[0], "document: ") {
				return respond(429, "", "Retry-After", "60"), nil
			}
			return nil, nil
		}))
		check.Value(m.Embed(t.Context(), []string{"a"}))(t)
		busy = true
		if _, err := m.Embed(t.Context(), []string{"a"}); err == nil {
			t.Fatal("the documents are answered")
		}
		start := time.Now()
		if _, err := m.EmbedQueries(t.Context(), []string{"a"}); err != nil || time.Since(start) > 0 {
			t.Errorf("a query waits %s: %v", time.Since(start), err)
		}
	})
}

func poisoned(texts []string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "poison") })
}

// Whichever way a text is refused or spoilt, it is refused alone and for good.
func TestABadTextIsRefusedAlone(t *testing.T) {
	replace := func(body string) func(http.ResponseWriter, []string) {
		return func(w http.ResponseWriter, _ []string) { fmt.Fprint(w, body) }
	}
	for name, c := range map[string]struct {
		reason string
		answer func(w http.ResponseWriter, texts []string)
	}{
		"400": {reasonRefused, func(w http.ResponseWriter, _ []string) { refuse(w, 400, "no") }},
		"413": {reasonRefused, func(w http.ResponseWriter, _ []string) { refuse(w, 413, "no") }},
		"422": {reasonRefused, func(w http.ResponseWriter, _ []string) { refuse(w, 422, "no") }},
		"500": {reasonRefused, func(w http.ResponseWriter, _ []string) { refuse(w, 500, "unsupported value: NaN") }},
		"nan": {reasonVector, func(w http.ResponseWriter, texts []string) {
			fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(slices.Repeat([]string{`{"embedding":[NaN,0,0,1]}`}, len(texts)), ","))
		}},
		"null": {reasonVector, func(w http.ResponseWriter, texts []string) {
			fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(slices.Repeat([]string{`{"embedding":[null,0,0,1]}`}, len(texts)), ","))
		}},
		"zero": {reasonVector, func(w http.ResponseWriter, texts []string) {
			fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(slices.Repeat([]string{`{"embedding":[0,0,0,0]}`}, len(texts)), ","))
		}},
		"fewer":       {reasonVector, replace(`{"data":[]}`)},
		"more":        {reasonVector, func(w http.ResponseWriter, texts []string) { answer(w, append(texts, "more")) }},
		"same place":  {reasonVector, replace(`{"data":[{"index":0,"embedding":[1,0,0,0]},{"index":0,"embedding":[1,0,0,0]}]}`)},
		"other place": {reasonVector, replace(`{"data":[{"index":7,"embedding":[1,0,0,0]}]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.set(func(w http.ResponseWriter, texts []string) bool {
				if poisoned(texts) {
					c.answer(w, texts)
				}
				return poisoned(texts)
			})
			m := s.model(t, nil)
			_, err := m.Embed(t.Context(), []string{"a", "b", "poison", "c"})
			if stream.Reason(err) != c.reason {
				t.Errorf("error %v has reason %q, want %q", err, stream.Reason(err), c.reason)
			}
			got := check.Value(m.Embed(t.Context(), []string{"a", "b", "c"}))(t)
			checkVectors(t, got, []string{"a", "b", "c"})
		})
	}
}

func TestBatchesThatAreTooLargeAreHalved(t *testing.T) {
	s := newServer(t)
	s.set(func(w http.ResponseWriter, texts []string) bool {
		if len(texts) > 2 {
			refuse(w, 413, "batch size 7 > maximum allowed batch size 2")
		}
		return len(texts) > 2
	})
	texts := []string{"a", "b", "c", "d", "e", "f", "g"}
	got := check.Value(s.model(t, nil).Embed(t.Context(), texts))(t)
	checkVectors(t, got, texts)
}

func TestATextThatIsTooLongIsCut(t *testing.T) {
	s := newServer(t)
	s.set(func(w http.ResponseWriter, texts []string) bool {
		long := slices.ContainsFunc(texts, func(s string) bool { return len(s) > 1500 })
		if long {
			refuse(w, 400, "maximum context length is 512 tokens")
		}
		return long
	})
	long := strings.Repeat("длинный ", 400)
	got := check.Value(s.model(t, nil).Embed(t.Context(), []string{"a", long}))(t)
	batches := s.seen()
	last := batches[len(batches)-1]
	if len(last) != 1 || !strings.HasPrefix(long, last[0]) || len(last[0]) < keepBytes {
		t.Fatalf("the last request holds %q", last)
	}
	checkVectors(t, got, []string{"a", last[0]})
}

func TestMisconfigurationsAreNotRetried(t *testing.T) {
	for name, c := range map[string]struct {
		says   string
		answer func(w http.ResponseWriter)
	}{
		"other dimension": {"3 dimensions, not 4", func(w http.ResponseWriter) { fmt.Fprint(w, `{"data":[{"embedding":[1,0,0]},{"embedding":[1,0,0]}]}`) }},
		"a page": {"is the address right", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<html>")
		}},
		"too long": {"longer than", func(w http.ResponseWriter) {
			fmt.Fprint(w, `{"data":[`, strings.Repeat(" ", 1<<20))
		}},
		"wrong key":                         {"Incorrect API key provided: (key)", func(w http.ResponseWriter) { refuse(w, 401, "Incorrect API key provided: sk-secret-key") }},
		"wrong key where the words are cut": {"401", func(w http.ResponseWriter) { refuse(w, 401, strings.Repeat("x", maxWords-4)+" sk-secret-key") }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			m := s.model(t, func(c *Config) { c.Key = "sk-secret-key" })
			check.OK(t, m.Learn(t.Context()))
			s.set(func(w http.ResponseWriter, _ []string) bool { c.answer(w); return true })
			_, err := m.Embed(t.Context(), []string{"a", "b"})
			if _, permanent := stream.AsPermanent(err); err == nil || permanent || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "sk-") {
				t.Errorf("error %v, want one that says %q and is not permanent", err, c.says)
			}
			if n := len(s.seen()); n != 1 {
				t.Errorf("%d requests: nothing changes by asking again", n)
			}
		})
	}
}

func TestAConfiguredDimensionIsChecked(t *testing.T) {
	s := newServer(t)
	m := s.model(t, func(c *Config) { c.Dimensions = 3 })
	if err := m.Learn(t.Context()); err == nil || !strings.Contains(err.Error(), "4 dimensions, not 3") {
		t.Errorf("error %v", err)
	}
}

func TestCancelling(t *testing.T) {
	s := newServer(t)
	arrived, gone := make(chan struct{}, 8), make(chan struct{})
	s.set(func(_ http.ResponseWriter, _ []string) bool {
		arrived <- struct{}{}
		<-gone
		return true
	})
	defer close(gone)
	m := s.model(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { _, err := m.Embed(ctx, []string{"a"}); done <- err }()
	<-arrived
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestRequestsAtOnceAreBounded(t *testing.T) {
	s := newServer(t)
	var now, most atomic.Int32
	s.set(func(http.ResponseWriter, []string) bool {
		n := now.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		now.Add(-1)
		return false
	})
	m := s.model(t, func(c *Config) { c.Parallel, c.Batch = 3, 1 })
	texts := make([]string, 60)
	for i := range texts {
		texts[i] = fmt.Sprint("text ", i)
	}
	done := make(chan error)
	for range 3 {
		go func() { _, err := m.Embed(t.Context(), texts); done <- err }()
	}
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if most.Load() > 3 {
		t.Errorf("%d requests at once, want at most 3", most.Load())
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		says string
	}{
		{Config{URL: "http://h/v1"}, "name"},
		{Config{URL: "h:8080", Name: "m"}, "has to look like"},
		{Config{URL: "", Name: "m"}, "has to look like"},
		{Config{URL: "http://user:pw@h/v1", Name: "m"}, "its own setting"},
		{Config{URL: "http://h:11434/api/embed", Name: "m"}, "/v1"},
		{Config{URL: "http://h:8080/embed", Name: "m"}, "/v1"},
		{Config{URL: "http://h/v1", Name: "m", Dimensions: 1 << 20}, "dimensions"},
	} {
		if _, err := New(c.cfg, nil); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: error %v, want one that says %q", c.cfg, err, c.says)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "99999": time.Hour} {
		if got := retryAfter(header); got != want {
			t.Errorf("Retry-After %q is %s, want %s", header, got, want)
		}
	}
	if got := retryAfter(time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)); got < 55*time.Second || got > time.Minute {
		t.Errorf("a date in a minute is %s", got)
	}
}

// FuzzDecode holds that no answer makes reading panic, and that what is let
// through are unit vectors, as many as were asked for.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":0,"embedding":[1,0,0,0]}]}`))
	f.Add([]byte(`{"error":"x","detail":[{"msg":1}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m := newModel(t, Config{URL: "http://h/v1", Name: "m", Dimensions: testDimensions}, nil)
		wordsOf(body, "key")
		codeOf(body)
		vectors, err := m.decode(body, 1)
		if err != nil || m.check(vectors) != nil {
			return
		}
		var square float64
		for _, x := range vectors[0] {
			square += float64(x) * float64(x)
		}
		if len(vectors) != 1 || square < 0.999 || square > 1.001 {
			t.Fatalf("%q gives %v", body, vectors)
		}
	})
}

func TestReadyAsksWithoutEmbedding(t *testing.T) {
	status := http.StatusMethodNotAllowed
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			t.Errorf("it is asked by %s", r.Method)
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	m := newModel(t, Config{URL: server.URL, Name: "m", Dimensions: 3}, nil)
	for code, ready := range map[int]bool{200: true, 401: true, 405: true, 500: true, 502: false, 503: false, 504: false} {
		status = code
		if err := m.Ready(t.Context()); (err == nil) != ready {
			t.Errorf("status %d: %v", code, err)
		}
	}
	server.Close()
	if err := m.Ready(t.Context()); err == nil || strings.Contains(err.Error(), "http://") {
		t.Errorf("nobody is there: %v", err)
	}
}

// A batch that takes too long is asked for in parts, and queries, which are short,
// are not kept from a server that answers them.
func TestBatchesThatTakeTooLongGetSmaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		slow := embedding(func(texts []string, r *http.Request) (*http.Response, error) {
			sizes = append(sizes, len(texts))
			select {
			case <-time.After(time.Duration(len(texts)) * 2 * time.Second):
			case <-r.Context().Done():
			}
			return nil, r.Context().Err()
		})
		m := newModel(t, Config{URL: "http://h/v1", Name: "m", Parallel: 1}, slow)
		texts := strings.Fields(strings.Repeat("text ", 64))
		for tries := 1; ; tries++ {
			_, err := m.Embed(t.Context(), texts)
			if err == nil {
				break
			}
			if tries > 3 {
				t.Fatalf("after requests of %v texts: %v", sizes, err)
			}
			check.Value(m.EmbedQueries(t.Context(), []string{"query"}))(t)
		}
		if got := m.batchSize.Load(); got >= 16 || got < 8 {
			t.Errorf("%d texts a request in the end, after %v", got, sizes)
		}
	})
}
