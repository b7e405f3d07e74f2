package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/quota"
)

func TestTheUseOfLimitsIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(Limits{
			Requests: all(1000), Searches: quota.Quota{"": 0, "a": 60}, SubjectShare: quota.Quota{"": 100, "a": 50},
		}, prometheus.NewRegistry())
		h := l.wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		var away error
		r := &LimitReport{Limiter: l, Holdings: []Holding{
			{"tools", quota.Quota{"a": 5}, func(context.Context, string) (int, error) { return 7, away }},
			{"sources", all(0), func(context.Context, string) (int, error) { return 0, errors.New("not asked") }},
		}}
		same := func(when, tenant string, want ...LimitUse) {
			t.Helper()
			got, err := r.use(t.Context(), tenant)
			if err != nil || !reflect.DeepEqual(got.Limits, append([]LimitUse{}, want...)) {
				t.Errorf("%s: %+v %v, want %+v", when, got.Limits, err, want)
			}
		}
		tools := LimitUse{Name: "tools", Limit: 5, Used: 7}
		same("before", "a", LimitUse{Name: "requests", Limit: 1000, PerSeconds: 60, CallerLimit: 500}, LimitUse{Name: "searches", Limit: 60, PerSeconds: 60, CallerLimit: 30}, tools)
		for i, who := range []string{"a/ada", "a/ada", "a/bob", "a/bob", "a/bob", "a", "b/eve"} {
			if rec := ask(t, h, who, "POST", "/v1/search"); rec.Code != 200 {
				t.Fatalf("search %d: %d", i, rec.Code)
			}
		}
		callers := []CallerUse{{"bob", 3}, {"ada", 2}, {"", 1}}
		same("after", "a", LimitUse{"requests", 1000, 60, 6, 500, callers}, LimitUse{"searches", 60, 60, 6, 30, callers}, tools)
		same("another tenant", "b", LimitUse{Name: "requests", Limit: 1000, PerSeconds: 60, Used: 1})
		time.Sleep(4 * time.Second) // of the bubble
		same("later", "a", LimitUse{Name: "requests", Limit: 1000, PerSeconds: 60, CallerLimit: 500}, LimitUse{"searches", 60, 60, 2, 30, []CallerUse{{"bob", 1}}}, tools)
		for i := range 2 * maxCallersShown {
			ask(t, h, fmt.Sprintf("a/caller-%d", i), "POST", "/v1/search")
		}
		if got := l.use("a", time.Now())[1].Callers; len(got) != maxCallersShown {
			t.Errorf("%d callers are shown", len(got))
		}
		away = errors.New("away")
		if _, err := r.use(t.Context(), "a"); err == nil {
			t.Error("what is not known is shown")
		}
	})
}
