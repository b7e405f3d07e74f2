package calls

import (
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/lab/simulation"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestHealthForgets(t *testing.T) {
	now := simulation.NewBus(time.Now())
	r := newBench(t, Config{}, func(d *Deps) { d.Now = now.Now }).health
	key := toolKey{"default", "shop/sell"}
	if r.get(key) != nil || r.fails(key) {
		t.Error("something is known of a tool that was never called")
	}
	for range 4 {
		r.add(key, schema.CallTimeout, time.Second)
	}
	if h := r.get(key); h.ErrorRate != 1 || h.Calls != 4 || h.P50MS != 0 || !r.fails(key) {
		t.Errorf("after four timeouts: %+v, fails %v", h, r.fails(key))
	}
	now.Pass(halfLife)
	if h := r.get(key); h.Calls != 2 || r.fails(key) {
		t.Errorf("after %s: %+v, fails %v", halfLife, h, r.fails(key))
	}
	for i := range 8 {
		r.add(key, []schema.CallOutcome{schema.CallOK, schema.CallToolError}[i%2], time.Duration(i+1)*time.Millisecond)
	}
	if h := r.get(key); h.Calls != 10 || h.ErrorRate != 0.2 || h.ToolErrorRate != 0.4 || h.P50MS != 5 || r.fails(key) {
		t.Errorf("after eight answers: %+v", h)
	}
	now.Pass(24 * time.Hour)
	if h := r.get(key); h != nil {
		t.Errorf("a day later: %+v", h)
	}
}
