package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
)

// readyIs waits until a process says of itself that it is ready, or is not for
// the reason that another one does its work.
func readyIs(t *testing.T, c client.Client, want bool) {
	t.Helper()
	var last error
	err := until(t, func() (bool, error) {
		body, _, err := c.Send(t.Context(), http.MethodGet, "/readyz", nil, "", nil)
		if err == nil {
			body.Close()
		}
		last = err
		return want && err == nil || !want && err != nil && strings.Contains(err.Error(), "another process"), nil
	})
	if err != nil {
		t.Fatalf("ready is to be %v, and it says %v", want, last)
	}
}

// Of two trainers one works. The other one refuses to change weights, and takes
// over when the first one is gone.
func TestOneTrainerWorks(t *testing.T) {
	level.Campaign(t)
	d := process.ServeIn(t, &cluster, process.Binary(), hurry())
	p := d.Front()
	d.Begin(t, "trainer-2")
	second := d.Replica("trainer-2").Client
	readyIs(t, second, false)
	readyIs(t, d.Replica("trainer").Client, true)
	promote := func(c client.Client) (w schema.Weights, err error) {
		err = c.Post(t.Context(), "/v1/weights/builtin/promote", nil, &w)
		return w, err
	}
	first := check.Value(promote(d.Replica("trainer").Client))(t)
	waitUntilRanksBy(t, p, first.Version)
	if w, err := promote(second); err == nil {
		t.Errorf("the one that stands by made %s live", w.Version)
	}

	d.Kill("trainer")
	readyIs(t, second, true)
	next, err := promote(second)
	if err != nil || next.Epoch <= first.Epoch {
		t.Fatalf("after the first one is gone: %+v, %v; it was %+v", next, err, first)
	}
	waitUntilRanksBy(t, p, next.Version)
}
