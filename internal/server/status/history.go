package status

import (
	"context"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/services/standardizer"
)

// SampleEvery is how often a sample is taken.
const SampleEvery = 5 * time.Second

// Bounds of the history.
const (
	keptSamples = int(time.Hour / SampleEvery)
	keptTenants = 1000 // with a history of their own: 6 KiB each
)

// Sample describes the deployment at a moment. Unknown values are absent. Tenants other than
// default see their tools and dead letters only.
type Sample struct {
	Time       time.Time `json:"time"`
	Accepted   *float64  `json:"accepted_per_second,omitempty" doc:"Accepted changes."`
	Indexed    *float64  `json:"indexed_per_second,omitempty" doc:"Changes that became searchable."`
	Searches   *float64  `json:"searches_per_second,omitempty" doc:"Searches of the process that answers."`
	Feedback   *float64  `json:"feedback_per_second,omitempty" doc:"Feedback events of the process that answers."`
	Calls      *float64  `json:"calls_per_second,omitempty" doc:"Calls of tools by the process that answers."`
	SearchHalf *float64  `json:"search_p50_ms,omitempty" doc:"Median of the searches since the last sample, estimated between the bounds of toolstream_search_seconds. Absent without searches."`
	SearchMost *float64  `json:"search_p99_ms,omitempty" doc:"99th percentile, estimated likewise."`
	Lag        *uint64   `json:"lag,omitempty" doc:"Records that all stages have yet to read, at most."`
	Letters    int       `json:"dead_letters" doc:"Open dead letters of the tenant."`
	FreshHalf  *float64  `json:"freshness_p50_seconds,omitempty" doc:"Median time until changes became searchable since the last sample, estimated between the bounds of toolstream_freshness_seconds. Absent without changes."`
	FreshMost  *float64  `json:"freshness_p99_seconds,omitempty" doc:"99th percentile, estimated likewise."`
	Tools      int       `json:"tools" doc:"Tools of the tenant in the index."`
}

// History has the samples of the last hour, or since the start of the process.
type History struct {
	Every   int      `json:"every_seconds" doc:"Seconds between two samples."`
	Samples []Sample `json:"samples" doc:"Samples, oldest first."`
}

// history keeps the samples of an hour. The zero value is empty.
type history struct {
	last  figures // of the last sample
	fresh recent

	mu      sync.Mutex // guards what follows
	taken   int        // samples, so far
	samples [keptSamples]Sample
	tenants map[string]*[keptSamples]own
}

// own is the part of a sample about a tenant.
type own struct{ tools, letters int }

// figures are totals since the start of the process, nil if unknown.
type figures struct {
	at                        time.Time
	searches, feedback, calls *float64
	search, fresh             *spread
}

// Run measures the backlog and takes samples until ctx ends.
func (r *Reporter) Run(ctx context.Context) error {
	tick := time.NewTicker(SampleEvery)
	defer tick.Stop()
	for {
		r.Backlog.measure(ctx)
		r.sample()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (r *Reporter) sample() {
	h := &r.history
	now, before := r.figures(), h.last
	h.last = now
	took := now.at.Sub(before.at)
	s := Sample{
		Time: now.at.UTC(), Lag: r.Backlog.lag(),
		Searches: perSecond(before.searches, now.searches, took), Feedback: perSecond(before.feedback, now.feedback, took), Calls: perSecond(before.calls, now.calls, took),
	}
	s.Accepted, s.Indexed = r.Backlog.rate(standardizer.Name, end), r.Backlog.rate(r.Live().writer(), done)
	const ms = 1000
	s.SearchHalf, s.SearchMost = now.search.since(before.search).halfAndMost(ms)
	fresh := now.fresh.since(before.fresh)
	s.FreshHalf, s.FreshMost = fresh.halfAndMost(1)
	h.fresh.add(now.at, fresh)
	h.add(s, r.Live().Index.Sizes(), r.DeadLetters.Counts())
}

// figures reads the metrics of the process.
func (r *Reporter) figures() figures {
	out := figures{at: time.Now()}
	families, err := r.Metrics.Gather()
	if err != nil {
		return out
	}
	for _, f := range families {
		switch f.GetName() {
		case "toolstream_searches_total":
			out.searches = sum(f)
		case "toolstream_feedback_accepted_total":
			out.feedback = sum(f)
		case "toolstream_calls_total":
			out.calls = sum(f)
		case "toolstream_search_seconds":
			out.search = spreadOf(f, func(m *dto.Metric) bool { return m.GetLabel()[0].GetValue() == "total" })
		case freshnessMetric:
			out.fresh = spreadOf(f, func(*dto.Metric) bool { return true })
		}
	}
	return out
}

func sum(f *dto.MetricFamily) *float64 {
	var out float64
	for _, m := range f.GetMetric() {
		out += m.GetCounter().GetValue()
	}
	return &out
}

func perSecond(before, now *float64, took time.Duration) *float64 {
	if before == nil || now == nil || took <= 0 || *now < *before {
		return nil
	}
	rate := (*now - *before) / took.Seconds()
	return &rate
}

// add adds a sample, with the tools and dead letters of each tenant.
func (h *history) add(s Sample, tools, letters map[string]int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.taken % keptSamples
	h.taken++
	s.Tools, s.Letters = tools[identity.DefaultTenant], letters[identity.DefaultTenant]
	h.samples[at] = s
	for tenant := range h.tenants {
		if tools[tenant]+letters[tenant] == 0 {
			h.tenants[tenant][at] = own{}
		}
	}
	for _, has := range []map[string]int{tools, letters} {
		for tenant := range has {
			if tenant == identity.DefaultTenant {
				continue
			}
			if h.tenants[tenant] == nil && len(h.tenants) < keptTenants {
				if h.tenants == nil {
					h.tenants = map[string]*[keptSamples]own{}
				}
				h.tenants[tenant] = &[keptSamples]own{}
			}
			if samples := h.tenants[tenant]; samples != nil {
				samples[at] = own{tools[tenant], letters[tenant]}
			}
		}
	}
}

// Samples returns up to limit samples of the last hour as an operator of a tenant sees them,
// oldest first.
func (r *Reporter) Samples(tenant string, limit int) []Sample {
	h := &r.history
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []Sample{}
	for n := max(0, h.taken-min(limit, keptSamples)); n < h.taken; n++ {
		at := n % keptSamples
		s := h.samples[at]
		if tenant != identity.DefaultTenant {
			s = Sample{Time: s.Time}
			if samples := h.tenants[tenant]; samples != nil {
				s.Tools, s.Letters = samples[at].tools, samples[at].letters
			}
		}
		out = append(out, s)
	}
	return out
}

// Erase forgets the history of a tenant.
func (r *Reporter) Erase(tenant string) {
	h := &r.history
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tenants, tenant)
	if tenant == identity.DefaultTenant {
		for at := range h.samples {
			h.samples[at].Tools, h.samples[at].Letters = 0, 0
		}
	}
}
