package httpserver

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/tracingtest"
)

func passing(t *testing.T, peer http.HandlerFunc) *httptest.Server {
	t.Helper()
	back := httptest.NewServer(peer)
	t.Cleanup(back.Close)
	front := httptest.NewServer(limitBody(forwarding(t, back.URL)))
	t.Cleanup(front.Close)
	return front
}

// A peer that answers at once must not cost the answer.
func TestAnAnswerArrivesHoweverSoonItComes(t *testing.T) {
	front := passing(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength)
		_, _ = io.WriteString(w, strings.Repeat("found ", 2000))
	})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 300 {
				resp, err := front.Client().Post(front.URL, "application/json", strings.NewReader(`{"query":"a"}`))
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || len(body) != 12000 {
					t.Errorf("%d bytes of the answer: %v", len(body), err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// What the peer refuses before it has read all of it is refused, and not taken for a
// peer that does not answer.
func TestARefusalArrivesHoweverLargeTheBody(t *testing.T) {
	api, mux := NewAPI("test")
	huma.Register(api, huma.Operation{Security: identity.ProvenOtherwise(), Method: http.MethodPost, Path: "/", MaxBodyBytes: 100 << 10}, func(context.Context, *struct {
		Body struct{ Query string }
	}) (*struct{}, error) {
		return nil, nil
	})
	front := passing(t, limitBody(mux).ServeHTTP)
	body := `{"query":"` + strings.Repeat("ferry ", 200_000) + `"}`
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				resp, err := front.Client().Post(front.URL, "application/json", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusRequestEntityTooLarge {
					t.Errorf("status %d", resp.StatusCode)
					return
				}
			}
		})
	}
	wg.Wait()
}

// The peer closes connections as they are used again, as it does when it stops:
// nothing that may be repeated fails for it, and nothing else is repeated.
func TestConnectionsThatThePeerCloses(t *testing.T) {
	var posted atomic.Int32
	back := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/v1/weights:rollback" {
			posted.Add(1)
		}
		if n != r.ContentLength {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	back.Config.IdleTimeout = time.Millisecond
	back.Start()
	t.Cleanup(back.Close)
	front := httptest.NewServer(limitBody(forwarding(t, back.URL)))
	t.Cleanup(front.Close)
	large := strings.Repeat("x", 3*smallBody)
	const rounds = 40
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range rounds {
				for path, body := range map[string]string{"/v1/search": `{"query":"a"}`, "/v1/weights:rollback": "", "/v1/tools:batch": large} {
					resp, err := front.Client().Post(front.URL+path, "application/json", strings.NewReader(body))
					if err != nil {
						t.Error(err)
						return
					}
					answer, _ := io.ReadAll(resp.Body)
					resp.Body.Close()
					if resp.StatusCode != http.StatusOK {
						t.Errorf("%s: %d %s", path, resp.StatusCode, answer)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := posted.Load(); n != 8*rounds {
		t.Errorf("%d requests that must not be repeated arrived as %d", 8*rounds, n)
	}
}

// Lines are answered while more of them are being sent.
func TestABodyFlowsWhileItsAnswerDoes(t *testing.T) {
	front := passing(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if err := control.EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			_, _ = io.WriteString(w, "got "+lines.Text()+"\n")
			_ = control.Flush()
		}
	})
	body, input := io.Pipe()
	sent := make(chan struct{})
	go func() {
		_, _ = io.WriteString(input, "one\n")
		<-sent
		_, _ = io.WriteString(input, "two\n")
		input.Close()
	}()
	resp := check.Value(front.Client().Post(front.URL, "application/x-ndjson", body))(t)
	defer resp.Body.Close()
	answers := bufio.NewReader(resp.Body)
	for _, want := range []string{"got one\n", "got two\n"} {
		got, err := answers.ReadString('\n')
		if err != nil || got != want {
			t.Fatalf("got %q, %v", got, err)
		}
		if want == "got one\n" {
			close(sent)
		}
	}
}

// A caller's trace, and the span within which it calls.
const (
	callersTrace = "00000000000000000000000000000a01"
	callersSpan  = "00000000000000b1"
)

func TestTheTraceIsPassedOnToPeers(t *testing.T) {
	spans := tracingtest.Record(t)
	seen := make(chan http.Header, 1)
	back := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header }))
	defer back.Close()
	ctx, root := spans.Root(t.Context())
	r := httptest.NewRequestWithContext(ctx, "GET", "http://localhost/v1/tools", nil)
	r.Header.Set("traceparent", "00-"+callersTrace+"-"+callersSpan+"-01")
	forwarding(t, back.URL).ServeHTTP(httptest.NewRecorder(), r)
	root.End()
	passed := spans.Named("pass on to query")
	if len(passed) != 1 || passed[0].Parent().SpanID() != root.SpanContext().SpanID() {
		t.Fatalf("%d spans", len(passed))
	}
	sc := passed[0].SpanContext()
	if got := (<-seen).Values("traceparent"); len(got) != 1 || got[0] != "00-"+sc.TraceID().String()+"-"+sc.SpanID().String()+"-01" {
		t.Errorf("the peer is told %q", got)
	}
}

func TestOnlyReadsAndFeedbackAreRepeated(t *testing.T) {
	for call, want := range map[string]bool{
		"GET /v1/tools": true, "POST /v1/search": true, "POST /v1/feedback": true, "PUT /v1/tools/a": false, "DELETE /v1/tools/a": false, "POST /v1/tools:batch": false,
	} {
		method, path, _ := strings.Cut(call, " ")
		if got := repeatable(httptest.NewRequest(method, "http://localhost"+path, strings.NewReader("{}"))); got != want {
			t.Errorf("%s: %v", call, got)
		}
	}
}

// A field that a client names in Connection ends at the proxy. Without its credential, a
// request would be one of the proxy itself to a peer that knows it by its certificate.
func TestNoClientTakesTheCredentialFromWhatIsPassedOn(t *testing.T) {
	seen := make(chan string, 1)
	front := passing(t, func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header.Get("Authorization") })
	r := check.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+"/v1/tools", nil))(t)
	r.Header.Set("Authorization", "Bearer reader")
	r.Header.Set("Connection", "Authorization")
	resp := check.Value(front.Client().Do(r))(t)
	resp.Body.Close()
	if got := <-seen; got != "Bearer reader" {
		t.Errorf("the peer sees the credential %q", got)
	}
}
