package jetstream

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// A start after a crash has nothing to warn of: what the server keeps beside the
// records is older than they are, and is made anew.
func TestAStartAfterACrashWarnsOfNothing(t *testing.T) {
	dir, crashed := t.TempDir(), filepath.Join(t.TempDir(), "crash")
	publish := func(s *Server) {
		check.OK(t, s.Publish(t.Context(), stream.Message{Topic: events.ToolsRaw, Key: "t/1", Value: []byte("{}")}))
	}
	first := open(t, Config{Dir: dir})
	publish(first)
	closeServer(t, first)
	second := open(t, Config{Dir: dir})
	publish(second)
	copyDir(t, dir, crashed)
	closeServer(t, second)

	var log bytes.Buffer
	third := check.Value(Open(t.Context(), Config{Dir: crashed}, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))))(t)
	closeServer(t, third)
	if log.Len() > 0 {
		t.Errorf("%s", log.String())
	}
}
