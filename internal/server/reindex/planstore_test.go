package indexmgr

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/stream"
)

// bucket is a store of one key.
type bucket struct {
	mu      sync.Mutex
	entry   *stream.Entry
	away    error
	changed chan struct{}
}

func newBucket() *bucket { return &bucket{changed: make(chan struct{})} }

func (b *bucket) Get(context.Context, string) (stream.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away != nil {
		return stream.Entry{}, b.away
	}
	if b.entry == nil {
		return stream.Entry{}, stream.ErrNotFound
	}
	return *b.entry, nil
}

func (b *bucket) Create(_ context.Context, key string, value []byte) (uint64, error) {
	return b.write(key, value, 0)
}

func (b *bucket) Update(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return b.write(key, value, revision)
}

func (b *bucket) write(key string, value []byte, revision uint64) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := uint64(0)
	if b.entry != nil {
		now = b.entry.Revision
	}
	if now != revision {
		return 0, stream.ErrConflict
	}
	b.entry = &stream.Entry{Key: key, Value: value, Revision: now + 1}
	close(b.changed)
	b.changed = make(chan struct{})
	return now + 1, nil
}

func (b *bucket) Watch(ctx context.Context, _ string, fn func(stream.Entry) error) error {
	seen := uint64(0)
	for {
		b.mu.Lock()
		e, changed := b.entry, b.changed
		b.mu.Unlock()
		if e != nil && e.Revision > seen {
			seen = e.Revision
			if err := fn(*e); err != nil {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

func planStore(b Bucket, file, model string) *PlanStore {
	return NewPlanStore(b, First(Version{Setting: model}), file, slog.New(slog.DiscardHandler))
}

func (p *PlanStore) plan() Plan { plan, _ := p.Plan(); return plan }

func toModel(model string) func(Plan) (Plan, error) {
	return func(p Plan) (Plan, error) { return p.Next(Version{Setting: model, Model: model}) }
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEverybodyComesToTheSamePlan(t *testing.T) {
	b := newBucket()
	first, second := planStore(b, "", "a"), planStore(b, "", "b")
	for _, p := range []*PlanStore{first, second} {
		if err := p.Begin(t.Context(), p.plan()); err != nil {
			t.Fatal(err)
		}
	}
	if g, _ := second.plan().Find(1); g.Setting != "a" {
		t.Errorf("the second one goes by %+v", g)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- second.Run(ctx) }()
	changed := second.Changed()
	if _, err := first.Change(ctx, toModel("c")); err != nil {
		t.Fatal(err)
	}
	<-changed
	for second.plan().Target != 2 {
		<-second.Changed()
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestThePlanOutlivesTheStore(t *testing.T) {
	b, file := newBucket(), filepath.Join(t.TempDir(), "sub", "plan.json")
	p := planStore(b, file, "a")
	if p.Known() {
		t.Error("nothing is known yet")
	}
	if err := p.Begin(t.Context(), p.plan()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Change(t.Context(), toModel("b")); err != nil {
		t.Fatal(err)
	}
	p.Serve(2)
	again := planStore(b, file, "a")
	if _, read := again.Plan(); read || !again.Known() || again.plan().Target != 2 || again.Serving() != 2 {
		t.Errorf("it goes by %+v, serving %d", again.plan(), again.Serving())
	}
	// A store that lost everything is told, by whom it asks or by whom it tells.
	*b = *newBucket()
	if err := again.Begin(t.Context(), First(Version{Setting: "z"})); err != nil || again.plan().Target != 2 {
		t.Errorf("%+v, %v", again.plan(), err)
	}
	*b = *newBucket()
	fresh := planStore(b, "", "z")
	if err := fresh.Begin(t.Context(), fresh.plan()); err != nil {
		t.Fatal(err)
	}
	if err := again.Read(t.Context()); err != nil || again.plan().Target != 2 {
		t.Errorf("%+v, %v", again.plan(), err)
	}
	if err := fresh.Read(t.Context()); err != nil || fresh.plan().Target != 2 {
		t.Errorf("the store says %+v, %v", fresh.plan(), err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := planStore(b, file, "a"); p.Known() || p.plan().Target != 1 {
		t.Errorf("from a damaged file: %+v", p.plan())
	}
}

func TestOnlyOneOfTwoChangesAtOnceWins(t *testing.T) {
	b := newBucket()
	p := planStore(b, "", "a")
	if err := p.Begin(t.Context(), p.plan()); err != nil {
		t.Fatal(err)
	}
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
	*bucket
	then func()
}

func (o *overtaken) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	written, err := o.bucket.Update(ctx, key, value, revision)
	if then := o.then; err == nil && then != nil {
		o.then = nil
		then()
	}
	return written, err
}

// What somebody else changed is not taken back by who changed it before and is slower.
func TestALaterPlanHolds(t *testing.T) {
	b := &overtaken{bucket: newBucket()}
	p := planStore(b, "", "a")
	if err := p.Begin(t.Context(), p.plan()); err != nil {
		t.Fatal(err)
	}
	other := planStore(b.bucket, "", "a")
	b.then = func() {
		if _, err := other.Change(t.Context(), toModel("c")); err != nil {
			t.Error(err)
		}
		if err := p.Read(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.Change(t.Context(), toModel("b")); err != nil {
		t.Fatal(err)
	}
	if got, want := p.plan(), other.plan(); got.Target != 3 || got.Target != want.Target {
		t.Errorf("goes by the target %d, the store has %d", got.Target, want.Target)
	}
}

// A store that lost what it had counts from the beginning, and is followed all the same.
func TestAStoreThatBeginsAnewIsFollowed(t *testing.T) {
	b := newBucket()
	p := planStore(b, "", "a")
	for _, change := range []func() error{
		func() error { return p.Begin(t.Context(), p.plan()) },
		func() error { _, err := p.Change(t.Context(), toModel("b")); return err },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	fresh := p.plan()
	fresh.Target = 1
	raw, err := encode(fresh)
	if err != nil {
		t.Fatal(err)
	}
	b.entry = &stream.Entry{Key: planKey, Value: raw, Revision: 1}
	if err := p.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.plan().Target != 1 {
		t.Errorf("goes by the target %d", p.plan().Target)
	}
}
