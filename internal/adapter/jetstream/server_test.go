package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/adapter/adaptertest"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		fmt.Fprintln(os.Stderr, victim(dir, os.Getenv("TOOLSTREAM_CRASH_ROUND")))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func open(t testing.TB, cfg Config) *Server {
	t.Helper()
	s, err := Open(context.Background(), cfg, quiet())
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

func closeServer(t testing.TB, s *Server) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestBus(t *testing.T) {
	for _, partitions := range []int{1, 3} {
		t.Run(map[int]string{1: "one partition", 3: "three partitions"}[partitions], func(t *testing.T) {
			adaptertest.BusSuite(t, adaptertest.BusAdapter{
				Open: func(t *testing.T, place string) (adaptertest.Bus, func()) {
					s := open(t, Config{Dir: place, Partitions: partitions})
					return s, func() { closeServer(t, s) }
				},
				MaxValue: MaxPayload - 4096,
				TooLarge: MaxPayload + 1,
			})
		})
	}
}

// Publishers that meet a closing bus are told whether their message is stored.
func TestCloseWhilePublishing(t *testing.T) {
	dir := t.TempDir()
	for range 5 {
		s := open(t, Config{Dir: dir})
		var stored atomic.Int64
		before := len(readWhole(t, s, events.Searches))
		var g errgroup.Group
		for p := range 8 {
			g.Go(func() error {
				for {
					err := s.Publish(context.Background(), stream.Message{Topic: events.Searches, Key: fmt.Sprint(p)})
					if errors.Is(err, errClosed) {
						return nil
					}
					if err != nil {
						return err
					}
					stored.Add(1)
				}
			})
		}
		for stored.Load() < 20 {
			runtime.Gosched()
		}
		closeServer(t, s)
		must(t, g.Wait())
		s = open(t, Config{Dir: dir})
		if n := len(readWhole(t, s, events.Searches)) - before; n != int(stored.Load()) {
			t.Errorf("%d records are stored, %d publishers were told so", n, stored.Load())
		}
		closeServer(t, s)
	}
}
