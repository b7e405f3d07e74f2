package calls

import (
	"testing"
	"time"

	"github.com/toolstream/toolstream/pkg/schema"
)

func TestHealthForgets(t *testing.T) {
	now := &clock{now: time.Now()}
	r := newHealth(now.read)
	key := toolKey{"default", "shop/sell"}
	if r.of(key) != nil || r.fails(key) {
		t.Error("something is known of a tool that was never called")
	}
	for range 4 {
		r.note(key, schema.CallTimeout, time.Second)
	}
	if h := r.of(key); h.ErrorRate != 1 || h.Calls != 4 || h.P50MS != 0 || !r.fails(key) {
		t.Errorf("after four timeouts: %+v, fails %v", h, r.fails(key))
	}
	now.pass(halfLife)
	if h := r.of(key); h.Calls != 2 || r.fails(key) {
		t.Errorf("after %s: %+v, fails %v", halfLife, h, r.fails(key))
	}
	for i := range 8 {
		r.note(key, []schema.CallOutcome{schema.CallOK, schema.CallToolError}[i%2], time.Duration(i+1)*time.Millisecond)
	}
	if h := r.of(key); h.Calls != 10 || h.ErrorRate != 0.2 || h.ToolErrorRate != 0.4 || h.P50MS != 5 || r.fails(key) {
		t.Errorf("after eight answers: %+v", h)
	}
	now.pass(24 * time.Hour)
	if h := r.of(key); h != nil {
		t.Errorf("a day later: %+v", h)
	}
}
