package jetstream

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/adaptertest"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func open(t testing.TB, cfg Config) *Server {
	t.Helper()
	return check.Value(Open(context.Background(), cfg, quiet()))(t)
}

func closeServer(t testing.TB, s *Server) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestBus(t *testing.T) {
	adaptertest.BusSuite(t, adaptertest.BusAdapter{
		Open: func(t *testing.T, place string) (adaptertest.Bus, func()) {
			s := open(t, Config{Dir: place})
			return s, func() { closeServer(t, s) }
		},
		MaxValue: MaxPayload - 4096,
		TooLarge: MaxPayload + 1,
	})
}

// patience ends what hangs.
const patience = time.Minute

// readWhole reads a topic from its beginning to its end.
func readWhole(t *testing.T, s *Server, topic events.Topic) []stream.Message {
	t.Helper()
	ends := check.Value(s.End(t.Context(), topic))(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all []stream.Message
	if ends[0] == 0 {
		return nil
	}
	check.OK(t, s.Follow(ctx, topic, nil, func(_ context.Context, msgs []stream.Message) error {
		all = append(all, msgs...)
		if all[len(all)-1].Offset >= ends[0] {
			cancel()
		}
		return nil
	}))
	if len(all) == 0 || all[len(all)-1].Offset < ends[0] {
		t.Fatalf("%s: read %d messages and did not reach the end %d", topic, len(all), ends[0])
	}
	return all
}
