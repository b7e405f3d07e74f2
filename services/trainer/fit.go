package trainer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/trainer/fitting"
)

// Samples returns the labelled queries that the service would learn from recorded searches
// and the feedback on them, oldest first.
func Samples(impressions []schema.Impression, feedback []schema.Feedback) (out []fitting.Sample) {
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
		if f.Time.IsZero() || rec.at.IsZero() { // written by hand
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

// learner turns the query clusters into weights and usage.
type learner struct {
	cfg      Config
	state    *stateStore
	follower stream.Follower
	now      func() time.Time
	log      *slog.Logger
	model    func() string // the embedding model that searches use

	rested time.Time // when usage may be made again
}

// due is a model of a tenant whose weights are due to be fitted, with the data for the fit.
type due struct {
	tenant, model string
	samples       []fitting.Sample
	from, to      time.Time // of the searches behind the samples
}

// refitAfter is how many searches with feedback make the next fit due.
func (t *tenantState) refitAfter(refit int) int { return max(refit, len(t.clusters)/4) }

// fit fits the weights of every model with enough searches since its last fit. That takes
// seconds for large tenants, and does not hold the state meanwhile.
func (l *learner) fit(ctx context.Context) error {
	var list []due
	if err := l.state.view(func(m *memory) {
		for _, t := range m.tenants {
			for model, state := range t.record.Models {
				if state.Fresh < t.refitAfter(l.cfg.Refit) {
					continue
				}
				d := due{tenant: t.name, model: model}
				for _, sample := range t.samples(t.relevance(), l.now(), l.cfg.HalfLife) {
					if sample.Model != model {
						continue
					}
					d.samples = append(d.samples, sample.Sample)
					d.to = sample.newest()
					if first := sample.Sessions[0].At; d.from.IsZero() || first.Before(d.from) {
						d.from = first
					}
				}
				list = append(list, d)
			}
		}
	}); err != nil {
		return err
	}
	for _, d := range list {
		fitted, err := fitting.Config{Usage: true, Sure: true}.Fit(ctx, builtin(d.model), d.samples)
		if ctx.Err() != nil {
			return fmt.Errorf("trainer: fit weights: %w", ctx.Err())
		}
		if err != nil {
			l.log.Error("trainer: no weights could be fitted", "tenant", d.tenant, "model", d.model, "error", err)
		}
		if err := l.state.update(func(m *memory) error { return l.adopt(m, d, fitted, err == nil) }); err != nil {
			return err
		}
	}
	return nil
}

// builtin returns a model's built-in weights. A test resolves all of them.
func builtin(model string) fusion.Model {
	m, _ := fusion.ModelOf(fusion.BuiltinFor(model))
	return m
}

// learnedFromFeedback is the source of weights that the service has fitted.
const learnedFromFeedback = "learned from feedback"

// adopt takes over the result of a fit: whether usage ranks, and the next version of the
// weights.
func (l *learner) adopt(m *memory, d due, f fitting.Fitted, ok bool) error {
	t := m.tenant(d.tenant)
	state := t.model(d.model)
	state.Fresh, t.changed = 0, true
	if !ok {
		return nil
	}
	if withheld := f.Usage == nil; withheld != t.record.Withheld {
		t.record.Withheld, t.usageChanged = withheld, true
		l.log.Info("trainer: usage ranks only while it improves the ranking of other queries", "tenant", t.name, "withheld", withheld)
	}
	now := l.now().UTC()
	if state.Pinned || f.Pairs < l.cfg.MinPairs || !state.Published.IsZero() && now.Sub(state.Published).Abs() < l.cfg.Publish {
		return nil
	}
	live := t.live(d.model)
	if before, err := fusion.ModelOf(live); err == nil {
		fitted := f.Model
		before.Version, fitted.Version = "", ""
		if before == fitted {
			return nil
		}
	}
	w := f.Model.Weights()
	w.Source, w.Trained = learnedFromFeedback, f.Pairs
	w, err := t.sealed(d.model, w, live.Version, now)
	var refused *schema.Invalid
	if errors.As(err, &refused) {
		l.log.Error("trainer: fitted weights cannot rank", "tenant", t.name, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	h := History{From: d.from, To: d.to, CrossValidated: &Figures{Searches: f.Check.Queries, Gain: f.Check.Learned - f.Check.Base}}
	return t.goLive(m, d.model, w, h, Replaced, "by "+w.Version)
}

// refreshUsage is the age that makes usage due for publishing even if nothing happened: its
// counts fade all the same.
const refreshUsage = 24 * time.Hour

// advance expires searches and makes usage that has changed.
func (l *learner) advance(ctx context.Context) error {
	began := l.now()
	ends := map[events.Topic]map[int]uint64{}
	for _, topic := range []events.Topic{events.Searches, events.FeedbackTopic} {
		ends[topic] = endOf(ctx, l.follower, topic)
	}
	var changed []string
	if err := l.state.update(func(m *memory) error {
		horizon := m.watermark(ends, began).Add(-l.cfg.Window)
		for _, key := range m.searches.expire(horizon) {
			m.set(key, nil)
		}
		for _, f := range m.waiting.expire(horizon) {
			m.set(waitingKey(f), nil)
			m.outcomes[unknownSearch]++
		}
		for name, t := range m.tenants {
			if t.usageChanged || len(t.clusters) > 0 && began.Sub(t.record.UsageMade) >= refreshUsage {
				changed = append(changed, name)
			}
		}
		return nil
	}); err != nil || began.Before(l.rested) {
		return err
	}
	slices.Sort(changed)
	for _, name := range changed {
		if err := l.state.update(func(m *memory) error {
			t := m.tenant(name)
			t.record.UsageEpoch++
			t.record.UsageMade = l.now().UTC()
			t.usage, t.usageChanged, t.changed = t.makeUsage(l.model(), t.record.UsageMade, l.cfg.HalfLife, l.cfg.UsageBytes), false, true
			return nil
		}); err != nil {
			return err
		}
	}
	ended := l.now()
	l.rested = ended.Add(ended.Sub(began)) // large tables take long: reading the bus gets half of the time
	return nil
}
