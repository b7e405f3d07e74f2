package lifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// recorder notes in which order parts stop.
type recorder struct {
	mu      sync.Mutex
	stopped []string
}

func (r *recorder) part(name string, started chan<- string) Service {
	return Service{name, func(ctx context.Context) error {
		started <- name
		<-ctx.Done()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.stopped = append(r.stopped, name)
		return ctx.Err()
	}}
}

func TestPartsStopInOppositeOrder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan string, 3)
	var r recorder
	go func() {
		for range 3 {
			<-started
		}
		cancel()
	}()
	check.OK(t, Run(ctx, []Service{r.part("index", started), r.part("embedder", started), r.part("ingest", started)}))
	if want := []string{"ingest", "embedder", "index"}; !slices.Equal(r.stopped, want) {
		t.Errorf("stopped %v, want %v", r.stopped, want)
	}
}

func TestAFailingPartStopsTheOthersAndIsNamed(t *testing.T) {
	started := make(chan string, 2)
	var r recorder
	boom := Service{"embedder", func(context.Context) error { return errors.New("boom") }}
	err := Run(t.Context(), []Service{r.part("index", started), boom})
	if err == nil || err.Error() != "embedder: boom" {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(r.stopped, []string{"index"}) {
		t.Errorf("stopped %v", r.stopped)
	}
}

func TestAPartThatEndsByItselfHasFailed(t *testing.T) {
	quits := Service{"standardizer", func(context.Context) error { return nil }}
	err := Run(t.Context(), []Service{quits})
	if err == nil || !strings.Contains(err.Error(), "standardizer: ended by itself") {
		t.Errorf("got %v", err)
	}
}
