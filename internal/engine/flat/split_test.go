package flat

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sourcegraph/conc/panics"
)

// A panic of a worker comes to its caller, once all workers are done.
func TestAPanicOfAWorkerComesToItsCaller(t *testing.T) {
	for which := range 3 {
		var done atomic.Int32
		caught := panics.Try(func() {
			split(6, 3, func(worker, _, _ int) {
				if worker == which {
					panic("broken")
				}
				done.Add(1)
			})
		})
		if caught == nil || !strings.Contains(caught.String(), "broken") || done.Load() != 2 {
			t.Errorf("worker %d: %v, and %d are done", which, caught, done.Load())
		}
	}
}
