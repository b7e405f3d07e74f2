package revisions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kept is a Log in memory.
type kept struct {
	mu     sync.Mutex
	values map[string][][]byte
	err    error
	most   int
}

func (k *kept) Append(_ context.Context, entries []stream.Entry) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return k.err
	}
	for _, e := range entries {
		all := append(k.values[e.Key], e.Value)
		k.values[e.Key] = all[max(0, len(all)-Kept):]
	}
	return nil
}

func (k *kept) Values(_ context.Context, key string) ([][]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.values[key], k.err
}

func (k *kept) Forget(_ context.Context, key string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.values, key)
	return k.err
}

func (k *kept) MaxValue() int { return k.most }

func (k *kept) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
}

func newKept() *kept { return &kept{values: map[string][][]byte{}} }

func room(int) error { return nil }

func ref(id string) schema.Ref {
	return schema.Ref{Tenant: "acme", Kind: schema.KindTool, ID: id}
}

// message is a change on tools.raw.
func message(t *testing.T, id string, revision uint64, raw string) stream.Message {
	t.Helper()
	c := events.Change{Ref: ref(id), Version: schema.Version{Revision: revision}, Op: events.OpUpsert, Raw: []byte(raw)}
	if raw == "" {
		c.Op = events.OpDelete
	}
	value := check.Value(events.Encode(&c))(t)
	return stream.Message{Topic: events.ToolsRaw, Key: events.Key(c.Ref), Value: value, Headers: events.Headers(&c)}
}

// record runs a recorder on a bus until everything there is committed, or fails.
func record(t *testing.T, bus *streamtest.Bus, r *Recorder) {
	t.Helper()
	stop := check.Run(t, r.Run)
	synctest.Wait()
	stop()
}

func newRecorder(bus *streamtest.Bus, log Log, room func(int) error) *Recorder {
	return NewRecorder(log, room, stream.Deps{
		Groups: bus, Publisher: bus, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Registerer: prometheus.NewRegistry(),
	})
}

// shown returns the revisions of a tool, those of deletes with a minus.
func shown(t *testing.T, log Log, id string, erased uint64) string {
	t.Helper()
	changes := check.Value(NewHistory(log, func(string) uint64 { return erased }).Of(t.Context(), ref(id)))(t)
	var out []string
	for _, c := range changes {
		sign := ""
		if c.Op == events.OpDelete {
			sign = "-"
		}
		out = append(out, fmt.Sprint(sign, c.Revision))
	}
	return strings.Join(out, " ")
}

// Changes that are read again, as after a crash, or in another order are each there once, by
// their revisions; a delete is one of them, and what follows it as well.
func TestEachChangeIsKeptOnceWhateverTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, log := streamtest.NewBus(), newKept()
		bus.KeepAll()
		all := []stream.Message{message(t, "a", 1, `"one"`), message(t, "b", 2, `"b"`), message(t, "a", 3, `"two"`), message(t, "a", 4, ""), message(t, "a", 5, `"three"`)}
		for _, msgs := range [][]stream.Message{all[:3], all, {all[2], all[0]}, all[1:2]} {
			check.OK(t, bus.Publish(t.Context(), msgs...))
			record(t, bus, newRecorder(bus, log, room))
		}
		if a, b := shown(t, log, "a", 0), shown(t, log, "b", 0); a != "1 3 -4 5" || b != "2" {
			t.Errorf("a has %s, b has %s", a, b)
		}
		if got := shown(t, log, "a", 3); got != "-4 5" {
			t.Errorf("behind a fence lies all but %s", got)
		}
	})
}

// While the log is away, or has no room, nothing is committed; then everything is kept. Nothing
// of it becomes a dead letter.
func TestAFailingLogCommitsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, log := streamtest.NewBus(), newKept()
		full := stream.ErrFull
		hasRoom := func(int) error { return full }
		publish := func(revision uint64) {
			check.OK(t, bus.Publish(t.Context(), message(t, fmt.Sprint("t", revision), revision, `"x"`)))
		}
		publish(1)
		record(t, bus, newRecorder(bus, log, hasRoom))
		full = nil
		log.fail(errors.New("away"))
		publish(2)
		record(t, bus, newRecorder(bus, log, hasRoom))
		if got := bus.Committed(events.ToolsRaw, Name)[0]; got != 0 {
			t.Errorf("committed at %d", got)
		}
		log.fail(nil)
		record(t, bus, newRecorder(bus, log, hasRoom))
		if got := shown(t, log, "t1", 0) + shown(t, log, "t2", 0); got != "12" {
			t.Errorf("kept are %s", got)
		}
		if letters := bus.Published(events.DLQ); len(letters) > 0 {
			t.Errorf("%d dead letters", len(letters))
		}
	})
}

// Kept is what can be shown: not what is too large, names no entity, or is written again for
// the language model. A null record ends the history of its key.
func TestUnfitRecordsAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, log := streamtest.NewBus(), newKept()
		log.most = 1000
		bus.KeepAll()
		again := message(t, "a", 2, `"two"`)
		again.Headers[events.HeaderRefresh] = "prompt"
		if err := bus.Publish(t.Context(), message(t, "a", 2, `"two"`), again,
			message(t, "a", 3, `"`+strings.Repeat("x", 1000)+`"`), message(t, "a", 4, `"four"`), message(t, "gone", 5, `"x"`),
			stream.Message{Topic: events.ToolsRaw, Key: "no key", Value: []byte("{}")},
			stream.Message{Topic: events.ToolsRaw, Key: events.Key(ref("gone")), Headers: map[string]string{events.HeaderRevision: "6"}},
		); err != nil {
			t.Fatal(err)
		}
		record(t, bus, newRecorder(bus, log, room))
		again.Headers[events.HeaderRefresh] = "another prompt"
		check.OK(t, bus.Publish(t.Context(), again))
		record(t, bus, newRecorder(bus, log, room))
		if got := shown(t, log, "a", 0); got != "2 4" {
			t.Errorf("kept are %s", got)
		}
		if len(log.values) != 1 || len(log.values[keyOf(ref("a"))]) > 3 {
			t.Errorf("kept are %q", log.values)
		}
	})
}

func TestKeysTellKindsAndTenantsApart(t *testing.T) {
	keys := map[string]bool{}
	for _, tenant := range []string{"a", "b"} {
		for _, kind := range []schema.Kind{schema.KindTool, schema.KindProvider} {
			for _, id := range []string{"x", "x.y", "x/y *>"} {
				key := keyOf(schema.Ref{Tenant: tenant, Kind: kind, ID: id})
				if keys[key] = true; !strings.HasPrefix(key, Prefix(tenant)) || strings.ContainsAny(key[2:], "./*> ") {
					t.Errorf("%q", key)
				}
			}
		}
	}
	if len(keys) != 12 {
		t.Errorf("%d keys", len(keys))
	}
}

func TestDifferences(t *testing.T) {
	before := schema.Document{
		Name: "n", Title: "t", Description: "d", Tags: []string{"x", "y"}, Flags: []string{"f"},
		Parameters: []schema.Parameter{{Name: "a/b", Type: "string"}, {Name: "gone"}, {Name: "last", Enum: []string{"1", "2"}}},
	}
	after := schema.Document{
		Name: "n", Description: "other", Tags: []string{"y"}, Response: "r", Examples: []string{"e"}, Flags: []string{"f"},
		Parameters: []schema.Parameter{{Name: "new"}, {Name: "last", Enum: []string{"2", "3"}, Required: true}, {Name: "a/b", Type: "string"}},
	}
	got := check.Value(Differences(&before, &after))(t)
	want := []Difference{
		{"/description", []byte(`"d"`), []byte(`"other"`)},
		{"/examples", nil, []byte(`["e"]`)},
		{"/parameters/0", nil, []byte(`{"name":"new"}`)},
		{"/parameters/1/enum/1", nil, []byte(`"3"`)},
		{"/parameters/1/enum/0", []byte(`"1"`), nil},
		{"/parameters/1/required", nil, []byte(`true`)},
		{"/parameters/1", []byte(`{"name":"gone"}`), nil},
		{"/response", nil, []byte(`"r"`)},
		{"/tags/0", []byte(`"x"`), nil},
		{"/title", []byte(`"t"`), nil},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %s", got)
	}
	if got := Changed(&before, &after); !slices.Equal(got, []string{"title", "description", "parameters", "response", "examples", "tags"}) {
		t.Errorf("changed are %q", got)
	}
	if got, err := Differences(&after, &after); err != nil || len(got)+len(Changed(&after, &after)) != 0 {
		t.Errorf("nothing changed but %s, %v", got, err)
	}
}
