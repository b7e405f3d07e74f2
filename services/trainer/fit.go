package trainer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/training"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Samples returns what recorded searches and the feedback on them say, as the service
// learns it: labelled queries, those that were asked longest ago first.
func Samples(impressions []schema.Impression, feedback []schema.Feedback) (out []training.Sample) {
	searches := map[string]*searchRecord{}
	for i := range impressions {
		if measured(impressions[i].Shown) {
			searches[impressions[i].SearchID] = newSearchRecord(&impressions[i], impressions[i].Time)
		}
	}
	t := newTenantState("")
	for _, f := range feedback {
		rec := searches[f.SearchID]
		if rec == nil {
			continue
		}
		if f.Time.IsZero() || rec.at.IsZero() { // a record that was made by hand
			f.Time = rec.at
		}
		if rec.add(f, defaultWindow) == accepted {
			seen := rec.seen()
			t.observe(seen, len(impressions))
			rec.Cluster = seen.Cluster
		}
	}
	r := t.relevance()
	for _, c := range t.byAge() {
		out = append(out, c.sample(r.odds[c.id], c.newest(), time.Hour))
	}
	return out
}

// due is a model of a tenant that is to be fitted anew, and what it learns from.
type due struct {
	tenant, model string
	samples       []training.Sample
	from, to      time.Time // of the searches that the samples are made of
}

// fit learns weights anew for every model with enough searches since the last
// fit. It takes seconds for large tenants, and does not keep anybody from reading the bus
// meanwhile. The caller holds publishing.
func (s *Service) fit(ctx context.Context) error {
	var list []due
	s.mu.Lock()
	if s.memory != nil {
		for _, t := range s.memory.tenants {
			for model, state := range t.record.Models {
				if state.Fresh >= max(s.cfg.Refit, len(t.clusters)/4) {
					list = append(list, s.due(t, model))
				}
			}
		}
	}
	s.mu.Unlock()
	for _, d := range list {
		fitted, err := training.Config{Usage: true, Sure: true}.Fit(ctx, builtin(d.model), d.samples)
		if ctx.Err() != nil {
			return fmt.Errorf("trainer: fit weights: %w", ctx.Err())
		}
		if err != nil {
			s.deps.Logger.Error("trainer: no weights could be fitted", "tenant", d.tenant, "model", d.model, "error", err)
		}
		if err := s.change(func(m *memory) error { return s.fitted(m, d, fitted, err == nil) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) due(t *tenantState, model string) due {
	d := due{tenant: t.name, model: model}
	for _, sample := range t.samples(t.relevance(), s.deps.Now(), s.cfg.HalfLife) {
		if sample.Model != model {
			continue
		}
		d.samples = append(d.samples, sample.Sample)
		d.to = sample.newest()
		if first := sample.Sessions[0].At; d.from.IsZero() || first.Before(d.from) {
			d.from = first
		}
	}
	return d
}

// builtin returns a model's built-in weights; every one of them is resolved in a test.
func builtin(model string) fusion.Model {
	m, _ := fusion.ModelOf(fusion.BuiltinFor(model))
	return m
}

// fitted takes over what a fit came to: whether usage ranks, and weights for the next
// version.
func (s *Service) fitted(m *memory, d due, f training.Fitted, ok bool) error {
	t := m.tenant(d.tenant)
	state := t.model(d.model)
	state.Fresh, t.changed = 0, true
	if !ok {
		return nil
	}
	if withheld := f.Usage == nil; withheld != t.record.Withheld {
		t.record.Withheld, t.usageChanged = withheld, true
		s.deps.Logger.Info("trainer: usage ranks only while it ranks queries better that it was not counted in", "tenant", t.name, "withheld", withheld)
	}
	now := s.deps.Now().UTC()
	if state.Pinned || state.Trial.Weights != nil || f.Pairs < s.cfg.MinPairs || !state.Published.IsZero() && absolute(now.Sub(state.Published)) < s.cfg.Publish {
		return nil
	}
	live := t.live(d.model)
	if m, err := fusion.ModelOf(live); err == nil && sameModel(m, f.Model) {
		return nil
	}
	w := f.Model.Weights()
	w.Source, w.Trained = learnedFromFeedback, f.Pairs
	w, err := t.sealed(d.model, w, live.Version, now)
	var refused *schema.Invalid
	if errors.As(err, &refused) {
		s.deps.Logger.Error("trainer: fitted weights cannot rank", "tenant", t.name, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	h := History{From: d.from, To: d.to, CrossValidated: &Figures{Searches: f.Check.Queries, Gain: f.Check.Learned - f.Check.Base}}
	if s.cfg.Shadow > 0 {
		return t.beginTrial(m, d.model, w, h)
	}
	return t.goLive(m, d.model, w, h, Replaced, "by "+w.Version)
}

// learnedFromFeedback is the source of weights that the service has fitted.
const learnedFromFeedback = "learned from feedback"

func absolute(d time.Duration) time.Duration { return max(d, -d) }

func sameModel(a, b fusion.Model) bool {
	a.Version, b.Version = "", ""
	return a == b
}

// advance ends trials that are over and makes usage anew where it has changed.
func (s *Service) advance(ctx context.Context) error {
	began := s.deps.Now()
	ends := map[events.Topic]map[int]uint64{events.Searches: s.end(ctx, events.Searches), events.FeedbackTopic: s.end(ctx, events.FeedbackTopic)}
	var names []string
	if err := s.change(func(m *memory) error {
		m.expire(m.watermark(ends, began).Add(-s.cfg.Window))
		for name, t := range m.tenants {
			for model := range t.record.Models {
				if err := s.judge(m, t, model, began.UTC()); err != nil {
					return err
				}
			}
			if t.usageChanged || len(t.clusters) > 0 && began.Sub(t.record.UsageMade) >= refreshUsage {
				names = append(names, name)
			}
		}
		return nil
	}); err != nil || began.Before(s.rested) {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := s.change(func(m *memory) error {
			t := m.tenant(name)
			t.record.UsageEpoch++
			t.record.UsageMade = s.deps.Now().UTC()
			t.usage, t.usageChanged, t.changed = t.makeUsage(s.Model(), t.record.UsageMade, s.cfg.HalfLife, s.cfg.UsageBytes), false, true
			return nil
		}); err != nil {
			return err
		}
	}
	ended := s.deps.Now()
	s.rested = ended.Add(ended.Sub(began)) // large tables take long: reading the bus gets half of the time
	return nil
}

// refreshUsage is how old published usage gets when nothing new happens: its counts fade
// all the same.
const refreshUsage = 24 * time.Hour

// watermark is the time up to which both topics have been read: that of the newest record,
// and now for a topic that has been read to its end.
func (m *memory) watermark(ends map[events.Topic]map[int]uint64, now time.Time) time.Time {
	read := now
	for topic, end := range ends {
		if (end == nil || m.behind(topic, end)) && m.newest[topic].Before(read) {
			read = m.newest[topic]
		}
	}
	return read
}
