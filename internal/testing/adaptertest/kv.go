package adaptertest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/bus/stream"
)

// KV is the interface of an adapter of the store of small, watched values.
type KV interface {
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	Get(ctx context.Context, key string) (stream.Entry, error)
	Delete(ctx context.Context, key string) error
	Keys(ctx context.Context, prefix string) ([]string, error)
	Watch(ctx context.Context, prefix string, fn func(stream.Entry) error) error
}

// KVAdapter describes an adapter to KVSuite.
type KVAdapter struct {
	// Open opens a bucket; see BusAdapter.Open.
	Open func(t *testing.T, place string) (kv KV, closeKV func())
}

// KVSuite checks an adapter of the store of small values.
func KVSuite(t *testing.T, a KVAdapter) {
	tests := []struct {
		name string
		run  func(*kvTest)
	}{
		{"put and get", testPutGet},
		{"create and update", testCompareAndSet},
		{"keys", testKeys},
		{"watch", testWatch},
		{"restart", testKVRestart},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			place := t.TempDir()
			kv, closeKV := a.Open(t, place)
			kt := &kvTest{T: t, adapter: a, place: place, ctx: ctx, kv: kv, close: closeKV}
			t.Cleanup(func() { kt.close() })
			tt.run(kt)
		})
	}
}

// kvTest is one test with its own bucket.
type kvTest struct {
	*testing.T
	adapter KVAdapter
	place   string
	ctx     context.Context
	kv      KV
	close   func()
}

// must returns the revision of a call that must not fail.
func (t *kvTest) must(revision uint64, err error) uint64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func (t *kvTest) want(key, value string) stream.Entry {
	t.Helper()
	e, err := t.kv.Get(t.ctx, key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	if e.Key != key || string(e.Value) != value {
		t.Fatalf("get %s: %q, %q; want %q", key, e.Key, e.Value, value)
	}
	return e
}

func testPutGet(t *kvTest) {
	if _, err := t.kv.Get(t.ctx, "a"); !errors.Is(err, stream.ErrNotFound) {
		t.Errorf("get of nothing: %v, want ErrNotFound", err)
	}
	first := t.must(t.kv.Put(t.ctx, "a", []byte("1")))
	second := t.must(t.kv.Put(t.ctx, "a", []byte("2")))
	if e := t.want("a", "2"); e.Revision != second || second <= first {
		t.Errorf("revisions %d, %d, then read %d: want them to rise", first, second, e.Revision)
	}
	t.must(t.kv.Put(t.ctx, "empty", nil))
	if e := t.want("empty", ""); e.Value == nil {
		t.Error("an empty value reads like a deleted one")
	}
	if err := t.kv.Delete(t.ctx, "a"); err != nil {
		t.Fatalf("delete: %v", err)
	}
	if _, err := t.kv.Get(t.ctx, "a"); !errors.Is(err, stream.ErrNotFound) {
		t.Errorf("get after delete: %v, want ErrNotFound", err)
	}
	if err := t.kv.Delete(t.ctx, "never"); err != nil {
		t.Errorf("delete of nothing: %v", err)
	}
}

func testCompareAndSet(t *kvTest) {
	revision := t.must(t.kv.Create(t.ctx, "a", []byte("1")))
	if _, err := t.kv.Create(t.ctx, "a", []byte("x")); !errors.Is(err, stream.ErrConflict) {
		t.Errorf("second create: %v, want ErrConflict", err)
	}
	t.must(t.kv.Put(t.ctx, "other", []byte("x")))
	newer := t.must(t.kv.Update(t.ctx, "a", []byte("2"), revision))
	if _, err := t.kv.Update(t.ctx, "a", []byte("x"), revision); !errors.Is(err, stream.ErrConflict) {
		t.Errorf("update of an old revision: %v, want ErrConflict", err)
	}
	if e := t.want("a", "2"); e.Revision != newer {
		t.Errorf("revision %d, want %d", e.Revision, newer)
	}
}

func testKeys(t *kvTest) {
	if keys, err := t.kv.Keys(t.ctx, ""); err != nil || len(keys) != 0 {
		t.Errorf("keys of an empty bucket: %q, %v", keys, err)
	}
	for _, key := range []string{"b.2", "a.1", "b.1", "b.3"} {
		t.must(t.kv.Put(t.ctx, key, []byte(key)))
	}
	if err := t.kv.Delete(t.ctx, "b.3"); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string][]string{"": {"a.1", "b.1", "b.2"}, "b.": {"b.1", "b.2"}, "c": nil} {
		keys, err := t.kv.Keys(t.ctx, prefix)
		if err != nil || !slices.Equal(keys, want) {
			t.Errorf("keys with %q: %q, %v; want %q", prefix, keys, err, want)
		}
	}
}

// testWatch expects the present values, then every change, and nothing else.
func testWatch(t *kvTest) {
	t.must(t.kv.Put(t.ctx, "w.a", []byte("old")))
	t.must(t.kv.Put(t.ctx, "w.a", []byte("new")))
	t.must(t.kv.Put(t.ctx, "other", []byte("x")))
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	entries := make(chan stream.Entry)
	done := make(chan error, 1)
	go func() {
		done <- t.kv.Watch(ctx, "w.", func(e stream.Entry) error {
			select {
			case entries <- e:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	next := func(key, value string, gone bool) {
		t.Helper()
		select {
		case e := <-entries:
			if e.Key != key || string(e.Value) != value || (e.Value == nil) != gone {
				t.Errorf("watch gave %q = %q, want %q = %q", e.Key, e.Value, key, value)
			}
		case <-t.ctx.Done():
			t.Fatalf("watch did not give %q", key)
		}
	}
	next("w.a", "new", false)
	t.must(t.kv.Put(t.ctx, "other", []byte("y")))
	t.must(t.kv.Put(t.ctx, "w.b", []byte("1")))
	next("w.b", "1", false)
	if err := t.kv.Delete(t.ctx, "w.a"); err != nil {
		t.Fatal(err)
	}
	next("w.a", "", true)
	cancel()
	if err := <-done; err != nil {
		t.Errorf("watch ended with %v", err)
	}
	err := t.kv.Watch(t.ctx, "w.", func(stream.Entry) error { return errEnough })
	if !errors.Is(err, errEnough) {
		t.Errorf("watch ended with %v, want the callback's error", err)
	}
}

func testKVRestart(t *kvTest) {
	revision := t.must(t.kv.Put(t.ctx, "a", []byte("1")))
	t.close()
	t.kv, t.close = t.adapter.Open(t.T, t.place)
	if e := t.want("a", "1"); e.Revision != revision {
		t.Errorf("revision %d after a restart, want %d", e.Revision, revision)
	}
	if next := t.must(t.kv.Put(t.ctx, "a", []byte("2"))); next <= revision {
		t.Errorf("revision %d after %d", next, revision)
	}
}
