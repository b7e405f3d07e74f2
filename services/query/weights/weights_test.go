package weights

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

func newStore() *Store {
	return New(Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
}

// sealed returns built-in weights of an epoch, as the store has them.
func sealed(t *testing.T, epoch uint64) []byte {
	t.Helper()
	w := fusion.Builtin()
	w.Epoch, w.Version = epoch, fmt.Sprint("w", epoch)
	w = check.Value(fusion.Seal(w))(t)
	return encoded(t, w)
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	return check.Value(json.Marshal(v))(t)
}

// A replica that is behind can be told from the others by its epochs.
func TestEpochsTellWhichReplicaIsBehind(t *testing.T) {
	ahead, behind := newStore(), newStore()
	for _, s := range []*Store{ahead, behind} {
		s.weights.apply("weights.live.default", sealed(t, 5))
	}
	ahead.weights.apply("weights.live.default", sealed(t, 6))
	ahead.weights.apply("weights.live.other", sealed(t, 2))
	ahead.weights.apply("weights.live.default", []byte("{"))
	if a, b := ahead.weights.epochs(), behind.weights.epochs(); a != 8 || b != 5 {
		t.Errorf("epochs %d and %d, want 8 and 5", a, b)
	}
}

func TestInvalidUsageIsRefused(t *testing.T) {
	s := newStore()
	for name, u := range map[string]schema.Usage{
		"other tenant": {Schema: 1, Tenant: "other"},
		"negative":     {Schema: 1, Tenant: "default", Prior: map[string]float64{"a": -1}},
		"newer schema": {Schema: schema.UsageSchema + 1, Tenant: "default"},
	} {
		s.usage.apply("usage.default", encoded(t, u))
		if s.Usage("default") != nil || len(s.Refused("default", "")) != 1 {
			t.Errorf("%s: accepted", name)
		}
	}
}
