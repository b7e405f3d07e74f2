package ingest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// A batch that is read in pieces takes the memory of its largest piece, and one document that of the
// whole. What finds no memory is refused with a time.
func TestABatchTakesTheMemoryOfWhatItKeeps(t *testing.T) {
	const budget = 20 << 20
	s := serve(t, Config{})
	s.memory = inflight.New(inflight.Config{Bytes: budget, MaxWait: time.Millisecond}, prometheus.NewRegistry())
	var tools []string
	for i := range 4000 {
		tools = append(tools, fmt.Sprintf(`{"name":"t%d","description":%q,"inputSchema":{"type":"object"}}`, i, strings.Repeat("x", 2000)))
	}
	for name, body := range map[string]string{"lines": strings.Join(tools, "\n"), "array": "[" + strings.Join(tools, ",") + "]"} {
		if _, summary := s.batch("?provider="+name, body).lines(t); summary.Accepted != len(tools) || summary.Error != "" {
			t.Errorf("%s: %+v", name, summary)
		}
	}
	whole := func() reply {
		return s.batch("?provider=whole", `{"tools":[`+strings.Join(tools[:1200], ",")+`]}`, "Content-Type", "application/json")
	}
	if _, summary := whole().lines(t); summary.Accepted != 1200 {
		t.Errorf("a whole document: %+v", summary)
	}
	busy := s.memory.Open("other")
	check.OK(t, busy.Grow(t.Context(), budget/2))
	if r := whole(); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") != "1" || !strings.Contains(string(r.body), "try again") {
		t.Errorf("without memory: %d %s", r.StatusCode, r.body)
	}
	if busy.Close(); s.memory.Used() != 0 {
		t.Errorf("%d bytes are reserved after all", s.memory.Used())
	}
}
