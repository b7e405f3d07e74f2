package httpserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/quota"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// ask sends a request of TENANT, or TENANT/SUBJECT, through a limiter.
func ask(t *testing.T, h http.Handler, who, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	tenant, subject, _ := strings.Cut(who, "/")
	caller := identity.Caller{Tenant: tenant, Subject: subject, Role: identity.Calling}
	return served(h, httptest.NewRequestWithContext(identity.With(t.Context(), caller), method, path, nil))
}

// all is a limit of every tenant.
func all(n int) quota.Quota { return quota.Quota{"": n} }

func answering(l Limits) http.Handler {
	return NewLimiter(l, prometheus.NewRegistry()).wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
}

func TestATenantMayUseALimitAtOnceAndThenAtItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := answering(Limits{Searches: all(30)})
		for i := range 30 {
			if rec := ask(t, h, "a", "POST", "/v1/search"); rec.Code != 200 {
				t.Fatalf("search %d: %d", i, rec.Code)
			}
		}
		rec := ask(t, h, "a", "POST", "/v1/search")
		var problem struct {
			Type     string   `json:"type"`
			Status   int      `json:"status"`
			Violated []string `json:"violated-policies"`
		}
		check.OK(t, json.Unmarshal(rec.Body.Bytes(), &problem))
		if rec.Code != 429 || rec.Header().Get("Retry-After") != "2" || rec.Header().Get("Content-Type") != "application/problem+json" ||
			problem.Type != quotaExceeded || problem.Status != 429 || !slices.Equal(problem.Violated, []string{"searches"}) {
			t.Errorf("%d %v %s", rec.Code, rec.Header(), rec.Body)
		}
		if got := rec.Header().Get("RateLimit-Policy") + " " + rec.Header().Get("RateLimit"); got != `"searches";q=30;w=60 "searches";r=0;t=2` {
			t.Error(got)
		}
		for _, method := range []string{"GET", "HEAD"} {
			if rec := ask(t, h, "a", method, "/v1/search?q=a"); rec.Code != 429 {
				t.Errorf("%s of a search: %d", method, rec.Code)
			}
		}
		if rec := ask(t, h, "b", "POST", "/v1/search"); rec.Code != 200 {
			t.Errorf("another tenant: %d", rec.Code)
		}
		if rec := ask(t, h, "a", "GET", "/v1/tools"); rec.Code != 200 || rec.Header().Get("RateLimit") != "" {
			t.Errorf("what has no limit: %d %v", rec.Code, rec.Header())
		}
		time.Sleep(2 * time.Second)
		for _, want := range []int{200, 429} {
			if rec := ask(t, h, "a", "POST", "/v1/search"); rec.Code != want {
				t.Errorf("after what Retry-After says: %d, want %d", rec.Code, want)
			}
		}
	})
}

func TestEveryLimitOfARequestCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := answering(Limits{Requests: all(3), Searches: all(5), Feedback: all(1)})
		rec := ask(t, h, "a", "POST", "/v1/search")
		if got := rec.Header().Values("RateLimit"); !slices.Equal(got, []string{`"requests";r=2;t=20`, `"searches";r=4;t=12`}) {
			t.Errorf("%q", got)
		}
		for i, want := range []int{200, 429} {
			if rec := ask(t, h, "a", "POST", "/v1/feedback"); rec.Code != want {
				t.Errorf("feedback %d: %d, want %d", i, rec.Code, want)
			}
		}
		for _, want := range []int{200, 429} { // what was refused is not counted
			if rec := ask(t, h, "a", "POST", "/v1/search"); rec.Code != want {
				t.Errorf("a search after it: %d, want %d", rec.Code, want)
			}
		}
		if rec := ask(t, h, "a", "GET", "/readyz"); rec.Code != 200 {
			t.Errorf("health: %d", rec.Code)
		}
	})
}

func TestACallerIsLimitedToItsShareOfTheTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := answering(Limits{Searches: quota.Quota{"": 10, "big": 100}, SubjectShare: quota.Quota{"": 40, "one": 100}})
		count := func(who string, tries int) (answered int, last *httptest.ResponseRecorder) {
			for range tries {
				if last = ask(t, h, who, "POST", "/v1/search"); last.Code == 200 {
					answered++
				}
			}
			return answered, last
		}
		for _, tc := range []struct {
			who  string
			want int
		}{{"a/x", 4}, {"a/y", 4}, {"a/z", 2}, {"b/x", 4}, {"big/x", 40}, {"one/x", 10}} {
			if got, last := count(tc.who, 50); got != tc.want || last.Code != 429 {
				t.Errorf("%s: %d, want %d; then %d", tc.who, got, tc.want, last.Code)
			}
		}
		_, last := count("a/x", 1)
		if got := last.Header().Values("RateLimit-Policy"); !slices.Equal(got, []string{`"searches-subject";q=4;w=60`, `"searches";q=10;w=60`}) {
			t.Errorf("%q", got)
		}
		if got := last.Header().Values("RateLimit"); !slices.Equal(got, []string{`"searches-subject";r=0;t=15`, `"searches";r=0;t=6`}) || last.Header().Get("Retry-After") != "15" {
			t.Errorf("%q %v", got, last.Header())
		}
		if !strings.Contains(last.Body.String(), `["searches-subject","searches"]`) || !strings.Contains(last.Body.String(), "4 searches a minute of one caller") {
			t.Error(last.Body)
		}
		time.Sleep(15 * time.Second) // the refused ones have taken nothing
		if got, _ := count("a/x", 1); got != 1 {
			t.Error("refused after what Retry-After said")
		}
	})
}

func TestFullBucketsAreEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(Limits{Requests: all(1_000_000), SubjectShare: all(1)}, prometheus.NewRegistry())
		h := l.wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		var last *httptest.ResponseRecorder
		for i := range 3 * maxSubjects {
			last = ask(t, h, fmt.Sprintf("a/%d", i), "GET", "/v1/tools")
		}
		if n := len(l.tenants["a"].subjects); n != maxSubjects {
			t.Errorf("%d callers have buckets", n)
		}
		if got := last.Header().Get("RateLimit"); got != fmt.Sprintf(`"requests-subject";r=%d;t=1`, 10_000-2*maxSubjects) {
			t.Errorf("the others share their buckets: %s", got)
		}
		time.Sleep(time.Minute)
		ask(t, h, "a/new", "GET", "/v1/tools")
		if n := len(l.tenants["a"].subjects); n != 1 {
			t.Errorf("%d callers have buckets, all but one of them full", n)
		}
		for i := range 3 * maxSubjects {
			ask(t, h, fmt.Sprint(i), "GET", "/v1/tools")
			time.Sleep(time.Second)
		}
		if n := len(l.tenants); n > maxSubjects+1 {
			t.Errorf("%d tenants have buckets", n)
		}
	})
}

func TestARequestWithoutCredentialCountsAgainstNoTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := answering(Limits{Requests: all(2)})
		for _, want := range []int{200, 200, 429} {
			rec := served(h, httptest.NewRequestWithContext(t.Context(), "POST", "/v1/sources/a:event", nil))
			if rec.Code != want {
				t.Errorf("%d, want %d", rec.Code, want)
			}
		}
		if rec := ask(t, h, identity.DefaultTenant, "GET", "/v1/tools"); rec.Code != 200 {
			t.Errorf("a caller of the default tenant: %d", rec.Code)
		}
	})
}

func TestABodyIsReadToItsEndAndTheNextOneWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewLimiter(Limits{Bytes: all(600)}, prometheus.NewRegistry()).wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n, err := io.Copy(io.Discard, r.Body); n != 900 || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
		}))
		send := func() *httptest.ResponseRecorder {
			body := io.MultiReader(strings.NewReader(strings.Repeat("x", 900))) // of no known length
			return served(h, httptest.NewRequestWithContext(t.Context(), "POST", "/v1/tools:batch", body))
		}
		if rec := send(); rec.Code != 200 || rec.Header().Get("RateLimit-Policy") != `"bytes";q=600;w=60;qu="content-bytes"` {
			t.Errorf("%d %v", rec.Code, rec.Header())
		}
		rec := send()
		if rec.Code != 429 || rec.Header().Get("Retry-After") != "31" || rec.Header().Get("RateLimit") != `"bytes";r=0;t=31` {
			t.Errorf("%d %v", rec.Code, rec.Header())
		}
		time.Sleep(31 * time.Second)
		if rec := send(); rec.Code != 200 {
			t.Errorf("%d", rec.Code)
		}
	})
}

func TestAForwardedAnswerHasTheLimitsOfThePeer(t *testing.T) {
	peer := httptest.NewServer(answering(Limits{Searches: all(5)}))
	defer peer.Close()
	h := NewLimiter(Limits{Requests: all(100), Searches: all(90)}, prometheus.NewRegistry()).wrap(forwarding(t, peer.URL))
	rec := ask(t, h, "a", "POST", "/v1/search")
	if got := rec.Header().Values("RateLimit"); rec.Code != 200 || !slices.Equal(got, []string{`"searches";r=4;t=12`}) {
		t.Errorf("%d %q", rec.Code, got)
	}
}

// What comes another way counts with what comes over HTTP.
func TestRequestsFromOtherProtocolsCountAgainstTheSameLimits(t *testing.T) {
	l := NewLimiter(Limits{Searches: all(3), Bytes: all(100)}, prometheus.NewRegistry())
	h := l.wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	ann := identity.With(t.Context(), identity.Caller{Tenant: "a", Subject: "ann", Role: identity.Reader})
	other := identity.With(t.Context(), identity.Caller{Tenant: "b", Role: identity.Reader})
	for range 2 {
		check.Value(l.Take(ann, "/v1/search", 10))(t)
	}
	search := func() int {
		return served(h, httptest.NewRequestWithContext(ann, http.MethodPost, "/v1/search", nil)).Code
	}
	if first, second := search(), search(); first != 200 || second != 429 {
		t.Errorf("over HTTP %d, then %d", first, second)
	}
	if again, err := l.Take(ann, "/v1/search", 0); err == nil || again < 1 || again > 20 || !strings.Contains(err.Error(), "3 searches a minute") {
		t.Errorf("again in %d s: %v", again, err)
	}
	if _, err := l.Take(ann, "/v1/embed", 100); err != nil {
		t.Errorf("what is no search: %v", err)
	}
	if _, err := l.Take(ann, "/v1/embed", 0); err == nil {
		t.Error("bytes are not counted")
	}
	if _, err := l.Take(other, "/v1/search", 0); err != nil {
		t.Errorf("another tenant: %v", err)
	}
}
