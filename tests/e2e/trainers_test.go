package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/client"
	"github.com/toolstream/toolstream/internal/servers"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/tests/process"
)

// secondTrainer serves a trainer beside that of the deployment.
func secondTrainer(t *testing.T, d *process.Distributed) client.Client {
	t.Helper()
	ports, err := servers.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	var said strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, binary(), "serve", "trainer", "--data", filepath.Join(t.TempDir(), "data"), "--listen", address)
	cmd.Stderr = &said
	cmd.Env = append(os.Environ(), "TOOLSTREAM_KAFKA_BROKERS="+d.Cluster.Kafka.Addr, "TOOLSTREAM_NATS_URL=nats://"+d.Cluster.NATS.Addr,
		"TOOLSTREAM_KAFKA_PREFIX="+d.Prefix, "TOOLSTREAM_KAFKA_PARTITIONS=2")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("the second trainer said:\n%s", &said)
		}
	})
	return client.Client{Server: "http://" + address, HTTP: &http.Client{}}
}

// readyIs waits until a process says of itself that it is ready, or is not for
// the reason that another one does its work.
func readyIs(t *testing.T, c client.Client, want bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var last error
	err := process.Until(ctx, func() (bool, error) {
		body, err := c.Send(ctx, http.MethodGet, "/readyz", nil, "", nil)
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
	hurry(t)
	d := process.Serve(t, &cluster, binary())
	p := d.Front()
	second := secondTrainer(t, d)
	readyIs(t, second, false)
	readyIs(t, d.Replica("trainer").Client, true)
	promote := func(c client.Client) (w schema.Weights, err error) {
		err = c.Post(t.Context(), "/v1/weights/builtin/promote", nil, &w)
		return w, err
	}
	first, err := promote(d.Replica("trainer").Client)
	if err != nil {
		t.Fatal(err)
	}
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
