package jetstream

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// crashDir makes the test binary a victim: it opens the bus there and
// publishes until it is killed.
const crashDir = "TOOLSTREAM_CRASH_DIR"

// victim writes a line "topic key number" to stdout after the bus has
// acknowledged numbers 0 to number of that key, and "commit number" after a
// position was committed.
func victim(dir, round string) error {
	ctx := context.Background()
	s, err := Open(ctx, Config{Dir: dir}, quiet())
	if err != nil {
		return err
	}
	errs := make(chan error)
	// Calls of one message, of several, and large enough to be atomic batches,
	// all at the same time.
	for i, size := range []int{1, 3, 40, 400} {
		for _, topic := range []events.Topic{events.Searches, events.ToolsRaw} {
			go func() { errs <- publishForever(ctx, s, topic, fmt.Sprintf("%s/%d", round, i), size) }()
		}
	}
	go func() {
		errs <- s.Consume(ctx, events.Searches, "crash", func(ctx context.Context, p stream.Partition) error {
			for {
				msgs, err := p.Fetch(ctx, 10)
				if err != nil {
					return err
				}
				through := msgs[len(msgs)-1].Offset
				if err := p.Commit(ctx, through); err != nil {
					return err
				}
				fmt.Fprintf(os.Stdout, "commit - %d\n", through)
			}
		})
	}()
	return <-errs
}

func publishForever(ctx context.Context, s *Server, topic events.Topic, key string, size int) error {
	for n := 0; ; n += size {
		msgs := make([]stream.Message, size)
		for i := range msgs {
			msgs[i] = stream.Message{Topic: topic, Key: key, Value: fmt.Append(nil, n+i)}
		}
		if err := s.Publish(ctx, msgs...); err != nil {
			return err
		}
		fmt.Fprintf(os.Stdout, "%s %s %d\n", topic, key, n+size-1)
	}
}

// acked is what a victim said before it died: the highest number by topic and
// key, and the highest commit.
type acked struct {
	numbers map[[2]string]int
	commit  uint64
}

// TestCrash kills a process that publishes, at random moments of many lives of
// one data folder, and looks for everything that it said was acknowledged.
func TestCrash(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	said := acked{numbers: map[[2]string]int{}}
	for round := range rounds {
		live(t, dir, round, 1+rng.IntN(120), time.Duration(rng.IntN(5000))*time.Microsecond, &said)
		checkSurvivors(t, dir, said)
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	t.Logf("%d kills, %d keys, committed %d", rounds, len(said.numbers), said.commit)
}

// live runs a victim, kills it a while after it said so many lines, and notes
// all it said.
func live(t *testing.T, dir string, round, lines int, more time.Duration, said *acked) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir, "TOOLSTREAM_CRASH_ROUND="+strconv.Itoa(round))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hang := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer hang.Stop()
	var kill sync.Once
	scanner := bufio.NewScanner(out)
	for n := 0; scanner.Scan(); n++ {
		if n == lines {
			kill.Do(func() { time.AfterFunc(more, func() { cmd.Process.Kill() }) })
		}
		said.note(t, scanner.Text())
	}
	cmd.Wait() // it was killed: its error says so
	if cmd.ProcessState.Exited() {
		t.Fatalf("the victim ended by itself: %v", cmd.ProcessState)
	}
}

// patience ends what hangs.
const patience = time.Minute

func (a *acked) note(t *testing.T, line string) {
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return // the kill cut it
	}
	n, err := strconv.Atoi(fields[2])
	if err != nil {
		t.Fatalf("line %q: %v", line, err)
	}
	if fields[0] == "commit" {
		a.commit = max(a.commit, uint64(n))
		return
	}
	key := [2]string{fields[0], fields[1]}
	a.numbers[key] = max(a.numbers[key], n)
}

func checkSurvivors(t *testing.T, dir string, said acked) {
	t.Helper()
	s := open(t, Config{Dir: dir})
	defer closeServer(t, s)
	found := map[[2]string]int{}
	for _, topic := range []events.Topic{events.Searches, events.ToolsRaw} {
		for _, m := range readWhole(t, s, topic) {
			key := [2]string{string(topic), m.Key}
			n, err := strconv.Atoi(string(m.Value))
			if err != nil {
				t.Fatal(err)
			}
			last, known := found[key]
			if topic == events.Searches && (known && n != last+1 || !known && n != 0) {
				t.Fatalf("%v: %d came after %d", key, n, last)
			}
			found[key] = n
		}
	}
	for key, n := range said.numbers {
		if got, ok := found[key]; !ok || got < n {
			t.Errorf("%v: acknowledged up to %d, found up to %d", key, n, got)
		}
	}
	at, err := s.position(t.Context(), claim{"crash", events.Searches, 0})
	if err != nil || at < said.commit {
		t.Errorf("committed %d, found %d, %v", said.commit, at, err)
	}
}

// readWhole reads a topic from its beginning to its end.
func readWhole(t *testing.T, s *Server, topic events.Topic) []stream.Message {
	t.Helper()
	ends, err := s.End(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all []stream.Message
	if ends[0] == 0 {
		return nil
	}
	err = s.Follow(ctx, topic, nil, func(_ context.Context, msgs []stream.Message) error {
		all = append(all, msgs...)
		if all[len(all)-1].Offset >= ends[0] {
			cancel()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 || all[len(all)-1].Offset < ends[0] {
		t.Fatalf("%s: read %d messages and did not reach the end %d", topic, len(all), ends[0])
	}
	return all
}
