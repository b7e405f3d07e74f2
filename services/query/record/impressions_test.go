package record

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// narrow is a bus that takes nothing of more than some bytes, and then nothing at all
// of what it was given with it.
type narrow struct {
	most  int
	taken []string
}

func (n *narrow) Publish(_ context.Context, msgs ...stream.Message) error {
	if slices.ContainsFunc(msgs, func(m stream.Message) bool { return len(m.Value) > n.most }) {
		return stream.Permanent(stream.ReasonTooLarge, errors.New("too large"))
	}
	for _, m := range msgs {
		n.taken = append(n.taken, m.Key)
	}
	return nil
}

// What cannot be recorded is lost alone, and does not make the searches behind it
// degraded.
func TestAnImpressionThatIsRefusedKeepsNoneBack(t *testing.T) {
	bus := &narrow{most: 2000}
	im := New(Deps{Publisher: bus, Now: time.Now, Waiting: 100, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	shown := func(id string, results int, feature float64) schema.Impression {
		i := schema.Impression{SearchID: id, Tenant: "default"}
		for n := range results {
			features := make([]float64, fusion.FeatureCount)
			features[0] = feature
			i.Shown = append(i.Shown, schema.Shown{ID: fmt.Sprint("tool", n), Features: features})
		}
		return i
	}
	want := []string{}
	for n := range 20 {
		switch id := fmt.Sprint("s", n); n {
		case 7:
			im.Add(t.Context(), shown(id, 200, 1))
		case 13:
			im.Add(t.Context(), shown(id, 1, math.NaN()))
		default:
			im.Add(t.Context(), shown(id, 1, 1))
			want = append(want, "default/"+id)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	check.OK(t, im.Run(ended))
	if !slices.Equal(bus.taken, want) || im.failing.Fails() {
		t.Errorf("recorded: %q, and degraded: %v", bus.taken, im.failing.Fails())
	}
}
