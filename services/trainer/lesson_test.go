package trainer

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// teachBy is teach, by searches of an embedding model.
func (b *bench) teachBy(model, prefix string, n int) {
	b.t.Helper()
	for i := range n {
		imp := b.impression(fmt.Sprint(prefix, i), "wordy", "right", "other")
		imp.Model = model
		b.must(b.show(imp))
		b.must(b.report(b.feedback(imp.SearchID, "right", schema.Called)))
	}
	b.advance()
}

// Weights are learned for each model by itself, stay through a change and a step
// back, and outlive a loss of the state.
func TestEveryModelHasItsOwnWeights(t *testing.T) {
	ctx := context.Background()
	cfg := quick()
	cfg.Model = "m"
	b := newBench(t, cfg)
	b.teachBy("m", "first", 4)
	first, err := b.Live("default")
	if err != nil || first.Epoch != 1 || first.Model != "m" {
		t.Fatalf("%+v, %v", first, err)
	}
	b.Serve("n")
	if live, err := b.Live("default"); err != nil || live.Epoch != 0 || live.Version != "builtin" {
		t.Fatalf("the weights of another model are live: %+v, %v", live, err)
	}
	b.teachBy("n", "second", 4)
	second, err := b.Live("default")
	if err != nil || second.Epoch != 2 || second.Model != "n" || second.Parent != "builtin" || second.Trained != first.Trained {
		t.Fatalf("%+v, %v", second, err)
	}
	for model, want := range map[string]schema.Weights{"m": first, "n": second} {
		if w, _ := b.store.weights(t, liveKey+schema.ModelOwner("default", model)); w.Hash != want.Hash {
			t.Errorf("%s: the store has %+v", model, w)
		}
	}
	if list, _, err := b.Versions(ctx, "default"); err != nil || len(list) != 3 {
		t.Errorf("%d versions, %v", len(list), err)
	}
	b.state = newRecords()
	b.restart(cfg)
	b.advance()
	if live, err := b.Live("default"); err != nil || live.Hash != first.Hash {
		t.Errorf("after a step back: %+v, %v", live, err)
	}
	b.Serve("n")
	b.advance()
	if live, err := b.Live("default"); err != nil || live.Hash != second.Hash {
		t.Errorf("and forth: %+v, %v", live, err)
	}
	if got, err := b.Rollback(ctx, "default"); err != nil || got.Epoch != 3 || got.Model != "n" {
		t.Errorf("rolled back to %+v, %v", got, err)
	}
}

// What was learned before models were told apart is the searched model's.
func TestOldWeightsAndStateBecomeTheModels(t *testing.T) {
	b := newBench(t, quick())
	b.teach("old", 4)
	old, _ := b.store.weights(t, liveKey+"default")
	record := map[string]any{}
	raw, _ := b.state.Get(keyTenant + "default")
	b.must(json.Unmarshal(raw, &record))
	for key, value := range record["lessons"].([]any)[0].(map[string]any) {
		record[key] = value
	}
	delete(record, "lessons")
	raw, _ = json.Marshal(record)
	b.must(b.state.Save(map[string][]byte{keyTenant + "default": raw}))

	cfg := quick()
	cfg.Model = "m"
	b.restart(cfg)
	b.advance()
	if _, there := b.store.values[liveKey+"default"]; there {
		t.Error("they stand where every model would take them")
	}
	if w, _ := b.store.weights(t, liveKey+schema.ModelOwner("default", "m")); w.Hash != old.Hash {
		t.Errorf("the model's are %+v", w)
	}
	b.teachBy("m", "more", 4)
	if live, err := b.Live("default"); err != nil || live.Epoch != 2 || live.Parent != old.Version || live.Trained <= old.Trained {
		t.Errorf("learning did not go on: %+v, %v", live, err)
	}
}

// Whoever can write to the bus can name models: they are not remembered for ever.
func TestModelsAreForgotten(t *testing.T) {
	b := newBench(t, quick())
	for i := range 2 * maxLessons {
		b.teachBy(strings.Repeat("m", i+1), fmt.Sprint("s", i, "-"), 2)
	}
	lessons := b.memory.tenants["default"].lessons
	if len(lessons) != maxLessons || b.memory.tenants["default"].find("") == nil {
		t.Errorf("%d lessons", len(lessons))
	}
}

// What another release learned of features that are not the same ones is not taken for
// what this one would have.
func TestALessonOfOtherFeaturesBeginsAnew(t *testing.T) {
	b := newBench(t, quick())
	w := published(b, 2)[1]
	a := b.memory.tenants["default"]
	record := a.lessons[0].record
	record.Learner = a.lessons[0].learner.State()
	want, err := fusion.ModelOf(w)
	b.must(err)
	for name, features := range map[string]int{"older": int(fusion.FeatureCount) - 1, "newer": int(fusion.FeatureCount) + 1} {
		record.Learner.Features = features
		for i := range record.Learner.Params {
			record.Learner.Params[i] = 0.5
		}
		other := newAccount("default")
		b.must(other.resume(b.Service, record))
		got := other.lessons[0]
		model, shown := got.learner.Model(), example(b.impression("x", "wordy").Shown[0])
		if d := model.Linear(&shown.Features) - want.Linear(&shown.Features); math.Abs(d) > 1e-6 || len(got.record.Pending) > 0 {
			t.Errorf("%s: it ranks by %v more than the live weights", name, d)
		}
	}
}
