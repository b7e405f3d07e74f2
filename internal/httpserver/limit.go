package httpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/metric"
)

// Limits bound what one tenant may ask of a process in a minute; 0 sets no bound. A tenant
// that was silent may ask for all of a minute at once.
type Limits struct {
	Requests int // of any kind
	Searches int
	Feedback int
	Bytes    int // of bodies
}

// The header fields that tell of limits.
const (
	policyField = "RateLimit-Policy"
	limitField  = "RateLimit"
)

// minute is the window of every limit.
const minute = time.Minute

// limit is one of the limits: a name, what it allows in a minute, and to what it applies.
type limit struct {
	name    string
	quota   int
	bytes   bool // it counts the bytes of bodies, not requests
	applies func(*http.Request) bool
}

// policy is the limit as an item of RateLimit-Policy.
func (l *limit) policy() string {
	policy := fmt.Sprintf("%q;q=%d;w=%.0f", l.name, l.quota, minute.Seconds())
	if l.bytes {
		policy += `;qu="content-bytes"`
	}
	return policy
}

// limiter has a bucket for each limit of each tenant. Tenants are as many as the
// credentials name.
type limiter struct {
	limits  []limit
	refused *prometheus.CounterVec

	mu      sync.Mutex
	buckets map[string][]*rate.Limiter // by whose they are, in the order of limits
}

func newLimiter(l Limits, reg prometheus.Registerer) *limiter {
	posts := func(path string) func(*http.Request) bool {
		return func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == path }
	}
	calls := func(r *http.Request) bool {
		return strings.HasPrefix(r.URL.Path, "/v1/") || strings.HasPrefix(r.URL.Path, RegistryPath)
	}
	out := &limiter{buckets: map[string][]*rate.Limiter{}, refused: metric.At(reg).NewCounterVec("toolstream_http_limited_total",
		"Requests that were refused (429), by the limit of their tenant (requests, searches, feedback, bytes).",
		[]string{"limit"}, []string{"requests", "searches", "feedback", "bytes"})}
	for _, of := range []limit{
		{name: "requests", quota: l.Requests, applies: calls},
		{name: "searches", quota: l.Searches, applies: posts("/v1/search")},
		{name: "feedback", quota: l.Feedback, applies: posts("/v1/feedback")},
		{name: "bytes", quota: l.Bytes, bytes: true, applies: calls},
	} {
		if of.quota > 0 {
			out.limits = append(out.limits, of)
		}
	}
	return out
}

// limited is who shares the buckets of a request.
func limited(ctx context.Context) string { return identity.From(ctx).Tenant }

// of returns somebody's buckets.
func (l *limiter) of(who string) []*rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buckets[who] == nil {
		for _, of := range l.limits {
			l.buckets[who] = append(l.buckets[who], rate.NewLimiter(rate.Limit(float64(of.quota)/minute.Seconds()), of.quota))
		}
	}
	return l.buckets[who]
}

// wrap refuses requests over a limit, and tells of each limit how much of it is left, as
// draft-ietf-httpapi-ratelimit-headers-10 has it.
func (l *limiter) wrap(next http.Handler) http.Handler {
	if len(l.limits) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		buckets, now := l.of(limited(r.Context())), time.Now()
		for i, of := range l.limits {
			if !of.applies(r) {
				continue
			}
			b := buckets[i]
			allowed := of.bytes && b.TokensAt(now) > 0 || !of.bytes && b.AllowN(now, 1)
			left := b.TokensAt(now)
			w.Header().Add(policyField, of.policy())
			w.Header().Add(limitField, fmt.Sprintf("%q;r=%.0f;t=%d", of.name, math.Floor(max(0, left)), seconds(float64(of.quota)-left, b)))
			if !allowed {
				l.refused.WithLabelValues(of.name).Inc()
				writeOverLimit(w, of, seconds(1-left, b))
				return
			}
			if of.bytes {
				r.Body = &counted{r.Body, b}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// counted takes what is read of a body from a bucket, which may be left in debt: a body is
// not cut off, and the next one waits longer.
type counted struct {
	io.ReadCloser
	bucket *rate.Limiter
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	for left, now := n, time.Now(); left > 0; {
		part := min(left, c.bucket.Burst())
		c.bucket.ReserveN(now, part)
		left -= part
	}
	return n, err
}

// seconds returns how long it takes until so many tokens more are in a bucket, rounded up.
func seconds(tokens float64, b *rate.Limiter) int {
	return int(math.Ceil(tokens / float64(b.Limit())))
}

// quotaExceeded is the type of problem that the draft registers.
const quotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded"

// writeOverLimit answers a request that is over a limit.
func writeOverLimit(w http.ResponseWriter, of limit, again int) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", strconv.Itoa(again))
	w.WriteHeader(http.StatusTooManyRequests)
	problem := struct {
		huma.ErrorModel
		Violated []string `json:"violated-policies"`
	}{huma.ErrorModel{
		Type: quotaExceeded, Status: http.StatusTooManyRequests, Title: http.StatusText(http.StatusTooManyRequests),
		Detail: fmt.Sprintf("over the limit of %d %s a minute", of.quota, of.name),
	}, []string{of.name}}
	// The status line is sent: a write fails here only if the client has left.
	_ = json.NewEncoder(w).Encode(problem)
}
