package trainer

import (
	"fmt"
	"time"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// tenantState is the state of one tenant.
type tenantState struct {
	name     string
	record   tenantRecord
	clusters map[string]*cluster // by id
	history  map[string]History  // by version

	changed      bool            // the record, since it was saved
	dirty        map[string]bool // clusters that changed since they were saved
	usageChanged bool            // since usage was made last
	usage        *schema.Usage   // to be published; nil: nothing new
}

// tenantRecord is the part of the state of a tenant that is stored as one record.
type tenantRecord struct {
	Models     map[string]*modelState `json:"models,omitempty"` // by embedding model
	UsageEpoch uint64                 `json:"usage_epoch"`
	UsageMade  time.Time              `json:"usage_made"`
	Withheld   bool                   `json:"withheld,omitempty"` // usage does not rank: it does harm
	Forgotten  []forgotten            `json:"forgotten,omitempty"`
}

// modelState is the learned state of an embedding model: the features of two models cannot be
// compared.
type modelState struct {
	Epoch     uint64          `json:"epoch"` // the highest that was given
	Live      *schema.Weights `json:"live,omitempty"`
	Pinned    bool            `json:"pinned,omitempty"`
	Published time.Time       `json:"published"`       // when the newest version was made
	Fresh     int             `json:"fresh,omitempty"` // searches since the last fit
}

func newTenantState(name string) *tenantState {
	return &tenantState{name: name, clusters: map[string]*cluster{}, history: map[string]History{}, dirty: map[string]bool{}}
}

// model returns the state of an embedding model, and creates it if necessary.
func (t *tenantState) model(name string) *modelState {
	if t.record.Models == nil {
		t.record.Models = map[string]*modelState{}
	}
	if t.record.Models[name] == nil {
		t.record.Models[name] = &modelState{}
	}
	return t.record.Models[name]
}

// live returns the weights for searches with an embedding model.
func (t *tenantState) live(model string) schema.Weights {
	if m := t.record.Models[model]; m != nil && m.Live != nil {
		return *m.Live
	}
	return fusion.BuiltinFor(model)
}

// sealed returns w as the next version of a model. Its epoch exceeds the epochs of all models
// of the tenant, because versions are listed by epoch. The error is a *schema.Invalid if w
// cannot rank.
func (t *tenantState) sealed(model string, w schema.Weights, parent string, now time.Time) (schema.Weights, error) {
	w.Epoch = 1
	for _, m := range t.record.Models {
		w.Epoch = max(w.Epoch, m.Epoch+1)
	}
	w.Parent, w.Model, w.Created = parent, model, now
	w.Version = fmt.Sprintf("w%d", w.Epoch)
	draft, err := fusion.Seal(w)
	if err != nil {
		return schema.Weights{}, err
	}
	w.Version += "-" + draft.Hash[:8] // of everything but the version itself
	if w, err = fusion.Seal(w); err != nil {
		return schema.Weights{}, err
	}
	t.model(model).Epoch, t.changed = w.Epoch, true
	return w, nil
}

// goLive makes a sealed version the live version of a model. The history of the previous live
// version ends with the status and the reason.
func (t *tenantState) goLive(m *memory, model string, w schema.Weights, h History, status Status, reason string) error {
	now := w.Created
	state := t.model(model)
	if before := state.Live; before != nil {
		old := t.history[before.Version]
		old.Status, old.Since, old.Reason = status, now, reason
		if err := t.setHistory(m, before.Version, old); err != nil {
			return err
		}
	}
	h.Status, h.Since = Live, now
	state.Live, state.Published, t.changed = &w, now, true
	return t.setHistory(m, w.Version, h)
}
