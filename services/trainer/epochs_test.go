package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Of a tenant that comes up while the trainer asks what the store has nothing is
// published before it knows: what the store has may be newer than anything here.
func TestWhoComesUpMeanwhileIsAskedForFirst(t *testing.T) {
	b := newBench(t, Config{})
	raw, err := json.Marshal(schema.Usage{Schema: schema.UsageSchema, Tenant: "late", Epoch: 500, Prior: map[string]float64{"b": 1}})
	b.must(err)
	b.store.values[usageKey+"late"] = raw
	b.teach("known", 1)
	b.restart(Config{})
	b.store.asked = func() {
		b.store.asked = nil
		imp, f := b.impression("s", "a", "b"), b.feedback("s", "b", schema.Called)
		imp.Tenant, f.Tenant = "late", "late"
		b.must(b.show(imp))
		b.must(b.report(f))
	}
	b.advance()
	if b.store.asked != nil || b.memory.tenants["late"] == nil {
		t.Fatal("nobody came up")
	}
	b.advance()
	if u := b.store.usage(t, "late"); u.Epoch != 501 || u.Prior["b"] == 0 {
		t.Errorf("epoch %d: %v", u.Epoch, u.Prior)
	}
}

// Weights that are tried and refused, one after the other, leave no more than the
// versions that are kept, and those that serve whatever their age.
func TestRefusedTrialsAreForgotten(t *testing.T) {
	cfg := wary()
	cfg.Keep = 3
	b := newBench(t, cfg)
	ctx := context.Background()
	live, err := b.Promote(ctx, "default", "heuristic")
	b.must(err)
	for range 10 {
		b.must(b.change(func(m *memory) error {
			a := m.tenant("default")
			l := a.lesson(b.Service, "")
			w, err := a.sealed(l, live, live.Version, b.now)
			if err != nil {
				return err
			}
			return b.try(m, a, l, w, History{}, b.now)
		}))
		b.must(b.publish(ctx))
		b.must(b.change(func(m *memory) error {
			a := m.tenant("default")
			return b.drop(m, a, a.find(""), "for a test")
		}))
		b.must(b.publish(ctx))
	}
	kept, err := b.versions(ctx, "default")
	b.must(err)
	records := 0
	for key := range b.state.values {
		if strings.HasPrefix(key, keyVersion) {
			records++
		}
	}
	if most := cfg.Keep + 1; len(kept) > most || records > most || len(b.memory.tenants["default"].history) > most {
		t.Errorf("%d versions and %d records are kept, %d known", len(kept), records, len(b.memory.tenants["default"].history))
	}
	if got, err := b.Version(ctx, "default", live.Version); err != nil || b.standing(got.Version) != Live {
		t.Errorf("the live version: %v, %s", err, b.standing(got.Version))
	}
}

// What the store refuses of one tenant keeps nothing of the others back.
func TestOneTenantKeepsNobodyBack(t *testing.T) {
	b := newBench(t, Config{})
	refused := errors.New("too large")
	b.store.refuse = func(key string) error {
		if key == usageKey+"first" {
			return refused
		}
		return nil
	}
	for i, tenant := range []string{"first", "second"} {
		imp, f := b.impression(fmt.Sprint("s", i), "a", "b"), b.feedback(fmt.Sprint("s", i), "b", schema.Called)
		imp.Tenant, f.Tenant = tenant, tenant
		b.must(b.show(imp))
		b.must(b.report(f))
	}
	b.now = b.now.Add(time.Minute)
	if err := b.Advance(t.Context()); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	if u := b.store.usage(t, "second"); u.Prior["b"] == 0 {
		t.Errorf("of the second there is %v", u.Prior)
	}
	if w, err := b.Promote(t.Context(), "second", "builtin"); err != nil || w.Epoch == 0 {
		t.Errorf("promoted for the second: %+v, %v", w, err)
	}
	b.store.refuse = nil
	b.advance()
	if u := b.store.usage(t, "first"); u.Prior["b"] == 0 {
		t.Errorf("of the first there is %v", u.Prior)
	}
}

// The longer tables take to make, the seldomer they are made, and all else goes on.
func TestUsageIsMadeSeldomerTheLongerItTakes(t *testing.T) {
	b := newBench(t, Config{})
	b.teach("first", 1)
	epoch := func() uint64 { return b.store.usage(t, "default").Epoch }
	before := epoch()
	b.ticks = 20 * time.Second // every look at the clock takes so long
	b.teach("second", 1)
	b.ticks = 0
	made := epoch()
	if made != before+1 {
		t.Fatalf("epoch %d after %d", made, before)
	}
	use := func(search string) {
		b.must(b.show(b.impression(search, "a", "b")))
		b.must(b.report(b.feedback(search, "b", schema.Called)))
		b.now = b.now.Add(time.Second)
		b.must(b.Advance(t.Context()))
	}
	use("third")
	if epoch() != made {
		t.Errorf("made again before as much time has passed as it took")
	}
	b.now = b.now.Add(10 * time.Minute)
	use("fourth")
	if u := b.store.usage(t, "default"); u.Epoch != made+1 || u.Prior["b"] < 1.09 {
		t.Errorf("epoch %d after %d: %v", u.Epoch, made, u.Prior)
	}
}

// Live weights that can not be read, as those of a newer program, have an epoch all the
// same: replicas that have them refuse what is not newer.
func TestAnEpochOfWeightsThatCanNotBeReadIsNotGivenAgain(t *testing.T) {
	for name, damage := range map[string]string{
		"of a newer program": `{"schema":99,"version":"w41-00000000","epoch":41}`,
		"cut off":            `{"schema":1,"epoch":`,
	} {
		b := newBench(t, quick())
		w := published(b, 3)
		b.store.values["weights.live.default"] = []byte(damage)
		b.store.values["weights.version.default.w41-00000000"] = []byte(damage)
		b.state = newRecords()
		b.restart(quick())
		got, err := b.Promote(t.Context(), "default", w[0].Version)
		if err != nil || got.Epoch != 42 {
			t.Errorf("%s: epoch %d, %v", name, got.Epoch, err)
		}
	}
}
