package status

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	dto "github.com/prometheus/client_model/go"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/standardizer"
)

// SampleEvery is how often a sample is taken.
const SampleEvery = 5 * time.Second

// Bounds of what is remembered.
const (
	keptSamples = int(time.Hour / SampleEvery)
	keptTenants = 1000 // whose own figures are remembered: 6 KiB each
)

// Sample is how a deployment did for a moment. What is not known is absent; tenants other than
// default see their tools and dead letters alone.
type Sample struct {
	Time       time.Time `json:"time"`
	Accepted   *float64  `json:"accepted_per_second,omitempty" doc:"Changes that were accepted."`
	Indexed    *float64  `json:"indexed_per_second,omitempty" doc:"Changes that became searchable."`
	Searches   *float64  `json:"searches_per_second,omitempty" doc:"Of the process that answers."`
	Feedback   *float64  `json:"feedback_per_second,omitempty" doc:"Events, of the process that answers."`
	Calls      *float64  `json:"calls_per_second,omitempty" doc:"Calls of tools, of the process that answers."`
	SearchHalf *float64  `json:"search_p50_ms,omitempty" doc:"Half of the searches since the sample before took no longer, estimated within the bounds of toolstream_search_seconds. Absent where there was none."`
	SearchMost *float64  `json:"search_p99_ms,omitempty" doc:"99 of a hundred took no longer, likewise."`
	Lag        *uint64   `json:"lag,omitempty" doc:"Records that all stages have yet to read, at most."`
	Letters    int       `json:"dead_letters" doc:"Open dead letters of the tenant."`
	FreshHalf  *float64  `json:"freshness_p50_seconds,omitempty" doc:"Half of the changes since the sample before became searchable within this time, estimated within the bounds of toolstream_freshness_seconds. Absent where there was none."`
	FreshMost  *float64  `json:"freshness_p99_seconds,omitempty" doc:"99 of a hundred did, likewise."`
	Tools      int       `json:"tools" doc:"Tools of the tenant in the index."`
}

// History is the samples of the last hour, or since the start of the process.
type History struct {
	Every   int      `json:"every_seconds" doc:"Between two samples."`
	Samples []Sample `json:"samples" doc:"The oldest first."`
}

// history remembers the samples of an hour. The zero value is empty.
type history struct {
	last  figures // of the last sample
	fresh recent

	mu      sync.Mutex // guards what follows
	taken   int        // samples, so far
	samples [keptSamples]Sample
	tenants map[string]*[keptSamples]own
}

// own is the part of a sample that is a tenant's own.
type own struct{ tools, letters int }

// figures are sums since the start of the process, nil where there are none.
type figures struct {
	at                        time.Time
	searches, feedback, calls *float64
	search, fresh             *spread
}

// Run measures the backlog, and takes samples, until ctx ends.
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

// sample takes a sample.
func (r *Reporter) sample() {
	h := &r.history
	now, before := r.figures(), h.last
	h.last = now
	took := now.at.Sub(before.at)
	s := Sample{
		Time: now.at.UTC(), Lag: r.Backlog.waiting(),
		Searches: perSecond(before.searches, now.searches, took), Feedback: perSecond(before.feedback, now.feedback, took), Calls: perSecond(before.calls, now.calls, took),
	}
	s.Accepted, s.Indexed = r.Backlog.flow(r.Live().writer())
	const ms = 1000
	s.SearchHalf, s.SearchMost = now.search.since(before.search).halfAndMost(ms)
	fresh := now.fresh.since(before.fresh)
	s.FreshHalf, s.FreshMost = fresh.halfAndMost(1)
	h.fresh.add(now.at, fresh)
	h.add(s, r.Live().Index.Sizes(), r.DeadLetters.Counts())
}

// flow returns how many changes a second are accepted, and how many reach an index by its
// writer.
func (b *Backlog) flow(writer string) (accepted, indexed *float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.places[standardizer.Name].rate(end), b.places[writer].rate(done)
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

// add remembers a sample, and what the tenants have.
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
			if of := h.tenants[tenant]; of != nil {
				of[at] = own{tools[tenant], letters[tenant]}
			}
		}
	}
}

// Samples returns those of the last hour that an operator of a tenant sees, the oldest first,
// and at most so many of them.
func (r *Reporter) Samples(tenant string, most int) []Sample {
	h := &r.history
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []Sample{}
	for n := max(0, h.taken-min(most, keptSamples)); n < h.taken; n++ {
		at := n % keptSamples
		s := h.samples[at]
		if tenant != identity.DefaultTenant {
			s = Sample{Time: s.Time}
			if of := h.tenants[tenant]; of != nil {
				s.Tools, s.Letters = of[at].tools, of[at].letters
			}
		}
		out = append(out, s)
	}
	return out
}

// Erase forgets what is remembered of a tenant.
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

type historyOutput struct{ Body History }

func (r *Reporter) historyRoute(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "get-status-history", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/status/history",
		Summary: "How the deployment did in the last hour", Tags: []string{"operations"},
		Description: "In the memory of the process that answers, since it started: its metrics tell of longer times.",
	}, func(ctx context.Context, _ *struct{}) (*historyOutput, error) {
		return &historyOutput{History{int(SampleEvery.Seconds()), r.Samples(identity.From(ctx).Tenant, keptSamples)}}, nil
	})
}

// writer names the stage that writes the index that is searched.
func (l Live) writer() string { return events.Numbered(embedder.WriterName, l.Number) }
