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

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/quota"
)

// LimitsUse is a tenant's use of its limits.
type LimitsUse struct {
	Limits []LimitUse `json:"limits" doc:"Limits of the tenant; unlimited quantities are absent."`
}

// LimitUse is the use of one limit.
type LimitUse struct {
	Name        string      `json:"name"`
	Limit       int         `json:"limit" doc:"Maximum of the tenant: in per_seconds, or at once."`
	PerSeconds  int         `json:"per_seconds,omitempty" doc:"Absent if the limit is a number at once."`
	Used        int         `json:"used" doc:"Used part of the limit now; it comes back evenly over per_seconds. Bytes may exceed the limit."`
	CallerLimit int         `json:"caller_limit,omitempty" doc:"Maximum of one caller; absent if each may use all."`
	Callers     []CallerUse `json:"callers,omitempty" doc:"Up to 10 callers that used most of their maximum, the nearest to it first."`
}

// CallerUse is one caller's use of a limit.
type CallerUse struct {
	Subject string `json:"subject" doc:"Name of the caller in the tenant; all callers without a name count as one."`
	Used    int    `json:"used" doc:"Used part of caller_limit now."`
}

// maxCallersShown bounds the callers of each limit.
const maxCallersShown = 10

// Holding limits how many entities of a kind a tenant has at once.
type Holding struct {
	Name  string
	Quota quota.Quota
	Count func(ctx context.Context, tenant string) (int, error)
}

// LimitReport shows tenants their use of their limits.
type LimitReport struct {
	Limiter  *Limiter
	Holdings []Holding
}

// Routes adds the call of the report to an API.
func (r *LimitReport) Routes(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "get-limits", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/limits", Tags: []string{"operations"},
		Summary:     "Show the use of the tenant's limits",
		Description: "Of what is limited in a minute, as the process that answers counts it: each counts by itself. Tools, with providers, and sources are those of the deployment.",
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body LimitsUse }, error) {
		use, err := r.use(ctx, identity.From(ctx).Tenant)
		return &struct{ Body LimitsUse }{use}, err
	})
}

// holdingsTime bounds the time to count a tenant's holdings.
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

// use returns the use of the limits that apply to a tenant.
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
