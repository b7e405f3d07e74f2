package jetstream

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// The topics of index versions outlive the process, are watched for losses like
// the others, and go without being called lost.
func TestTopicsOfIndexVersionsComeAndGo(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	next := events.Embedded(2)
	record := func(topic events.Topic) stream.Message {
		return stream.Message{Topic: topic, Key: "t/a", Value: []byte("1")}
	}
	s := open(t, cfg)
	if err := s.Publish(t.Context(), record(next)); err == nil {
		t.Error("published on a topic that is not there")
	}
	check.OK(t, s.Create(t.Context(), next))
	check.OK(t, s.Create(t.Context(), next))
	check.OK(t, s.Publish(t.Context(), record(next), record(events.ToolsEmbedded)))
	closeServer(t, s)

	s = open(t, cfg)
	if found, err := s.Versions(t.Context()); err != nil || !slices.Equal(found, []int{2}) {
		t.Errorf("there are %v, %v", found, err)
	}
	if end, err := s.End(t.Context(), next); err != nil || end[0] != 1 {
		t.Errorf("it ends at %v, %v", end, err)
	}
	check.OK(t, s.positions.save(t.Context(), consumer{"embedder", events.ToolsStandardized}, 0))
	check.OK(t, s.Remove(t.Context(), events.ToolsEmbedded))
	check.OK(t, s.Remove(t.Context(), next))
	check.OK(t, s.Remove(t.Context(), next))
	if found, err := s.Versions(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("after it was removed there are %v, %v", found, err)
	}
	if end, err := s.End(t.Context(), events.ToolsEmbedded); err != nil || end[0] != 0 {
		t.Errorf("the first one's ends at %v, %v", end, err)
	}
	check.OK(t, s.Publish(t.Context(), record(events.ToolsEmbedded)))
	check.OK(t, s.Create(t.Context(), next))
	check.OK(t, s.Publish(t.Context(), record(next)))
	closeServer(t, s)

	s = open(t, cfg)
	check.OK(t, s.js.DeleteStream(t.Context(), streamName(next)))
	close(s.quit)
	s.work.Wait()
	s.shutdown() // as a crash: the checkpoint still knows it
	if _, err := Open(t.Context(), cfg, quiet()); err == nil || !strings.Contains(err.Error(), "tools.embedded-2 is gone") {
		t.Errorf("a topic that vanished: %v", err)
	}
}

func TestForgottenGroupsBeginAnew(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	defer closeServer(t, s)
	of := consumer{"embedder", events.ToolsStandardized}
	check.OK(t, s.positions.save(t.Context(), of, 7))
	check.OK(t, s.Forget(t.Context(), of.topic, of.group))
	if at, err := s.positions.get(t.Context(), of); err != nil || at != 0 {
		t.Errorf("it is at %d, %v", at, err)
	}
}
