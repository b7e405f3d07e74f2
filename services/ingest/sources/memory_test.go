package sources

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// heavy lists a shop once there is memory for the list.
type heavy struct{ *shop }

func (h heavy) Connect(ctx context.Context, at source.Place, changed func()) (source.Session, error) {
	s, err := h.shop.Connect(ctx, at, changed)
	return heavyVisit{s}, err
}

type heavyVisit struct{ source.Session }

func (v heavyVisit) List(ctx context.Context, whole bool) (source.Listing, error) {
	if err := inflight.From(ctx).Grow(ctx, 8<<20); err != nil {
		return source.Listing{}, err
	}
	return v.Session.List(ctx, whole)
}

// A look takes the memory of its tenant until it ends. Without memory it comes again after the time
// that the refusal gives.
func TestALookWithoutMemoryComesAgain(t *testing.T) {
	memory := inflight.New(inflight.Config{Bytes: 20 << 20, MaxWait: 40 * time.Second}, prometheus.NewRegistry())
	run(t, Config{}, map[string]*shop{}, func(p *fixture) {
		t := p.t
		p.stop()
		p.connect = func(d *Deps) {
			d.InFlight = memory
			d.Connectors = map[string]source.Connector{"mcp": heavy{newShop("one")}}
		}
		p.start(nil)
		p.pass(time.Second)
		busy := memory.Open(home)
		check.OK(t, busy.Grow(t.Context(), 10<<20))
		p.put("shop", "mcp")
		p.pass(41 * time.Second)
		if src := p.want("shop", Stale, 0); !strings.Contains(src.LastError, "try again in 20 s") || time.Until(src.Next) < 15*time.Second {
			t.Errorf("%s, again in %v", src.LastError, time.Until(src.Next))
		}
		busy.Close()
		p.pass(time.Minute)
		p.want("shop", Polling, 1)
		if memory.Used() != 0 {
			t.Errorf("%d bytes are reserved after the look", memory.Used())
		}
	})
}
