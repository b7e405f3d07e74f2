package httpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/quota"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

// Limits bound the requests of a tenant to a process in a minute. An idle tenant may use up the
// limit of a minute at once.
type Limits struct {
	Requests quota.Quota // of any kind
	Searches quota.Quota
	Feedback quota.Quota
	Calls    quota.Quota // of tools
	Bytes    quota.Quota // of bodies

	SubjectShare quota.Quota // percent of each that one caller may have
}

// The header fields that tell of limits.
const (
	policyField = "RateLimit-Policy"
	limitField  = "RateLimit"
)

const (
	minute      = time.Minute // the window of every limit
	maxSubjects = 1024        // callers of a tenant that have buckets of their own at once
	maxSenders  = 8192        // the same for addresses of anonymous senders
	almost      = 1e-6        // of a token: time and rates are rounded
)

// limit is a limit: its name, its amount in a minute, and the requests that count against it.
type limit struct {
	name    string
	quota   quota.Quota
	bytes   bool // it counts the bytes of bodies, not requests
	applies func(*http.Request) bool
}

// table lists the limits.
func (c Limits) table() []limit {
	posts := func(path string) func(*http.Request) bool {
		return func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == path }
	}
	return []limit{
		{name: "requests", quota: c.Requests, applies: fromOutside},
		{name: "searches", quota: c.Searches, applies: func(r *http.Request) bool {
			return r.URL.Path == "/v1/search" && (r.Method == http.MethodPost || r.Method == http.MethodGet || r.Method == http.MethodHead)
		}},
		{name: "feedback", quota: c.Feedback, applies: posts("/v1/feedback")},
		{name: "calls", quota: c.Calls, applies: func(r *http.Request) bool {
			return r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/v1/tools/") && strings.HasSuffix(r.URL.Path, ":call")
		}},
		{name: "bytes", quota: c.Bytes, applies: fromOutside, bytes: true},
	}
}

// ofSubject ends the name of the limit of one caller.
const ofSubject = "-subject"

// Limiter has a bucket for each limit of each tenant, and of each caller with a share of its
// tenant's limit. It forgets full buckets, because new buckets are full too.
type Limiter struct {
	limits  []limit
	share   quota.Quota
	refused *prometheus.CounterVec

	mu      sync.Mutex
	tenants map[string]*account
	senders account // by address, of requests without a caller
	sweepAt int     // how many tenants there are when full ones are looked for next
}

// account is the buckets of one tenant and of its callers.
type account struct {
	own      buckets
	subjects map[string]buckets
	others   buckets   // of the callers that come while the most have buckets that are not full
	swept    time.Time // when full ones were looked for last
}

// buckets are the buckets of the limits, in their order, with nil for unlimited.
type buckets []*rate.Limiter

// NewLimiter returns a limiter with full buckets.
func NewLimiter(c Limits, reg prometheus.Registerer) *Limiter {
	out := &Limiter{share: c.SubjectShare, tenants: map[string]*account{}, senders: account{subjects: map[string]buckets{}}, sweepAt: maxSubjects}
	var names []string
	for _, of := range c.table() {
		names = append(names, of.name, of.name+ofSubject)
		if !of.quota.None() {
			out.limits = append(out.limits, of)
		}
	}
	out.refused = telemetry.Metrics(reg).NewCounterVec("toolstream_http_limited_total",
		"Requests refused with 429, by the limit of the tenant (requests, searches, feedback, calls, bytes) or of the caller (requests-subject and so on).",
		[]string{"limit"}, names)
	return out
}

// limited identifies the buckets of a request: by tenant and subject. Requests without a caller,
// such as sign-ins and gateway events, belong to no tenant: their address is the subject.
func limited(ctx context.Context) identity.Caller {
	c, known := caller(ctx)
	if !known {
		return identity.Caller{Subject: bucketAddress(clientAddress(ctx))}
	}
	return c
}

// bucketsOf returns the buckets of a caller: its own, if it has a share, and its tenant's, or the buckets
// of an address.
func (l *Limiter) bucketsOf(c identity.Caller, now time.Time) (subject, tenant buckets) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.Tenant == "" {
		return nil, l.senders.bucketsOf(c.Subject, now, maxSenders, func() buckets { return l.fill("", 100) })
	}
	a := l.tenants[c.Tenant]
	if a == nil {
		if len(l.tenants) >= l.sweepAt {
			maps.DeleteFunc(l.tenants, func(_ string, a *account) bool { return a.full(now) })
			l.sweepAt = max(maxSubjects, 2*len(l.tenants))
		}
		a = &account{own: l.fill(c.Tenant, 100), subjects: map[string]buckets{}}
		l.tenants[c.Tenant] = a
	}
	share := l.share.Of(c.Tenant)
	if share == 0 || share == 100 {
		return nil, a.own
	}
	return a.bucketsOf(c.Subject, now, maxSubjects, func() buckets { return l.fill(c.Tenant, share) }), a.own
}

// fill returns full buckets with a percentage of the limits of a tenant.
func (l *Limiter) fill(tenant string, percent int) buckets {
	out := make(buckets, len(l.limits))
	for i, of := range l.limits {
		if n := of.quota.Of(tenant); n > 0 {
			n = part(n, percent)
			out[i] = rate.NewLimiter(rate.Limit(float64(n)/minute.Seconds()), n)
		}
	}
	return out
}

// part returns a percentage of a limit, at least 1.
func part(n, percent int) int { return max(1, n*percent/100) }

// bucketsOf returns the buckets of a caller.
func (a *account) bucketsOf(subject string, now time.Time, most int, fill func() buckets) buckets {
	if b := a.subjects[subject]; b != nil {
		return b
	}
	if len(a.subjects) >= most && now.Sub(a.swept) >= time.Second {
		maps.DeleteFunc(a.subjects, func(_ string, b buckets) bool { return b.full(now) })
		a.swept = now
	}
	if len(a.subjects) < most {
		a.subjects[subject] = fill()
		return a.subjects[subject]
	}
	if a.others == nil {
		a.others = fill()
	}
	return a.others
}

func (a *account) full(now time.Time) bool {
	for _, b := range a.subjects {
		if !b.full(now) {
			return false
		}
	}
	return a.own.full(now) && a.others.full(now)
}

func (b buckets) full(now time.Time) bool {
	for _, bucket := range b {
		if bucket != nil && bucket.TokensAt(now) < float64(bucket.Burst())-almost {
			return false
		}
	}
	return true
}

// wrap refuses requests over a limit, and reports how much of each limit is left, as in
// draft-ietf-httpapi-ratelimit-headers-11. A refused request takes nothing.
func (l *Limiter) wrap(next http.Handler) http.Handler {
	if l == nil || len(l.limits) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		limits, over := l.charge(r, now)
		for _, of := range limits {
			w.Header().Add(policyField, of.policy())
			w.Header().Add(limitField, of.left(now))
		}
		if len(over) > 0 {
			l.writeOver(w, over, limited(r.Context()).Tenant == "", now)
			return
		}
		if i := l.ofBytes(r); i >= 0 {
			r.Body = &counted{r.Body, func(n int) { l.spend(limited(r.Context()), i, n) }}
		}
		next.ServeHTTP(w, r)
	})
}

// charge returns the limits of a request and the exceeded limits. It counts the request if no
// limit is exceeded.
func (l *Limiter) charge(r *http.Request, now time.Time) (limits, over []applied) {
	subject, tenant := l.bucketsOf(limited(r.Context()), now)
	limits = append(l.apply(r, subject, ofSubject), l.apply(r, tenant, "")...)
	for _, of := range limits {
		if of.bucket.TokensAt(now) < 1-almost {
			over = append(over, of)
		}
	}
	for _, of := range limits {
		if len(over) == 0 && !of.bytes {
			of.bucket.ReserveN(now, 1)
		}
	}
	return limits, over
}

// ofBytes returns the index of the limit of bytes for a request, -1 without such a limit.
func (l *Limiter) ofBytes(r *http.Request) int {
	return slices.IndexFunc(l.limits, func(of limit) bool { return of.bytes && of.applies(r) })
}

// Take counts a request of the caller of ctx that did not come over HTTP, as if it were a POST
// of so many bytes to the path. If it exceeds a limit, Take returns an error and the seconds
// after which it may come again.
func (l *Limiter) Take(ctx context.Context, path string, bytes int) (again int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, path, nil)
	if err != nil {
		return 0, err
	}
	now := time.Now()
	if _, over := l.charge(r, now); len(over) > 0 {
		again, detail := l.refuse(over, limited(ctx).Tenant == "", now)
		return again, errors.New(detail)
	}
	if i := l.ofBytes(r); i >= 0 {
		l.spend(limited(ctx), i, bytes)
	}
	return 0, nil
}

// refuse counts a refused request, and returns after how many seconds it may come again, and
// the exceeded limits.
func (l *Limiter) refuse(over []applied, anonymous bool, now time.Time) (again int, detail string) {
	for _, of := range over {
		l.refused.WithLabelValues(of.name).Inc()
		again = max(again, of.until(1, now))
	}
	whose := "the tenant"
	if strings.HasSuffix(over[0].name, ofSubject) {
		whose = "one caller"
	}
	if anonymous {
		whose = "requests without a caller from one address"
	}
	return again, fmt.Sprintf("over the limit of %d %s a minute of %s", over[0].bucket.Burst(), over[0].what, whose)
}

// applied is a limit with the bucket of a tenant or caller.
type applied struct {
	name   string
	what   string // it counts
	bytes  bool
	bucket *rate.Limiter
}

// apply returns the limits that a request is under.
func (l *Limiter) apply(r *http.Request, all buckets, suffix string) (out []applied) {
	for i, b := range all {
		if of := l.limits[i]; b != nil && of.applies(r) {
			out = append(out, applied{of.name + suffix, of.name, of.bytes, b})
		}
	}
	return out
}

// policy is the limit as an item of RateLimit-Policy.
func (a *applied) policy() string {
	policy := fmt.Sprintf("%q;q=%d;w=%.0f", a.name, a.bucket.Burst(), minute.Seconds())
	if a.bytes {
		policy += `;qu="content-bytes"`
	}
	return policy
}

// left is the remaining part of the limit as an item of RateLimit: r units, and t seconds until
// more are available unless it is full.
func (a *applied) left(now time.Time) string {
	whole := max(0, math.Floor(a.bucket.TokensAt(now)+almost))
	item := fmt.Sprintf("%q;r=%.0f", a.name, whole)
	if whole < float64(a.bucket.Burst()) {
		item += fmt.Sprintf(";t=%d", a.until(whole+1, now))
	}
	return item
}

// until returns the seconds until so many tokens are in the bucket, rounded up.
func (a *applied) until(tokens float64, now time.Time) int {
	return int(math.Ceil((tokens-a.bucket.TokensAt(now))/float64(a.bucket.Limit()) - almost))
}

// spend takes bytes from the buckets of a limit, which may be left in debt: a body is not
// cut off, and the next one waits longer.
func (l *Limiter) spend(who identity.Caller, limit, n int) {
	now := time.Now()
	subject, tenant := l.bucketsOf(who, now)
	for _, all := range []buckets{subject, tenant} {
		if all == nil || all[limit] == nil {
			continue
		}
		for left := n; left > 0; {
			part := min(left, all[limit].Burst())
			all[limit].ReserveN(now, part)
			left -= part
		}
	}
}

// counted counts the bytes read of a body.
type counted struct {
	io.ReadCloser
	read func(n int)
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if n > 0 {
		c.read(n)
	}
	return n, err
}

// quotaExceeded is the type of problem that the draft registers.
const quotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded"

// writeOver answers a request that is over limits.
func (l *Limiter) writeOver(w http.ResponseWriter, over []applied, anonymous bool, now time.Time) {
	problem := struct {
		huma.ErrorModel
		Violated []string `json:"violated-policies"`
	}{ErrorModel: huma.ErrorModel{Type: quotaExceeded, Status: http.StatusTooManyRequests, Title: http.StatusText(http.StatusTooManyRequests)}}
	again, detail := l.refuse(over, anonymous, now)
	problem.Detail = detail
	for _, of := range over {
		problem.Violated = append(problem.Violated, of.name)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", strconv.Itoa(again))
	w.WriteHeader(http.StatusTooManyRequests)
	// The status line is sent: a write fails here only if the client has left.
	_ = json.NewEncoder(w).Encode(problem)
}
