package jetstream

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// assertNowhere fails for each file below a folder that holds a word.
func assertNowhere(t *testing.T, folder, word string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(word)) {
			t.Errorf("%s holds %s", path, word)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What is erased is not on the disk either, versions that were replaced included. The bus
// takes none of that for a loss, and what others have stays.
func TestErase(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	const word = "okapi"
	topics := []events.Topic{events.ToolsRaw, events.Searches}
	for _, topic := range topics {
		for version := range 3 {
			for n := range 50 {
				for _, tenant := range []string{"acme", "other"} {
					value := fmt.Sprintf("%s %d", map[string]string{"acme": word, "other": "stays"}[tenant], version)
					m := stream.Message{Topic: topic, Key: fmt.Sprintf("%s/%d", tenant, n), Value: []byte(value), Headers: map[string]string{"h": "1"}}
					if err := s.Publish(t.Context(), m); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	bucket, err := s.js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "b", Storage: jetstream.FileStorage})
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"", word, word, "new"} {
		if _, err := bucket.PutString(t.Context(), "acme.key", value); err != nil {
			t.Fatal(err)
		}
	}
	st, err := s.js.Stream(t.Context(), "KV_b")
	if err == nil {
		err = st.Purge(t.Context(), jetstream.WithPurgeSubject("$KV.b.acme.key"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.PutString(t.Context(), "other.key", "stays"); err != nil {
		t.Fatal(err)
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
		if err := s.ScrubBuckets(t.Context(), func(bucket, key string) bool { return bucket == "b" && key == "acme.key" }); err != nil {
			t.Fatal(err)
		}
	}
	check := func() {
		t.Helper()
		for _, topic := range topics {
			others := 0
			for _, m := range readWhole(t, s, topic) {
				if strings.HasPrefix(m.Key, "other/") && strings.HasPrefix(string(m.Value), "stays") {
					others++
				} else if m.Key != "acme/" || !m.IsNull() {
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
	check()
	closeServer(t, s)
	assertNowhere(t, dir, word)
	for range 2 { // the second time, the server's summaries are gone
		s = open(t, Config{Dir: dir})
		check()
		closeServer(t, s)
		summaries, err := filepath.Glob(filepath.Join(dir, "jetstream", "$G", "streams", "*", "msgs", "index.db"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range summaries {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A file that is not of the known form is left alone, and the erasing fails.
func TestScrubRefusesAnotherForm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "1.blk")
	if err := os.WriteFile(path, bytes.Repeat([]byte{7, 0, 0, 0}, 20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := scrubFile(path, "s", func(string, []byte) bool { return true }); err == nil {
		t.Error("it was rewritten")
	}
}
