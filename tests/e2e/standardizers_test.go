package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/llmtest"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Of two standardizers one asks the language model. Once it is killed the other one takes
// over, and asks again what was on its way at most. Documents wait for neither.
func TestOneStandardizerAsks(t *testing.T) {
	level.Campaign(t)
	const tools, atOnce = 24, 4
	var mu sync.Mutex
	asked := map[string]int{}
	_, env := listen(t, llmtest.Config{Latency: 2 * time.Second, Answer: func(r llmtest.Request) llmtest.Reply {
		mu.Lock()
		asked[r.User]++
		mu.Unlock()
		return repeating(r)
	}})
	env = append(env, fmt.Sprintf("TOOLSTREAM_LLM_PARALLEL=%d", atOnce), "TOOLSTREAM_LLM_REWRITE=off")
	d := process.ServeIn(t, &cluster, process.Binary(), env)
	p := d.Front()
	for i := range tools {
		put(t, p, fmt.Sprintf("ferry-%d", i), fmt.Sprintf(`{"name":"book_ferry_%d","description":"Books a ferry across strait number %d."}`, i, i))
	}
	left := func() (n int) {
		for i := range tools {
			e, _ := get(t, p, fmt.Sprintf("ferry-%d", i))
			if o := e.Document.Standardized; o == nil || o.Fallback == schema.FallbackPending {
				n++
			}
		}
		return n
	}
	if left() == 0 {
		t.Fatal("the model was faster than the documents")
	}
	await := func(most int) {
		t.Helper()
		if err := until(t, func() (bool, error) { return left() <= most, nil }); err != nil {
			t.Fatalf("%d documents wait: %v\n%s", left(), err, d.Replica("standardizer-2").Log())
		}
	}
	await(tools / 2)
	if !strings.Contains(d.Replica("standardizer-1").Log(), "the lease is held") {
		t.Fatal("the one that began first does not ask")
	}
	d.Kill("standardizer-1")
	await(0)
	mu.Lock()
	defer mu.Unlock()
	again := 0
	for _, n := range asked {
		again += n - 1
	}
	if again > atOnce {
		t.Errorf("%d of %d questions were asked again, want %d at most", again, len(asked), atOnce)
	}
	t.Logf("%d questions, %d asked again", len(asked), again)
}
