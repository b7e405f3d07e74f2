package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// damagedStore describes the store that the damage tests start from.
const (
	damagedKeys = 1600
	damagedSize = 6000 // bytes of a value, so that the topic needs several files
)

// fillStore writes both kinds of topics and returns two images of the folder:
// after an orderly close, and as a crash would leave it.
func fillStore(t *testing.T) map[string]string {
	t.Helper()
	images := map[string]string{"close": filepath.Join(t.TempDir(), "close"), "crash": filepath.Join(t.TempDir(), "crash")}
	s := open(t, Config{Dir: images["close"]})
	filler := bytes.Repeat([]byte("x"), damagedSize)
	for batch := range slices.Chunk(slices.Collect(countTo(damagedKeys)), 400) {
		var msgs []stream.Message
		for _, i := range batch {
			for _, topic := range []events.Topic{events.ToolsRaw, events.Searches} {
				msgs = append(msgs, stream.Message{Topic: topic, Key: fmt.Sprintf("t/%d", i), Value: filler})
			}
		}
		check.OK(t, s.Publish(t.Context(), msgs...))
	}
	check.OK(t, s.losses.save(t.Context()))
	copyDir(t, images["close"], images["crash"])
	closeServer(t, s)
	return images
}

func countTo(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	check.OK(t, os.CopyFS(to, os.DirFS(from)))
}

// blocks returns a topic's message files, the oldest first.
func blocks(t *testing.T, dir string, topic events.Topic) []string {
	t.Helper()
	var found []string
	name := streamName(topic)
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".blk") && strings.Contains(path, name+string(filepath.Separator)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) < 2 {
		t.Fatalf("block files of %s: %v, %v; want several", topic, found, err)
	}
	slices.SortFunc(found, func(a, b string) int { return len(a) - len(b) })
	return found
}

func flip(t *testing.T, path string) {
	t.Helper()
	raw := check.Value(os.ReadFile(path))(t)
	raw[len(raw)/2] ^= 0xff
	check.OK(t, os.WriteFile(path, raw, 0o600))
}

// TestDamage: whatever happens to the files, the bus holds everything, or it
// says that it does not, in opening or when it is verified (J9).
func TestDamage(t *testing.T) {
	images := fillStore(t)
	damages := map[string]func(t *testing.T, dir string, topic events.Topic){
		"nothing": func(*testing.T, string, events.Topic) {},
		"last block cut": func(t *testing.T, dir string, topic events.Topic) {
			b := blocks(t, dir, topic)
			info := check.Value(os.Stat(b[len(b)-1]))(t)
			check.OK(t, os.Truncate(b[len(b)-1], info.Size()/2))
		},
		"last block gone": func(t *testing.T, dir string, topic events.Topic) {
			b := blocks(t, dir, topic)
			check.OK(t, os.Remove(b[len(b)-1]))
		},
		"first block gone": func(t *testing.T, dir string, topic events.Topic) {
			if topic.Compacted() { // of any other topic it may have aged out
				check.OK(t, os.Remove(blocks(t, dir, topic)[0]))
			}
		},
		"bit in the first block": func(t *testing.T, dir string, topic events.Topic) {
			flip(t, blocks(t, dir, topic)[0])
		},
		"bit in the last record": func(t *testing.T, dir string, topic events.Topic) {
			b := blocks(t, dir, topic)
			raw := check.Value(os.ReadFile(b[len(b)-1]))(t)
			raw[len(raw)-12] ^= 0xff // its value, before the checksum
			check.OK(t, os.WriteFile(b[len(b)-1], raw, 0o600))
		},
		"index damaged": func(t *testing.T, dir string, topic events.Topic) {
			index := filepath.Join(filepath.Dir(blocks(t, dir, topic)[0]), "index.db")
			if _, err := os.Stat(index); err == nil {
				flip(t, index)
			}
		},
		"description gone": func(t *testing.T, dir string, topic events.Topic) {
			check.OK(t, os.Remove(filepath.Join(filepath.Dir(filepath.Dir(blocks(t, dir, topic)[0])), "meta.inf")))
		},
		"stream gone": func(t *testing.T, dir string, topic events.Topic) {
			check.OK(t, os.RemoveAll(filepath.Dir(filepath.Dir(blocks(t, dir, topic)[0]))))
		},
		"all streams gone": func(t *testing.T, dir string, _ events.Topic) {
			check.OK(t, os.RemoveAll(filepath.Join(dir, "jetstream")))
		},
	}
	if testing.Short() {
		delete(images, "crash")
	}
	for image, from := range images {
		for name, damage := range damages {
			for _, topic := range []events.Topic{events.ToolsRaw, events.Searches} {
				t.Run(fmt.Sprintf("%s/%s/%s", image, topic, name), func(t *testing.T) {
					dir := filepath.Join(t.TempDir(), "bus")
					copyDir(t, from, dir)
					damage(t, dir, topic)
					checkDamaged(t, dir, topic)
				})
			}
		}
	}
}

// checkDamaged opens and verifies a bus; if neither complains, everything has
// to be there. A loss that is accepted leaves a bus that works.
func checkDamaged(t *testing.T, dir string, topic events.Topic) {
	t.Helper()
	s, err := Open(t.Context(), Config{Dir: dir}, quiet())
	if err == nil {
		err = s.Verify(t.Context())
		if err == nil {
			if n := len(readWhole(t, s, topic)); n != damagedKeys {
				t.Errorf("%d of %d records are there and nobody said so", n, damagedKeys)
			}
		}
		closeServer(t, s)
	}
	if err == nil {
		return
	}
	if stream.Reason(err) != stream.ReasonLost || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v: want it to be of reason %s and to name the folder", err, stream.ReasonLost)
	}
	t.Logf("told: %v", err)
	// The server may find more of a damage the next time it reads the files.
	for tries := 1; err != nil; tries++ {
		if tries > 3 || stream.Reason(err) != stream.ReasonLost {
			t.Fatalf("open %d, after the loss was accepted: %v", tries, err)
		}
		acceptLoss(t, dir, topic)
		if s, err = Open(t.Context(), Config{Dir: dir}, quiet()); err == nil {
			closeServer(t, s)
		}
	}
}

func acceptLoss(t *testing.T, dir string, topic events.Topic) {
	t.Helper()
	s := open(t, Config{Dir: dir, AcceptLoss: true})
	defer closeServer(t, s)
	if err := s.Publish(t.Context(), stream.Message{Topic: topic, Key: "t/new"}); err != nil {
		t.Errorf("publish on what is left: %v", err)
	}
}

// Whoever reads all that a topic holds does not wait for a last record that cannot be
// read, where the loss of it was accepted.
func TestTheEndIsWhatCanBeRead(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	for i := range 3 {
		check.OK(t, s.Publish(t.Context(), stream.Message{Topic: events.ToolsRaw, Key: fmt.Sprint("t/", i), Value: make([]byte, 1000)}))
	}
	closeServer(t, s)
	last := filepath.Join(dir, "jetstream", "$G", "streams", "toolstream-tools-raw", "msgs", "1.blk")
	raw := check.Value(os.ReadFile(last))(t)
	raw[len(raw)-100] ^= 0xff
	check.OK(t, os.WriteFile(last, raw, 0o600))
	if _, err := Open(t.Context(), Config{Dir: dir}, quiet()); stream.Reason(err) != stream.ReasonLost {
		t.Fatalf("open: %v, want reason %s", err, stream.ReasonLost)
	}
	s = open(t, Config{Dir: dir, AcceptLoss: true})
	defer closeServer(t, s)
	read := func(want int) {
		t.Helper()
		ends := check.Value(s.End(t.Context(), events.ToolsRaw))(t)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		got := 0
		check.OK(t, s.Follow(ctx, events.ToolsRaw, nil, func(_ context.Context, msgs []stream.Message) error {
			if got += len(msgs); msgs[len(msgs)-1].Offset >= ends[0] {
				cancel()
			}
			return nil
		}))
		if got != want || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("%d records up to %v, want %d: %v", got, ends, want, ctx.Err())
		}
	}
	read(2)
	check.OK(t, s.Publish(t.Context(), stream.Message{Topic: events.ToolsRaw, Key: "t/new"}))
	read(3)
}

// A position behind the end of its topic is a loss too, whoever holds it.
func TestPositionsBehindTheEnd(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	for i := range 3 {
		check.OK(t, s.Publish(t.Context(), stream.Message{Topic: events.Searches, Key: fmt.Sprint(i)}))
	}
	check.OK(t, s.positions.save(t.Context(), consumer{"g", events.Searches}, 7))
	read := func(context.Context, []stream.Message) error { return nil }
	if err := s.Follow(t.Context(), events.Searches, map[int]uint64{0: 7}, read); stream.Reason(err) != stream.ReasonLost {
		t.Errorf("follow: %v, want reason %s", err, stream.ReasonLost)
	}
	closeServer(t, s)
	if _, err := Open(t.Context(), Config{Dir: dir}, quiet()); stream.Reason(err) != stream.ReasonLost {
		t.Errorf("open: %v, want reason %s", err, stream.ReasonLost)
	}

	s = open(t, Config{Dir: dir, AcceptLoss: true})
	defer closeServer(t, s)
	check.OK(t, s.Publish(t.Context(), stream.Message{Topic: events.Searches, Key: "next"}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []stream.Message
	err := s.Consume(ctx, events.Searches, "g", func(ctx context.Context, p stream.Partition) (err error) {
		defer cancel()
		got, err = p.Fetch(ctx, 10)
		if err == nil {
			err = p.Commit(ctx, got[len(got)-1].Offset)
		}
		return err
	})
	if err != nil || len(got) != 1 || got[0].Key != "next" {
		t.Errorf("with the loss accepted the group read %+v, %v; want what came since", got, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	readOnly := filepath.Join(t.TempDir(), "ro")
	check.OK(t, os.Mkdir(readOnly, 0o500))
	file := filepath.Join(t.TempDir(), "file")
	check.OK(t, os.WriteFile(file, nil, 0o600))
	taken := t.TempDir()
	s := open(t, Config{Dir: taken})
	tests := []struct {
		name string
		cfg  Config
		want string
	}{
		{"no folder", Config{}, "no data folder"},
		{"a file", Config{Dir: file}, file},
		{"open already", Config{Dir: taken}, "another process has it open"},
	}
	if os.Getuid() != 0 { // root may write anywhere
		tests = append(tests, struct {
			name string
			cfg  Config
			want string
		}{"read only", Config{Dir: readOnly}, readOnly})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Open(t.Context(), tt.cfg, quiet())
			if err == nil {
				closeServer(t, s)
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q does not say %q", err, tt.want)
			}
		})
	}
	closeServer(t, s)
}

// A flipped bit is found by Verify, which names the key, and by the start in a bucket that has
// one value for each.
func TestDamagedRecordsAreNamed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	kv, err := s.js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "numbers", Storage: jetstream.FileStorage})
	check.OK(t, err)
	log := check.Value(s.js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "log", History: 5, Storage: jetstream.FileStorage}))(t)
	for _, key := range []string{"one", "two", "three"} {
		check.Value(kv.PutString(t.Context(), key, strings.Repeat(key, 100)))(t)
		check.Value(log.PutString(t.Context(), key, strings.Repeat(key, 100)))(t)
		check.OK(t, s.Publish(t.Context(), stream.Message{Topic: events.ToolsRaw, Key: "t/" + key, Value: make([]byte, 300)}))
	}
	check.OK(t, s.Verify(t.Context()))
	closeServer(t, s)
	flipSecond := func(name string) {
		flip(t, filepath.Join(dir, "jetstream", "$G", "streams", name, "msgs", "1.blk"))
	}
	flipSecond(streamName(events.ToolsRaw))
	flipSecond("KV_log")
	s = open(t, Config{Dir: dir})
	if err := s.Verify(t.Context()); stream.Reason(err) != stream.ReasonLost || !strings.Contains(err.Error(), `"t/two"`) || !strings.Contains(err.Error(), "of KV_log the records of 1 keys") {
		t.Errorf("a topic: %v", err)
	}
	closeServer(t, s)
	flipSecond("KV_numbers")
	if _, err := Open(t.Context(), Config{Dir: dir}, quiet()); stream.Reason(err) != stream.ReasonLost || !strings.Contains(err.Error(), `"two"`) {
		t.Errorf("a bucket: %v", err)
	}
	s = open(t, Config{Dir: dir, AcceptLoss: true})
	defer closeServer(t, s)
	if kv, err = s.js.KeyValue(t.Context(), "numbers"); err == nil {
		_, err = kv.PutString(t.Context(), "two", "2")
	}
	check.OK(t, err)
}

// An idle bus does not write.
func TestACheckpointIsWrittenOnceForOneState(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	defer closeServer(t, s)
	check.OK(t, s.Publish(t.Context(), stream.Message{Topic: events.ToolsRaw, Key: "t/a"}))
	check.OK(t, s.losses.save(t.Context()))
	file := filepath.Join(dir, checkpointFile)
	check.OK(t, os.Remove(file))
	check.OK(t, s.losses.save(t.Context()))
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the checkpoint of an unchanged bus was written again: %v", err)
	}
	check.OK(t, s.Publish(t.Context(), stream.Message{Topic: events.ToolsRaw, Key: "t/b"}))
	check.OK(t, s.losses.save(t.Context()))
	check.Value(os.Stat(file))(t)
}
