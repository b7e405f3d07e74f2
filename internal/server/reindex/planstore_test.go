package reindex

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
)

func planStore(b Bucket, file, model string) *PlanStore {
	return NewPlanStore(b, First(Version{Setting: model}), file, slog.New(slog.DiscardHandler))
}

func (p *PlanStore) plan() Plan { plan, _ := p.Plan(); return plan }

func toModel(model string) func(Plan) (Plan, error) {
	return func(p Plan) (Plan, error) { return p.Next(Version{Setting: model, Model: model}) }
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAllProcessesAdoptTheSamePlan(t *testing.T) {
	b := streamtest.NewKV()
	first, second := planStore(b, "", "a"), planStore(b, "", "b")
	for _, p := range []*PlanStore{first, second} {
		check.OK(t, p.Begin(t.Context(), p.plan()))
	}
	if g, _ := second.plan().Find(1); g.Setting != "a" {
		t.Errorf("the second one goes by %+v", g)
	}
	stop := check.Run(t, second.Run)
	changed := second.Changed()
	check.Value(first.Change(t.Context(), toModel("c")))(t)
	<-changed
	for second.plan().Target != 2 {
		<-second.Changed()
	}
	stop()
}

func TestThePlanOutlivesTheStore(t *testing.T) {
	b, file := streamtest.NewKV(), filepath.Join(t.TempDir(), "sub", "plan.json")
	p := planStore(b, file, "a")
	if p.Known() {
		t.Error("nothing is known yet")
	}
	check.OK(t, p.Begin(t.Context(), p.plan()))
	check.Value(p.Change(t.Context(), toModel("b")))(t)
	p.Serve(2)
	again := planStore(b, file, "a")
	if _, read := again.Plan(); read || !again.Known() || again.plan().Target != 2 || again.Serving() != 2 {
		t.Errorf("it goes by %+v, serving %d", again.plan(), again.Serving())
	}
	// A store that lost everything is told, by whom it asks or by whom it tells.
	b.Clear()
	if err := again.Begin(t.Context(), First(Version{Setting: "z"})); err != nil || again.plan().Target != 2 {
		t.Errorf("%+v, %v", again.plan(), err)
	}
	b.Clear()
	fresh := planStore(b, "", "z")
	check.OK(t, fresh.Begin(t.Context(), fresh.plan()))
	if err := again.Read(t.Context()); err != nil || again.plan().Target != 2 {
		t.Errorf("%+v, %v", again.plan(), err)
	}
	if err := fresh.Read(t.Context()); err != nil || fresh.plan().Target != 2 {
		t.Errorf("the store says %+v, %v", fresh.plan(), err)
	}
	check.OK(t, os.WriteFile(file, []byte("{"), 0o600))
	if p := planStore(b, file, "a"); p.Known() || p.plan().Target != 1 {
		t.Errorf("from a damaged file: %+v", p.plan())
	}
}

func TestOnlyOneOfTwoChangesAtOnceWins(t *testing.T) {
	b := streamtest.NewKV()
	p := planStore(b, "", "a")
	check.OK(t, p.Begin(t.Context(), p.plan()))
	calls := 0
	got, err := p.Change(t.Context(), func(now Plan) (Plan, error) {
		if calls++; calls == 1 { // somebody else comes in between
			if _, err := planStore(b, "", "a").Change(t.Context(), toModel("b")); err != nil {
				t.Error(err)
			}
		}
		return now.Next(Version{Setting: "c", Model: "c"})
	})
	if err != nil || calls != 2 || got.Target != 3 || got.Has(2) {
		t.Errorf("%d calls, %+v, %v", calls, got, err)
	}
}

// overtaken is a bucket in which somebody else changes the plan as soon as it was
// written, and of which that is heard before the writer goes on.
type overtaken struct {
	*streamtest.KV
	then func()
}

func (o *overtaken) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	written, err := o.KV.Update(ctx, key, value, revision)
	if then := o.then; err == nil && then != nil {
		o.then = nil
		then()
	}
	return written, err
}

// What somebody else changed is not taken back by who changed it before and is slower.
func TestALaterPlanHolds(t *testing.T) {
	b := &overtaken{KV: streamtest.NewKV()}
	p := planStore(b, "", "a")
	check.OK(t, p.Begin(t.Context(), p.plan()))
	other := planStore(b.KV, "", "a")
	b.then = func() {
		if _, err := other.Change(t.Context(), toModel("c")); err != nil {
			t.Error(err)
		}
		if err := p.Read(t.Context()); err != nil {
			t.Error(err)
		}
	}
	check.Value(p.Change(t.Context(), toModel("b")))(t)
	if got, want := p.plan(), other.plan(); got.Target != 3 || got.Target != want.Target {
		t.Errorf("goes by the target %d, the store has %d", got.Target, want.Target)
	}
}

// A store that lost what it had counts from the beginning, and is followed all the same.
func TestARestartedStoreIsFollowed(t *testing.T) {
	b := streamtest.NewKV()
	p := planStore(b, "", "a")
	for _, change := range []func() error{
		func() error { return p.Begin(t.Context(), p.plan()) },
		func() error { _, err := p.Change(t.Context(), toModel("b")); return err },
	} {
		check.OK(t, change())
	}
	fresh := p.plan()
	fresh.Target = 1
	raw := check.Value(encode(fresh))(t)
	b.Clear()
	check.Value(b.Create(t.Context(), planKey, raw))(t)
	check.OK(t, p.Read(t.Context()))
	if p.plan().Target != 1 {
		t.Errorf("goes by the target %d", p.plan().Target)
	}
}
