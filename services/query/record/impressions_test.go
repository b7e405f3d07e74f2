package query

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/stream"
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
	m := newMetrics(prometheus.NewRegistry())
	bus := &narrow{most: 2000}
	im := newImpressions(100, bus, slog.New(slog.DiscardHandler), m)
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
			im.add(t.Context(), shown(id, 200, 1))
		case 13:
			im.add(t.Context(), shown(id, 1, math.NaN()))
		default:
			im.add(t.Context(), shown(id, 1, 1))
			want = append(want, "default/"+id)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := im.run(ended); err != nil {
		t.Error(err)
	}
	if !slices.Equal(bus.taken, want) || im.failing.Fails() {
		t.Errorf("recorded: %q, and degraded: %v", bus.taken, im.failing.Fails())
	}
}
