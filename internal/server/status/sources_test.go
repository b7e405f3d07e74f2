package status

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/services/ingest/sources"
)

func TestSourcesThatAreNotFollowedAreNamed(t *testing.T) {
	since := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	one := func(name string, state sources.State, why string) sources.Source {
		return sources.Source{Name: name, Status: sources.Status{State: state, Since: since, LastError: why}}
	}
	all := []sources.Source{
		one("a", sources.Live, ""), one("b", sources.Polling, ""), one("c", sources.Stale, "no route"), one("d", sources.Held, ""),
		one("e", sources.AuthNeeded, "401"), one("f", sources.Refused, "private"), one("g", sources.Live, ""),
	}
	var err error
	r := &Reporter{Sources: func(_ context.Context, tenant string) ([]sources.Source, error) {
		if tenant != "default" {
			return nil, nil
		}
		return all, err
	}}
	s := r.sourcesOf(t.Context(), "default")
	if s == nil || s.States[sources.Live] != 2 || s.States[sources.Stale] != 1 || len(s.Unwell) != 4 {
		t.Fatalf("%+v", s)
	}
	f := findings{}
	f.judgeSources(s)
	for i, want := range []string{"c is stale since 2026-01-01T00:00:00Z: no route", "d is held", "e is auth_needed", "f is refused"} {
		if f[i].OK || !strings.Contains(f[i].What, want) || !strings.Contains(f[i].Remedy, "sources") || f[i].About != aboutSource || f[i].Name != want[:1] {
			t.Errorf("%+v, want %q", f[i], want)
		}
	}
	found := one("r.a", sources.AuthNeeded, "401")
	found.Parent = "r"
	f = nil
	f.judgeSources((&Reporter{Sources: func(context.Context, string) ([]sources.Source, error) {
		return []sources.Source{one("r", sources.Polling, ""), found, found, found}, nil
	}}).sourcesOf(t.Context(), "default"))
	if len(f) != 1 || !strings.Contains(f[0].What, "r.a with 2 others of its registry is auth_needed") {
		t.Errorf("found ones: %+v", f)
	}
	if r.sourcesOf(t.Context(), "acme") != nil {
		t.Error("a tenant sees the sources of another")
	}
	all = all[:2]
	f = nil
	if f.judgeSources(r.sourcesOf(t.Context(), "default")); len(f) != 1 || !f[0].OK {
		t.Errorf("all is well: %+v", f)
	}
	err = errors.New("away")
	if r.sourcesOf(t.Context(), "default") != nil {
		t.Error("the store is away, and there are sources")
	}
}
