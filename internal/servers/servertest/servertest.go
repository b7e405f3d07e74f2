// Package servertest starts the servers of the distributed deployment for a
// test and ends them with it.
package servertest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/servers"
)

// Variable is the environment variable that decides about servers that are not
// there: with the value "required" they are made, and a test fails where that is
// impossible; without it the test skips.
const Variable = "TOOLSTREAM_SERVERS"

// Start starts the server called name on an empty temporary folder. The test's
// end stops it and removes the folder.
func Start(t testing.TB, name string) *servers.Server {
	t.Helper()
	want(t, name)
	s, err := servers.Start(context.Background(), name, "")
	had(t, err)
	t.Cleanup(func() { stop(t, s) })
	return s
}

// Cluster starts a control plane of Kubernetes, see servers.StartCluster. The
// test's end stops it.
func Cluster(t testing.TB) *servers.Cluster {
	t.Helper()
	want(t, servers.KubernetesName)
	c, err := servers.StartCluster(context.Background())
	had(t, err)
	t.Cleanup(func() { stop(t, c) })
	return c
}

// Programs returns the folder of helm and of what else was made with Kubernetes.
func Programs(t testing.TB) string {
	t.Helper()
	want(t, servers.KubernetesName)
	home, err := servers.Programs(context.Background())
	had(t, err)
	return home
}

// Promtool returns the path of the program that checks rules for Prometheus.
func Promtool(t testing.TB) string {
	t.Helper()
	want(t, servers.PrometheusName)
	program, err := servers.Promtool(context.Background())
	had(t, err)
	return program
}

// want skips the test where what is called name is not there and not required.
func want(t testing.TB, name string) {
	t.Helper()
	if testing.Short() {
		t.Skip("a real server takes seconds to start")
	}
	if os.Getenv(Variable) != "required" && !servers.Provisioned(name) {
		t.Skipf("%s is not there: `make provision` makes it", name)
	}
}

// had ends the test after an error.
func had(t testing.TB, err error) {
	t.Helper()
	if err != nil && os.Getenv(Variable) != "required" && errors.Is(err, servers.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// running is what a test ends.
type running interface {
	Log() string
	Stop(ctx context.Context) error
}

// stop has time of its own: the test's context is over by then.
func stop(t testing.TB, s running) {
	if t.Failed() {
		t.Logf("the end of the log:\n%s", s.Log())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}
