package trainer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// TakenBack counts the searches that a client taught by when they were taken back.
type TakenBack struct {
	Searches int `json:"searches" doc:"Searches of the client that counted."`
	Queries  int `json:"queries" doc:"Query clusters with these searches."`
}

// forgotten takes back the feedback of a reporter on searches until a time. An empty client
// or credential matches all of them.
type forgotten struct {
	reporter
	At time.Time `json:"at"`
}

func markOf(f schema.Feedback) forgotten { return forgotten{reporter{f.Credential, f.Client}, f.Time} }

func (f forgotten) covers(who reporter, search time.Time) bool {
	return !search.After(f.At) && (f.Credential == "" || f.Credential == who.Credential) && (f.Client == "" || f.Client == who.Client)
}

// Forget takes back the feedback of a client of a credential on searches until now; an empty
// client or credential matches all of them. The request is a record of the feedback
// topic, so that a trainer that reads the topic again forgets as well: once Forget returns
// nil the record is durable, and it takes effect within moments. The error is a
// *schema.Invalid if client and credential are both empty.
func (s *Service) Forget(ctx context.Context, tenant, credential, client string) (out TakenBack, err error) {
	f := schema.Feedback{Tenant: tenant, Event: schema.Forget, Credential: credential, Client: client, Time: s.deps.Now().UTC()}
	if err := f.Validate(); err != nil {
		return out, err
	}
	mark := markOf(f)
	if err := s.state.view(func(m *memory) {
		if m.tenants[tenant] == nil {
			return
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
	}); err != nil {
		return TakenBack{}, err
	}
	value, err := events.Encode(&f)
	if err != nil {
		return TakenBack{}, err
	}
	if err := s.deps.Publisher.Publish(ctx, stream.Message{
		Topic: events.FeedbackTopic, Key: tenant + "/" + string(schema.Forget), Value: value,
		Headers: map[string]string{events.HeaderSchema: strconv.Itoa(events.FeedbackSchema)},
	}); err != nil {
		return TakenBack{}, fmt.Errorf("trainer: publish: %w", err)
	}
	return out, nil
}

// takenBack reports whether the feedback of a reporter on a search of that time was taken
// back.
func (t *tenantState) takenBack(who reporter, search time.Time) bool {
	return slices.ContainsFunc(t.record.Forgotten, func(f forgotten) bool { return f.covers(who, search) })
}

// forget removes the sessions that a mark covers. They may have shaped the learned weights,
// so these go as well and are fitted again from the remaining sessions.
func (t *tenantState) forget(m *memory, mark forgotten, now time.Time, refit int) error {
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
			delete(t.clusters, c.id)
		}
		t.dirty[c.id] = true
	}
	if !found {
		return nil
	}
	t.usageChanged = true
	for model := range t.record.Models {
		if err := t.unlearn(m, model, now, refit); err != nil {
			return err
		}
	}
	return nil
}

// unlearn replaces learned weights of a model by the built-in ones, unless they are pinned,
// and makes the next fit due.
func (t *tenantState) unlearn(m *memory, model string, now time.Time, refit int) error {
	const reason = "what a client taught was taken back"
	state := t.model(model)
	state.Fresh, state.Published = t.refitAfter(refit), time.Time{}
	if state.Pinned || state.Live == nil || state.Live.Source != learnedFromFeedback {
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
