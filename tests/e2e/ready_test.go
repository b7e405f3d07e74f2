package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/tests/process"
)

// readiness waits until every process of a deployment is ready, but for those of
// which the services are named: they have to say what they lack.
func readiness(t *testing.T, d *process.Distributed, lack string, unready ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, name := range d.Replicas() {
		wanted := http.StatusOK
		for _, service := range unready {
			if strings.HasPrefix(name, service) {
				wanted = http.StatusServiceUnavailable
			}
		}
		var last answer
		err := process.Until(ctx, func() (bool, error) {
			last = send(t, d.Replica(name), http.MethodGet, "/readyz", "", "")
			return last.status == wanted, nil
		})
		if err != nil || wanted != http.StatusOK && !strings.Contains(last.problem.Detail, lack) {
			t.Errorf("%s is not as it should be, %d: %d %s (%v)", name, wanted, last.status, last.body, err)
		}
		if alive := send(t, d.Replica(name), http.MethodGet, "/healthz", "", ""); alive.status != http.StatusOK {
			t.Errorf("%s does not say that it lives: %d", name, alive.status)
		}
	}
}

func TestReadinessSaysWhatIsMissing(t *testing.T) {
	model := behindEndpoint(t)
	d := process.Serve(t, &cluster, binary())
	put(t, d.Front(), "boat", ferry)
	agree(t, d)
	outage(t, cluster.NATS, func() { readiness(t, d, "") })
	outage(t, cluster.Kafka, func() { readiness(t, d, "Kafka", "ingest", "standardizer", "embedder", "trainer") })
	readiness(t, d, "")
	put(t, d.Front(), "oven", bread)
	agree(t, d)
	model.server.Close()
	readiness(t, d, "embedding model", "embedder")
}
