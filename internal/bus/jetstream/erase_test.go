package jetstream

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// Erased records are gone, and the bus takes none of them for a loss. Records of others stay.
func TestErase(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	topics := []events.Topic{events.ToolsRaw, events.Searches}
	for _, topic := range topics {
		for version := range 3 {
			for n := range 50 {
				for _, tenant := range []string{"acme", "other"} {
					value := fmt.Sprintf("%s %d", map[string]string{"acme": "goes", "other": "stays"}[tenant], version)
					m := stream.Message{Topic: topic, Key: fmt.Sprintf("%s/%d", tenant, n), Value: []byte(value), Headers: map[string]string{"h": "1"}}
					check.OK(t, s.Publish(t.Context(), m))
				}
			}
		}
	}
	before := map[events.Topic]int{}
	for _, topic := range topics {
		before[topic] = len(readWhole(t, s, topic)) / 2
	}
	erase := func() {
		t.Helper()
		for _, topic := range topics {
			last := stream.Message{Topic: topic, Key: "acme/", Headers: map[string]string{events.HeaderRevision: "1"}}
			if left, err := s.Erase(t.Context(), last, func(m stream.Message) bool { return strings.HasPrefix(m.Key, "acme/") }); err != nil || left != 0 {
				t.Fatal(left, err)
			}
		}
	}
	verify := func(gone bool) {
		t.Helper()
		for _, topic := range topics {
			others := 0
			for _, m := range readWhole(t, s, topic) {
				if strings.HasPrefix(m.Key, "other/") && strings.HasPrefix(string(m.Value), "stays") {
					others++
				} else if gone && (m.Key != "acme/" || !m.IsNull()) {
					t.Errorf("%s has %q: %q", topic, m.Key, m.Value)
				}
			}
			if others != before[topic] {
				t.Errorf("%s has %d records of the other tenant, and had %d", topic, others, before[topic])
			}
		}
		if err := s.Verify(t.Context()); err != nil {
			t.Error(err)
		}
	}
	erase()
	erase()
	verify(true)
	closeServer(t, s)
	// Without its summaries the server finds replaced records again, and the fence of the
	// tenant keeps them from everybody.
	for _, gone := range []bool{true, false} {
		s = open(t, Config{Dir: dir})
		verify(gone)
		closeServer(t, s)
		summaries := check.Value(filepath.Glob(filepath.Join(dir, "jetstream", "$G", "streams", "*", "msgs", "index.db")))(t)
		for _, path := range summaries {
			check.OK(t, os.Remove(path))
		}
	}
}
