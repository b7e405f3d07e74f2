package query

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/simulation"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestWhatIsRefusedIsSaidUntilSomethingGoodComes(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	good := sealed(t, 5, nil)
	raw := mustJSON(t, good)
	for name, bad := range map[string][]byte{
		"truncated":   raw[:len(raw)/2],
		"corrupted":   []byte(strings.Replace(string(raw), `"bias":0`, `"bias":7`, 1)),
		"older epoch": mustJSON(t, sealed(t, 4, nil)),
	} {
		b.models.learn("weights.live.default", raw)
		if got := b.Refused(testTenant); len(got) != 0 {
			t.Fatalf("%s: %q with good weights", name, got)
		}
		b.models.learn("weights.live.default", bad)
		if got := b.Refused(testTenant); len(got) != 1 || !strings.HasPrefix(got[0], "weights: ") {
			t.Errorf("%s: %q", name, got)
		}
		if b.WeightsVersion(testTenant) != good.Version {
			t.Errorf("%s: %s serves", name, b.WeightsVersion(testTenant))
		}
		if got := b.Refused("other"); len(got) != 0 {
			t.Errorf("%s: another tenant is told %q", name, got)
		}
	}
	b.usage.learn("usage.default", []byte("{"))
	if got := b.Refused(testTenant); len(got) != 2 || !strings.HasPrefix(got[1], "usage: ") {
		t.Errorf("%q", got)
	}
	b.models.learn("weights.live.default", nil)
	b.usage.learn("usage.default", nil)
	if got := b.Refused(testTenant); len(got) != 0 {
		t.Errorf("%q of what is gone", got)
	}
}

// By its epochs a replica that is behind can be told from the others.
func TestEpochsTellWhichReplicaIsBehind(t *testing.T) {
	b, behind := newBench(t, tool("a", "", 1)), newBench(t, tool("a", "", 1))
	for _, s := range []*bench{b, behind} {
		s.models.learn("weights.live.default", mustJSON(t, sealed(t, 5, nil)))
	}
	b.models.learn("weights.live.default", mustJSON(t, sealed(t, 6, nil)))
	b.models.learn("weights.live.other", mustJSON(t, sealed(t, 2, nil)))
	b.models.learn("weights.live.default", []byte("{"))
	if ahead, old := b.models.epochs(), behind.models.epochs(); ahead != 8 || old != 5 {
		t.Errorf("epochs %d and %d, want 8 and 5", ahead, old)
	}
}

func TestFeedbackOnWhatWasDeletedIsRefused(t *testing.T) {
	b := newBench(t, tool("a", "", 1), tool("stays", "shop", 1), agent("both", 1))
	for _, id := range []string{"gone", "both"} {
		b.catalogue.deleted[schema.Ref{Tenant: testTenant, Kind: schema.KindTool, ID: id}] = schema.Version{Revision: 9}
	}
	for _, id := range []string{"shop", "empty shop"} {
		b.catalogue.deleted[schema.Ref{Tenant: testTenant, Kind: schema.KindAgent, ID: id}] = schema.Version{Revision: 9}
	}
	for id, refused := range map[string]bool{"a": false, "gone": true, "both": false, "unknown here": false, "shop": false, "empty shop": true} {
		err := b.Feedback(deadline(t), testTenant, schema.Feedback{SearchID: "s", ToolID: id, Event: schema.Called})
		var invalid *schema.Invalid
		if errors.As(err, &invalid) != refused || !refused && err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := b.Feedback(deadline(t), testTenant, schema.Feedback{SearchID: "s", ToolID: "a", Event: "liked"}); err == nil {
		t.Error("an unknown event was accepted")
	}
	if n := b.metric(t, "toolstream_feedback_refused_total"); n != 3 {
		t.Errorf("%v refusals counted", n)
	}
	if n := len(b.bus.Published(events.FeedbackTopic)); n != 4 {
		t.Errorf("%d events published", n)
	}
}

// Several replicas watch one store: what it is given ranks on all of them before
// the one who gives it goes on, a bad version on none.
func TestAChangeOfWeightsIsLiveOnEveryReplica(t *testing.T) {
	world := simulation.NewWorld(time.Unix(0, 0))
	ctx, cancel := context.WithCancel(t.Context())
	var replicas []*Service
	var g errgroup.Group
	for range 3 {
		b := newBench(t, tool("a", "", 1))
		s, err := New(Config{}, Deps{
			Index: b.index, Catalogue: b.catalogue, Publisher: b.bus, Watcher: world,
			Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		})
		if err != nil {
			t.Fatal(err)
		}
		replicas = append(replicas, s)
		g.Go(func() error { return s.Run(ctx) })
	}
	if err := world.Await(ctx, 0, 3*len(replicas)); err != nil {
		t.Fatal(err)
	}
	for epoch, want := range []string{"w0", "w1", "w2", "w2", "w4"} {
		raw := mustJSON(t, sealed(t, uint64(epoch), nil))
		if epoch == 3 {
			raw = raw[1:]
		}
		if err := world.Put(ctx, "weights.live.default", raw); err != nil {
			t.Fatal(err)
		}
		for i, s := range replicas {
			if got := s.WeightsVersion(testTenant); got != want {
				t.Errorf("after version %d replica %d ranks by %s, want %s", epoch, i, got, want)
			}
		}
	}
	cancel()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}
