package tenants

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
)

// server is a bus in memory.
type server struct{ *streamtest.Bus }

func (server) Create(context.Context, events.Topic) error         { return nil }
func (server) Remove(context.Context, events.Topic) error         { return nil }
func (server) Versions(context.Context) ([]int, error)            { return nil, nil }
func (server) Forget(context.Context, events.Topic, string) error { return nil }

func (server) Committed(context.Context, events.Topic, string) (map[int]uint64, error) {
	return nil, nil
}

func (server) Erase(context.Context, stream.Message, func(stream.Message) bool) (int, error) {
	return 0, nil
}

func openFences(t *testing.T, folder string) *Fences {
	t.Helper()
	return check.Value(OpenFences(folder, slog.New(slog.DiscardHandler)))(t)
}

func message(topic events.Topic, key string, revision uint64) stream.Message {
	m := stream.Message{Topic: topic, Key: key, Value: []byte("v")}
	if revision > 0 {
		m.Headers = map[string]string{events.HeaderRevision: strconv.FormatUint(revision, 10)}
	}
	return m
}

// read returns what a topic delivers: keys, those of erased records in brackets.
func read(t *testing.T, b *Bus, topic events.Topic) (out []string) {
	t.Helper()
	if err := stream.ReadAll(t.Context(), b, topic, func(m stream.Message) {
		key := m.Key + "@" + m.Headers[events.HeaderRevision]
		if m.Erased {
			key = "(" + key + ")"
		}
		if m.Erased != (m.Value == nil) {
			t.Errorf("%s has the value %q", key, m.Value)
		}
		out = append(out, key)
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestNothingBehindAFenceIsReadOrPublished(t *testing.T) {
	s, f := server{streamtest.NewBus()}, openFences(t, t.TempDir())
	b := NewBus(s, f)
	letter := check.Value(events.Encode(&events.DeadLetter{ID: "l", Key: "acme/a", Headers: map[string]string{events.HeaderRevision: "5"}}))(t)
	publish := func(msgs ...stream.Message) {
		t.Helper()
		check.OK(t, b.Publish(t.Context(), msgs...))
	}
	publish(message(events.ToolsRaw, "acme/a", 5), message(events.ToolsRaw, "other/a", 5), message(events.Searches, "acme/s", 0),
		stream.Message{Topic: events.DLQ, Key: "l", Value: letter})
	erasing := Fence{Tenant: "acme", Erasing: true}
	check.OK(t, f.Take(t.Context(), erasing))
	publish(message(events.ToolsRaw, "acme/b", 9), message(events.ToolsRaw, "other/b", 9))
	if done, err := b.Republish(t.Context(), message(events.Searches, "acme/s", 0)); done || err != nil {
		t.Error(done, err)
	}
	for topic, want := range map[events.Topic]string{
		events.ToolsRaw: "(acme/a@5) other/a@5 other/b@9", events.Searches: "(acme/s@)", events.DLQ: "(l@)",
	} {
		if got := strings.Join(read(t, b, topic), " "); got != want {
			t.Errorf("%s delivers %s, want %s", topic, got, want)
		}
	}
	last := Fence{Tenant: "acme", Revision: 9, Ends: map[events.Topic]map[int]uint64{events.Searches: {0: 1}, events.DLQ: {0: 1}}}
	check.OK(t, f.Take(t.Context(), last))
	publish(message(events.ToolsStandardized, "acme/a", 5), message(events.ToolsStandardized, "acme/a", 10),
		message(events.Searches, "acme/t", 0), stream.Message{Topic: events.DLQ, Key: "k", Value: letter})
	for topic, want := range map[events.Topic]string{
		events.ToolsStandardized: "acme/a@10", events.Searches: "(acme/s@) acme/t@", events.DLQ: "(l@)",
	} {
		if got := strings.Join(read(t, b, topic), " "); got != want {
			t.Errorf("then %s delivers %s, want %s", topic, got, want)
		}
	}
	// What stands for erased records is nobody's, also where the fence is not known.
	check.OK(t, s.Publish(t.Context(), lastOf(events.FeedbackTopic, "acme", 9)))
	if got := read(t, NewBus(s, openFences(t, t.TempDir())), events.FeedbackTopic); !slices.Equal(got, []string{"(acme/@9)"}) {
		t.Errorf("feedback delivers %q", got)
	}
}

// A fence is obeyed once nothing is under way that began before it, each part has forgotten
// the tenant, and the folder says so.
func TestAFenceWaitsForWhatIsUnderWay(t *testing.T) {
	folder := t.TempDir()
	f := openFences(t, folder)
	var forgot []string
	fails := errors.New("not yet")
	f.OnErase(func(_ context.Context, fence Fence) error {
		forgot = append(forgot, fmt.Sprint(fence.Tenant, fence.Erasing))
		return fails
	})
	_, end := f.beginBatch("")
	fence := Fence{Tenant: "acme", Erasing: true}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Take(ctx, fence); !errors.Is(err, context.Canceled) || len(forgot) > 0 {
		t.Fatalf("it did not wait: %v, %q", err, forgot)
	}
	if !f.Erasing("acme") || f.Obeys(fence) || f.Unfinished() == nil {
		t.Error("a fence that is not obeyed is unknown, or obeyed")
	}
	end()
	if err := f.Take(t.Context(), fence); !errors.Is(err, fails) || f.Obeys(fence) {
		t.Errorf("a part that fails: %v", err)
	}
	fails = nil
	for range 2 {
		if err := f.Take(t.Context(), fence); err != nil || !f.Obeys(fence) || f.Unfinished() != nil {
			t.Error(err)
		}
	}
	if want := []string{"acmetrue", "acmetrue"}; !slices.Equal(forgot, want) {
		t.Errorf("forgot %q, want %q", forgot, want)
	}
	again := openFences(t, folder)
	again.OnErase(func(context.Context, Fence) error { t.Error("it forgets again"); return nil })
	if err := again.Take(t.Context(), fence); err != nil || !again.Erasing("acme") {
		t.Error(err)
	}
	check.OK(t, os.WriteFile(filepath.Join(folder, fenceFile), []byte("{"), 0o600))
	if _, err := OpenFences(folder, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a damaged file is taken for one without fences")
	}
}

// A new topic has to be erased with its tenants, or to be named here with the reason why
// its records stay.
func TestEveryTopicIsErased(t *testing.T) {
	stays := map[events.Topic]string{events.Audit: "its private fields are sealed, and the key is destroyed"}
	for _, topic := range append(events.Topics(), events.Embedded(2)) {
		if why := stays[topic]; erased(topic) == (why != "") {
			t.Errorf("what %s holds of a tenant: erased %v, stays because %q", topic, erased(topic), why)
		}
	}
}
