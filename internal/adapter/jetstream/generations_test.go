package jetstream

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// The topics of generations outlive the process, are watched for losses like
// the others, and go without being called lost.
func TestTopicsOfGenerationsComeAndGo(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	open := func() *Server {
		t.Helper()
		s, err := Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	next := events.Embedded(2)
	record := func(topic events.Topic) stream.Message {
		return stream.Message{Topic: topic, Key: "t/a", Value: []byte("1")}
	}
	s := open()
	if err := s.Publish(t.Context(), record(next)); err == nil {
		t.Error("published on a topic that is not there")
	}
	must(s.Create(t.Context(), next))
	must(s.Create(t.Context(), next))
	must(s.Publish(t.Context(), record(next), record(events.ToolsEmbedded)))
	must(s.Close(t.Context()))

	s = open()
	if found, err := s.Generations(t.Context()); err != nil || !slices.Equal(found, []int{2}) {
		t.Errorf("there are %v, %v", found, err)
	}
	if end, err := s.End(t.Context(), next); err != nil || end[0] != 1 {
		t.Errorf("it ends at %v, %v", end, err)
	}
	must(s.savePosition(t.Context(), claim{"embedder", events.ToolsStandardized, 0}, 0))
	must(s.Remove(t.Context(), events.ToolsEmbedded))
	must(s.Remove(t.Context(), next))
	must(s.Remove(t.Context(), next))
	if found, err := s.Generations(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("after it was removed there are %v, %v", found, err)
	}
	if end, err := s.End(t.Context(), events.ToolsEmbedded); err != nil || end[0] != 0 {
		t.Errorf("the first one's ends at %v, %v", end, err)
	}
	must(s.Publish(t.Context(), record(events.ToolsEmbedded)))
	must(s.Create(t.Context(), next))
	must(s.Publish(t.Context(), record(next)))
	must(s.Close(t.Context()))

	s = open()
	must(s.js.DeleteStream(t.Context(), s.cfg.streamName(next)))
	s.mu.Lock()
	s.generations = nil
	s.mu.Unlock()
	close(s.quit)
	s.work.Wait()
	s.shutdown() // as a crash: the witness still knows it
	if _, err := Open(t.Context(), cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "tools.embedded-2 is gone") {
		t.Errorf("a topic that vanished: %v", err)
	}
}

func TestForgottenGroupsBeginAnew(t *testing.T) {
	s, err := Open(t.Context(), Config{Dir: t.TempDir()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	of := claim{"embedder", events.ToolsStandardized, 0}
	if err := s.savePosition(t.Context(), of, 7); err != nil {
		t.Fatal(err)
	}
	if err := s.Forget(t.Context(), of.topic, of.group); err != nil {
		t.Fatal(err)
	}
	if at, err := s.position(t.Context(), of); err != nil || at != 0 {
		t.Errorf("it is at %d, %v", at, err)
	}
}
