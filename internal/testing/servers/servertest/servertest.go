// Package servertest gives tests the servers of the distributed deployment. In an
// integration run all packages share one Kafka, NATS and Weaviate; in a campaign
// tests start, kill and restart servers of their own. See package level.
package servertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/servers"
)

// started are the servers that the tests of this package share in a campaign.
var started struct {
	sync.Mutex
	servers map[string]*servers.Server
	failed  map[string]error // servers that did not start; they are not retried
}

// Shared returns the running server called name, which other tests use at the
// same time: the server that the environment names, or, in a campaign, a server
// that all tests of the package share and Main stops. Otherwise the test skips.
func Shared(t testing.TB, name string) *servers.Server {
	t.Helper()
	for _, entry := range strings.Split(os.Getenv(level.Servers), ",") {
		if key, address, _ := strings.Cut(entry, "="); key == name {
			addr, grpc, _ := strings.Cut(address, "/")
			return &servers.Server{Name: name, Addr: addr, GRPC: grpc}
		}
	}
	if !level.InCampaign() {
		t.Skipf("%s names no %s: `make integration` runs this test", level.Servers, name)
	}
	started.Lock()
	defer started.Unlock()
	if started.servers == nil {
		started.servers, started.failed = map[string]*servers.Server{}, map[string]error{}
	}
	if started.servers[name] == nil && started.failed[name] == nil {
		started.servers[name], started.failed[name] = servers.Start(context.Background(), name, "")
	}
	if err := started.failed[name]; err != nil {
		t.Fatal(err)
	}
	return started.servers[name]
}

// Main runs the tests of a package, stops the servers that Shared started, and
// returns the exit code.
func Main(m *testing.M) int {
	code := m.Run()
	for _, name := range servers.Names() {
		s := started.servers[name]
		if s == nil {
			continue
		}
		if code != 0 {
			fmt.Fprintf(os.Stderr, "the end of the log of %s:\n%s\n", name, s.Log())
		}
		if err := s.Stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// Start starts a server called name on an empty temporary folder for this test
// alone, which may kill it. The end of the test stops it and removes the folder.
func Start(t testing.TB, name string) *servers.Server {
	t.Helper()
	level.Campaign(t)
	s, err := servers.Start(context.Background(), name, "")
	check(t, err)
	t.Cleanup(func() { stop(t, s) })
	return s
}

// Cluster starts a control plane of Kubernetes, see servers.StartCluster. The
// end of the test stops it.
func Cluster(t testing.TB) *servers.Cluster {
	t.Helper()
	level.Campaign(t)
	c, err := servers.StartCluster(context.Background())
	check(t, err)
	t.Cleanup(func() { stop(t, c) })
	return c
}

// Program returns the path of a program built as home. The test skips unless
// servers or programs are available to it.
func Program(t testing.TB, home, name string) string {
	t.Helper()
	if os.Getenv(level.Servers) == "" {
		level.Campaign(t)
	}
	dir, err := servers.Provision(context.Background(), home)
	check(t, err)
	return filepath.Join(dir, name)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type stopper interface {
	Log() string
	Stop(ctx context.Context) error
}

// stop has a deadline of its own: the context of the test has ended.
func stop(t testing.TB, s stopper) {
	if t.Failed() {
		t.Logf("the end of the log:\n%s", s.Log())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	check(t, s.Stop(ctx))
}
