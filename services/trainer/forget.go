package trainer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// TakenBack is what a client had taught when it was taken back.
type TakenBack struct {
	Searches int `json:"searches" doc:"Searches of the client that counted."`
	Queries  int `json:"queries" doc:"Query clusters that these are of."`
}

// forgotten says that what a reporter taught by searches until a time is taken back. An
// empty client or credential stands for every one.
type forgotten struct {
	reporter
	At time.Time `json:"at"`
}

func (f forgotten) covers(who reporter, search time.Time) bool {
	return !search.After(f.At) && (f.Credential == "" || f.Credential == who.Credential) && (f.Client == "" || f.Client == who.Client)
}

// Forget takes back what a client of a credential taught by its searches until now; an
// empty one of the two stands for every one. It is a record of the feedback topic, so that
// whoever learns from the topic anew forgets as well: once Forget returns nil it is durable,
// and within moments it is done. The error is a *schema.Invalid if both are empty.
func (s *Service) Forget(ctx context.Context, tenant, credential, client string) (TakenBack, error) {
	f := schema.Feedback{Tenant: tenant, Event: schema.Forget, Credential: credential, Client: client, Time: s.deps.Now().UTC()}
	if err := f.Validate(); err != nil {
		return TakenBack{}, err
	}
	taken, err := s.taught(tenant, markOf(f))
	if err != nil {
		return TakenBack{}, err
	}
	value, err := events.Encode(&f)
	if err != nil {
		return TakenBack{}, err
	}
	headers := map[string]string{events.HeaderSchema: strconv.Itoa(events.FeedbackSchema)}
	m := stream.Message{Topic: events.FeedbackTopic, Key: tenant + "/" + string(schema.Forget), Value: value, Headers: headers}
	if err := s.deps.Publisher.Publish(ctx, m); err != nil {
		return TakenBack{}, fmt.Errorf("trainer: publish: %w", err)
	}
	return taken, nil
}

func markOf(f schema.Feedback) forgotten { return forgotten{reporter{f.Credential, f.Client}, f.Time} }

// taught counts what a mark takes back.
func (s *Service) taught(tenant string, mark forgotten) (out TakenBack, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.loaded()
	if err != nil || m.tenants[tenant] == nil {
		return out, err
	}
	for _, c := range m.tenants[tenant].clusters {
		n := 0
		for i := range c.Sessions {
			if mark.covers(c.Sessions[i].reporter, c.Sessions[i].At) {
				n++
			}
		}
		if out.Searches += n; n > 0 {
			out.Queries++
		}
	}
	return out, nil
}

// takenBack reports whether what a reporter says of a search of that time is taken back.
func (t *tenantState) takenBack(who reporter, search time.Time) bool {
	return slices.ContainsFunc(t.record.Forgotten, func(f forgotten) bool { return f.covers(who, search) })
}

// forget takes back what a mark covers, and learned weights with it: they may hold some of
// it, and are fitted anew from what is left.
func (s *Service) forget(m *memory, tenant string, mark forgotten) error {
	t := m.tenant(tenant)
	marks := slices.DeleteFunc(t.record.Forgotten, func(f forgotten) bool { return f.reporter == mark.reporter && !f.At.After(mark.At) })
	t.record.Forgotten, t.changed = append(marks, mark), true
	found := false
	for _, c := range t.clusters {
		before := len(c.Sessions)
		c.Sessions = slices.DeleteFunc(c.Sessions, func(session session) bool { return mark.covers(session.reporter, session.At) })
		if len(c.Sessions) == before {
			continue
		}
		found = true
		if c.compact(); len(c.Sessions) == 0 {
			t.drop(c)
		}
		t.dirty[c.id] = true
	}
	if !found {
		return nil
	}
	t.usageChanged = true
	for model := range t.record.Models {
		if err := s.unlearn(m, t, model); err != nil {
			return err
		}
	}
	return nil
}

// unlearn ends the trial of a model's weights, puts the built-in weights in place of learned
// ones that are not pinned, and lets it be fitted anew.
func (s *Service) unlearn(m *memory, t *tenantState, model string) error {
	const reason = "what a client taught was taken back"
	state, now := t.model(model), s.deps.Now().UTC()
	state.Fresh, state.Published = max(s.cfg.Refit, len(t.clusters)/4), time.Time{}
	if state.Pinned {
		return nil
	}
	if state.Trial.Weights != nil {
		if err := t.endTrial(m, model, now, reason); err != nil {
			return err
		}
	}
	if state.Live == nil || state.Live.Source != learnedFromFeedback {
		return nil
	}
	w := fusion.BuiltinFor(model)
	w.Source = reason
	w, err := t.sealed(model, w, state.Live.Version, now)
	if err != nil {
		return err
	}
	if err := t.goLive(m, model, w, History{}, Replaced, reason); err != nil {
		return err
	}
	state.Published = time.Time{}
	return nil
}
