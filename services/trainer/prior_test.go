package trainer

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// teachTenant runs n searches of a tenant of which that result is used.
func (b *bench) teachTenant(tenant, prefix, used string, n int) {
	b.t.Helper()
	for i := range n {
		imp := b.impression(fmt.Sprint(prefix, i), "wordy", "right", "other")
		imp.Tenant = tenant
		f := b.feedback(imp.SearchID, used, schema.Succeeded)
		f.Tenant = tenant
		b.must(b.show(imp))
		b.must(b.report(f))
	}
	b.advance()
}

func (b *bench) modelOf(tenant string) (schema.Weights, fusion.Model) {
	b.t.Helper()
	w, err := b.Live(tenant)
	b.must(err)
	m, err := fusion.ModelOf(w)
	b.must(err)
	return w, m
}

func TestATenantBeginsWithWhatOthersLearned(t *testing.T) {
	b := newBench(t, quick())
	b.teachTenant("one", "a", "right", 40)
	b.teachTenant("early", "b", "wordy", 1)
	if w, _ := b.modelOf("early"); w.Version != fusion.BuiltinName {
		t.Fatalf("begins with what a single other learned: %s", w.Source)
	}
	b.teachTenant("two", "c", "right", 40)
	b.teachTenant("late", "d", "right", 1)
	b.restart(quick())
	builtin := builtin("")
	_, one := b.modelOf("one")
	_, two := b.modelOf("two")
	for _, tenant := range []string{"late", "early"} { // as long as it has learned nothing yet
		w, got := b.modelOf(tenant)
		if !strings.Contains(w.Source, "2 other tenants") || w.Parent != fusion.BuiltinName {
			t.Fatalf("%s begins with %s: %s", tenant, w.Version, w.Source)
		}
		for f := range got.Features {
			if want := (builtin.Features[f] + one.Features[f] + two.Features[f]) / 3; math.Abs(got.Features[f]-want) > 1e-9 {
				t.Errorf("%s: %s is %v, want %v", tenant, fusion.Feature(f), got.Features[f], want)
			}
		}
	}
	if m := b.memory.tenants["late"].find("").learner.Model(); m.Features != b.memory.tenants["late"].find("").liveModel().Features {
		t.Error("what is learned does not begin there")
	}
}

// What helps others need not help everybody.
func TestATenantLeavesWhatOthersLearned(t *testing.T) {
	cfg := quick()
	cfg.Sample = 10
	b := newBench(t, cfg)
	b.teachTenant("one", "a", "right", 40)
	b.teachTenant("two", "c", "right", 40)
	b.teachTenant("late", "d", "wordy", 1)
	if w, _ := b.modelOf("late"); !strings.Contains(w.Source, "other tenants") {
		t.Fatalf("begins with %s", w.Source)
	}
	b.teachTenant("late", "e", "wordy", 20)
	w, _ := b.modelOf("late")
	if !strings.HasPrefix(w.Source, "rolled back by itself") || !sameContent(t, w, fusion.Builtin()) {
		t.Fatalf("%s: %s", w.Version, w.Source)
	}
	b.restart(cfg)
	b.advance()
	if again, _ := b.modelOf("late"); again.Version != w.Version || b.memory.tenants["late"].find("").record.Base != nil {
		t.Errorf("begins once more: %s", again.Source)
	}
}

// What somebody gave a tenant is nobody else's to begin with, however much it learned
// before.
func TestNobodyBeginsWithWhatWasGiven(t *testing.T) {
	b := newBench(t, quick())
	b.teachTenant("one", "a", "right", 40)
	b.teachTenant("two", "c", "right", 40)
	given, _ := b.modelOf("two")
	given.Source = learnedFromFeedback // as it may say itself
	if _, err := b.Take(t.Context(), "two", given); err != nil {
		t.Fatal(err)
	}
	b.teachTenant("late", "d", "right", 1)
	if w, _ := b.modelOf("late"); w.Version != fusion.BuiltinName {
		t.Errorf("begins with what was given: %s", w.Source)
	}
}
