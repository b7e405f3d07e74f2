package status

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/identity"
)

// Rates are known from the second measurement on, and not over an outage.
func TestStagesHaveRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, b := newTestBacklog("standardizer")
		flow := func(accepted, processed float64, lag int) {
			t.Helper()
			time.Sleep(SampleEvery)
			b.measure(t.Context())
			in, out, waits := b.rate("standardizer", end), b.rate("standardizer", done), b.lag()
			if in == nil || out == nil || waits == nil || *in != accepted || *out != processed || *waits != uint64(lag) {
				t.Errorf("%v in, %v out, %v wait; want %g, %g and %d", in, out, waits, accepted, processed, lag)
			}
		}
		b.measure(t.Context())
		if out := b.rate("standardizer", done); out != nil {
			t.Errorf("one measurement says %g", *out)
		}
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			p.accept(t, id, 0, nil)
		}
		flow(1, 0, 5)
		p.drain(t)
		flow(0, 1, 0)
		p.away = errors.New("away")
		time.Sleep(SampleEvery)
		b.measure(t.Context())
		if out, waits := b.rate("standardizer", done), b.lag(); out != nil || waits != nil {
			t.Errorf("the bus is away: %v, %v", out, waits)
		}
		p.away = nil
		b.measure(t.Context())
		flow(0, 0, 0)
	})
}

// Quantiles are of what came since the sample before.
func TestASampleIsOfWhatCameSince(t *testing.T) {
	reg := prometheus.NewRegistry()
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "toolstream_search_seconds", Buckets: []float64{0.01, 0.02, 0.04}}, []string{"stage"})
	searches := prometheus.NewCounter(prometheus.CounterOpts{Name: "toolstream_searches_total"})
	reg.MustRegister(seconds, searches)
	r := &Reporter{Metrics: reg}
	before := r.figures()
	for range 100 {
		searches.Inc()
		seconds.WithLabelValues("total").Observe(0.015)
		seconds.WithLabelValues("embed").Observe(0.001)
	}
	now := r.figures()
	half, most := now.search.since(before.search).halfAndMost(1000)
	if half == nil || most == nil || math.Abs(*half-15) > 1e-9 || math.Abs(*most-19.9) > 1e-9 {
		t.Errorf("%v, %v", half, most)
	}
	if rate := perSecond(before.searches, now.searches, 5*time.Second); rate == nil || *rate != 20 {
		t.Errorf("%v searches a second", rate)
	}
	if half, most := now.search.since(now.search).halfAndMost(1000); half != nil || most != nil {
		t.Errorf("nothing came: %v, %v", half, most)
	}
	seconds.WithLabelValues("total").Observe(9)
	if _, most := r.figures().search.since(now.search).halfAndMost(1000); most == nil || *most != 40 {
		t.Errorf("beyond the last bound: %v", most)
	}
	if half, _ := before.search.since(now.search).halfAndMost(1000); half != nil {
		t.Errorf("a histogram has begun anew: %v", *half)
	}
	if rate := perSecond(now.searches, before.searches, time.Second); rate != nil {
		t.Errorf("a counter has begun anew: %v", *rate)
	}
}

// Freshness is of the last minutes, and says in how many of them the objective was missed.
func TestFreshnessIsOfTheLastMinutes(t *testing.T) {
	reg := prometheus.NewRegistry()
	seconds := prometheus.NewHistogram(prometheus.HistogramOpts{Name: freshnessMetric, Buckets: []float64{1, 10, 60}})
	reg.MustRegister(seconds)
	r := &Reporter{Metrics: reg}
	var (
		of     recent
		before = r.figures()
		start  = time.Unix(1_000_000*60, 0)
	)
	// came are changes that become searchable in a minute after start, each after so long.
	came := func(in int, took ...float64) {
		for _, s := range took {
			seconds.Observe(s)
		}
		now := r.figures()
		of.add(start.Add(time.Duration(in)*time.Minute), now.fresh.since(before.fresh))
		before = now
	}
	want := func(at int, want Freshness) {
		t.Helper()
		want.Goal = 10
		got := of.freshness(start.Add(time.Duration(at)*time.Minute), 10*time.Second)
		if want.Changes == 0 && got != nil || want.Changes > 0 && (got == nil || *got != want) {
			t.Errorf("minute %d: %+v, want %+v", at, got, want)
		}
	}
	want(0, Freshness{})
	came(0, 0.5, 0.5, 30) // one of three is late
	came(0)               // nothing comes
	want(0, Freshness{Changes: 3, Half: 1, Most: 60, Missed: 1})
	came(1, make([]float64, 100)...)
	came(1, 30) // one of a hundred is late
	want(1, Freshness{Changes: 104, Half: 1, Most: 60, Missed: 1})
	came(2, make([]float64, 100)...)
	want(2, Freshness{Changes: 204, Half: 1, Most: 1, Missed: 1})
	came(3, 99, 99)
	want(3, Freshness{Changes: 206, Half: 1, Most: 60, Missed: 2})
	want(14, Freshness{Changes: 206, Half: 1, Most: 60, Missed: 2})
	want(15, Freshness{Changes: 203, Half: 1, Most: 60, Missed: 1})
	want(17, Freshness{Changes: 2, Half: -1, Most: -1, Missed: 1})
	want(18, Freshness{})
	came(18, 5) // in the place of minute 3
	want(18, Freshness{Changes: 1, Half: 10, Most: 10})
}

// An hour is remembered; each tenant sees its own, and an erased one nothing.
func TestTheHistoryIsOfAnHour(t *testing.T) {
	r := &Reporter{}
	lag := uint64(3)
	begin := time.Unix(0, 0)
	for n := range keptSamples + 10 {
		r.history.add(Sample{Time: begin.Add(time.Duration(n) * SampleEvery), Lag: &lag}, map[string]int{identity.DefaultTenant: n, "acme": 2 * n}, map[string]int{"acme": 1})
	}
	all, own := r.Samples(identity.DefaultTenant, 1<<30), r.Samples("acme", 2)
	if len(all) != keptSamples || all[0].Tools != 10 || all[keptSamples-1].Tools != keptSamples+9 || *all[0].Lag != 3 || !all[0].Time.Equal(begin.Add(10*SampleEvery)) {
		t.Errorf("%d samples, the first %+v", len(all), all[0])
	}
	if len(own) != 2 || own[1].Tools != 2*(keptSamples+9) || own[1].Letters != 1 || own[1].Lag != nil {
		t.Errorf("a tenant sees %+v", own)
	}
	if other := r.Samples("other", 1); other[0].Tools != 0 || other[0].Letters != 0 || other[0].Lag != nil {
		t.Errorf("another sees %+v", other)
	}
	r.Erase("acme")
	r.Erase(identity.DefaultTenant)
	for _, tenant := range []string{"acme", identity.DefaultTenant} {
		for _, s := range r.Samples(tenant, 1<<30) {
			if s.Tools+s.Letters != 0 {
				t.Fatalf("%s is erased, and there is %+v", tenant, s)
			}
		}
	}
	if n := len((&Reporter{}).Samples("acme", 10)); n != 0 {
		t.Errorf("%d samples at the start", n)
	}
}
