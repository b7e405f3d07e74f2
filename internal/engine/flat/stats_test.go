package flat

import (
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/testing/adaptertest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// What has no vector, what searches leave out, and what waits for a language model is counted as it is applied,
// and as it is read from the file.
func TestStatsCountBareQuarantinedAndPendingTools(t *testing.T) {
	folder := t.TempDir()
	i := open(t, folder)
	m := newMaker(1)
	tools := m.tools("tenant", 4)
	tools[1].Vectors = &events.Vectors{Model: tools[1].Vectors.Model, Dimensions: m.dimensions}
	tools[2].Document.Quarantined = true
	tools[3].Document.Standardized = &schema.Origin{Fallback: schema.FallbackPending}
	tools[3].Document.Description = `says "quarantined":true of itself`
	apply(t, i, 1, tools...)
	check := func(how string, i *Index) {
		t.Helper()
		lookup := index.Lookup{Tenant: "tenant", Probe: index.Probe{Query: index.Text{Words: tools[2].Document.Name}}, Model: adaptertest.Weights(), N: 10, Also: []string{tools[2].ID}}
		found, err := i.Candidates(t.Context(), lookup)
		if err != nil || len(found) == 0 || slices.ContainsFunc(found, func(c index.Candidate) bool { return c.ID == tools[2].ID }) {
			t.Errorf("%s: %d candidates, %v; or the one in quarantine is among them", how, len(found), err)
		}
		if s := i.Stats()["tenant"]; s.Tools != 4 || s.Bare != 1 || s.Quarantined != 1 || s.Pending != 1 || !s.PendingSince.Equal(tools[3].Accepted) {
			t.Errorf("%s: %+v, want 4 tools, 1 bare, 1 quarantined, 1 pending", how, s)
		}
	}
	check("applied", i)
	i = reopen(t, i)
	check("from the file", i)
	tools[2].Document.Quarantined = false
	tools[2].Revision += 1000
	apply(t, i, 2, tools[2])
	if s := i.Stats()["tenant"]; s.Quarantined != 0 {
		t.Errorf("%+v after it was let go", s)
	}
}
