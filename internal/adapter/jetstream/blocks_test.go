package jetstream

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// block writes the headers of records with these sequence numbers.
func block(t *testing.T, sequences ...uint64) string {
	t.Helper()
	var raw []byte
	for n, sequence := range sequences {
		record := make([]byte, recordHeader+n)
		binary.LittleEndian.PutUint32(record, uint32(len(record))|lengthFlag)
		binary.LittleEndian.PutUint64(record[4:], sequence)
		raw = append(raw, record...)
	}
	path := filepath.Join(t.TempDir(), "1.blk")
	must(t, os.WriteFile(path, raw, 0o600))
	return path
}

func TestJumps(t *testing.T) {
	for name, tc := range map[string]struct {
		sequences []uint64
		want      bool
	}{
		"nothing":                        {nil, false},
		"in order":                       {[]uint64{5, 6, 7}, false},
		"far from the start":             {[]uint64{1 << 40, 1<<40 + 1}, false},
		"a gap of compaction":            {[]uint64{1, 2 << 20, 2<<20 + 1}, false},
		"a gap with an older one behind": {[]uint64{1, 2 << 20, 3}, true},
		"an older one":                   {[]uint64{1, 9, 3}, false},
		"too far":                        {[]uint64{1, 1<<40 + 1, 1<<40 + 2}, true},
		"a tombstone":                    {[]uint64{1, tombstone | 1<<50, 2}, false},
		"an erased one":                  {[]uint64{1, 1<<63 | 2, 3}, false},
	} {
		if got, err := jumps(block(t, tc.sequences...)); err != nil || got != tc.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	torn := block(t, 1, 2)
	must(t, os.Truncate(torn, recordHeader+5))
	if got, err := jumps(torn); err != nil || got {
		t.Errorf("torn: %v, %v", got, err)
	}
}

// A sequence number that is damaged would keep the server busy for ever.
func TestASequenceThatCanNotBeIsRefusedAndSetAside(t *testing.T) {
	images := fillStore(t)
	dir := t.TempDir()
	copyDir(t, images["close"], dir)
	file := blocks(t, dir, events.Searches)[0]
	raw, err := os.ReadFile(file)
	must(t, err)
	second := binary.LittleEndian.Uint32(raw) &^ lengthFlag
	raw[second+4+6] = 0x35 // of the sequence
	must(t, os.WriteFile(file, raw, 0o600))
	if _, err := Open(t.Context(), Config{Dir: dir}, quiet()); stream.Reason(err) != stream.ReasonLost || !strings.Contains(err.Error(), file) {
		t.Fatalf("open: %v", err)
	}
	s, err := Open(t.Context(), Config{Dir: dir, AcceptLoss: true}, quiet())
	must(t, err)
	must(t, s.Close(t.Context()))
	if _, err := os.Stat(file + ".damaged"); err != nil {
		t.Error(err)
	}
}

func TestTheStartIsBounded(t *testing.T) {
	release, returned := make(chan struct{}), make(chan struct{})
	if returnsWithin(time.Nanosecond, func() { <-release; close(returned) }) {
		t.Error("a start that does not return is waited for")
	}
	close(release) // it was only not waited for
	<-returned
	if !returnsWithin(time.Hour, func() {}) {
		t.Error("a start that returned counts as one that did not")
	}
}

func TestADamagedBucketIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Config{Dir: dir}, quiet())
	must(t, err)
	must(t, s.CheckBucket(t.Context(), "numbers")) // it is not there yet
	kv, err := s.js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "numbers", History: 5, Storage: jetstream.FileStorage})
	must(t, err)
	for _, key := range []string{"one", "two"} {
		_, err := kv.Put(t.Context(), key, []byte(strings.Repeat(key, 100)))
		must(t, err)
	}
	must(t, s.CheckBucket(t.Context(), "numbers"))
	must(t, s.Close(t.Context()))
	file := filepath.Join(dir, "jetstream", "$G", "streams", "KV_numbers", "msgs", "1.blk")
	raw, err := os.ReadFile(file)
	must(t, err)
	raw[len(raw)-100] ^= 0xff
	must(t, os.WriteFile(file, raw, 0o600))
	s, err = Open(t.Context(), Config{Dir: dir}, quiet())
	must(t, err)
	if err := s.CheckBucket(t.Context(), "numbers"); stream.Reason(err) != stream.ReasonLost || !strings.Contains(err.Error(), "two") {
		t.Errorf("open the bucket: %v", err)
	}
	must(t, s.Close(t.Context()))
}
