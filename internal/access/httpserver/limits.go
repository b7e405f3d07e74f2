package httpserver

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/time/rate"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/quota"
)

// LimitsUse is what is used of the limits of a tenant.
type LimitsUse struct {
	Limits []LimitUse `json:"limits" doc:"What the tenant is limited in; absent are those of which it may have any number."`
}

// LimitUse is what is used of one limit.
type LimitUse struct {
	Name        string      `json:"name"`
	Limit       int         `json:"limit" doc:"What the tenant may have: in per_seconds, or at once."`
	PerSeconds  int         `json:"per_seconds,omitempty" doc:"Absent where the limit is of what the tenant has at once."`
	Used        int         `json:"used" doc:"Of the limit, now; what is used in a time comes back evenly over it. Bytes may be more than the limit."`
	CallerLimit int         `json:"caller_limit,omitempty" doc:"What one caller may have of it; absent where each may have all."`
	Callers     []CallerUse `json:"callers,omitempty" doc:"Those that have used most of what one may have, at most 10, the nearest to the limit first."`
}

// CallerUse is what one caller has used of a limit.
type CallerUse struct {
	Subject string `json:"subject" doc:"Its name in the tenant; all callers without one are one."`
	Used    int    `json:"used" doc:"Of caller_limit, now."`
}

// maxCallersShown bounds the callers of each limit.
const maxCallersShown = 10

// Holding is a limit of what a tenant has at once.
type Holding struct {
	Name  string
	Quota quota.Quota
	Count func(ctx context.Context, tenant string) (int, error)
}

// LimitReport tells tenants what is used of their limits.
type LimitReport struct {
	Limiter  *Limiter
	Holdings []Holding
}

// Routes adds the call of the report to an API.
func (r *LimitReport) Routes(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "get-limits", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/limits", Tags: []string{"operations"},
		Summary:     "Show what is used of the tenant's limits",
		Description: "Of what is limited in a minute, as the process that answers counts it: each counts by itself. Tools, with providers, and sources are those of the deployment.",
		Errors:      []int{http.StatusServiceUnavailable},
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body LimitsUse }, error) {
		use, err := r.use(ctx, identity.From(ctx).Tenant)
		return &struct{ Body LimitsUse }{use}, err
	})
}

// holdingsTime bounds how long what a tenant has is counted.
const holdingsTime = 2 * time.Second

func (r *LimitReport) use(ctx context.Context, tenant string) (LimitsUse, error) {
	ctx, cancel := context.WithTimeout(ctx, holdingsTime)
	defer cancel()
	out := LimitsUse{r.Limiter.use(tenant, time.Now())}
	for _, h := range r.Holdings {
		limit := h.Quota.Of(tenant)
		if limit == 0 {
			continue
		}
		n, err := h.Count(ctx, tenant)
		if err != nil {
			return LimitsUse{}, Unavailable("how many "+h.Name+" the tenant has is not known yet", 1)
		}
		out.Limits = append(out.Limits, LimitUse{Name: h.Name, Limit: limit, Used: n})
	}
	return out, nil
}

// use returns what is used of the limits that a tenant has.
func (l *Limiter) use(tenant string, now time.Time) []LimitUse {
	l.mu.Lock()
	defer l.mu.Unlock()
	out, known := []LimitUse{}, l.tenants[tenant]
	for i, of := range l.limits {
		n := of.quota.Of(tenant)
		if n == 0 {
			continue
		}
		use := LimitUse{Name: of.name, Limit: n, PerSeconds: int(minute.Seconds())}
		if percent := l.share.Of(tenant); percent != 0 && percent != 100 {
			use.CallerLimit = part(n, percent)
		}
		if known != nil {
			use.Used = used(known.own[i], now)
			use.Callers = known.nearest(i, now)
		}
		out = append(out, use)
	}
	return out
}

// nearest returns the callers of a tenant that have used most of a limit.
func (a *account) nearest(limit int, now time.Time) (out []CallerUse) {
	for subject, b := range a.subjects {
		if n := used(b[limit], now); n > 0 {
			out = append(out, CallerUse{subject, n})
		}
	}
	slices.SortFunc(out, func(a, b CallerUse) int { return cmp.Or(b.Used-a.Used, cmp.Compare(a.Subject, b.Subject)) })
	return out[:min(len(out), maxCallersShown)]
}

// used returns how many tokens are missing in a bucket, rounded up.
func used(b *rate.Limiter, now time.Time) int {
	return max(0, int(math.Ceil(float64(b.Burst())-b.TokensAt(now)-almost)))
}
