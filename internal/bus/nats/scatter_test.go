package nats

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestAllProcessesAnswer(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var asker *ScatterGather
	nc := connect(t)
	for _, name := range []string{"a", "b", "c"} {
		r := NewScatterGather(nc, "roll.test", func(asked []byte) []byte { return append([]byte(name), asked...) })
		asker = r
		running.Go(func() {
			if err := r.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for {
		answers := check.Value(asker.Ask(t.Context(), []byte("?"), 100*time.Millisecond))(t)
		var names []string
		for _, a := range answers {
			names = append(names, string(a))
		}
		if slices.Sort(names); slices.Equal(names, []string{"a?", "b?", "c?"}) {
			break
		}
		if t.Context().Err() != nil {
			t.Fatalf("%q answered", names)
		}
	}
	stop()
	running.Wait()
	if answers, err := asker.Ask(t.Context(), []byte("?"), 100*time.Millisecond); err != nil || len(answers) > 0 {
		t.Errorf("%d answers, %v, of nobody", len(answers), err)
	}
}
