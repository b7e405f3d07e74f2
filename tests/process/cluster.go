package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/toolstream/toolstream/internal/servers"
	"github.com/toolstream/toolstream/internal/servers/servertest"
)

// Cluster is one Kafka, one NATS and one Weaviate for all tests of a package,
// which Main ends once they are over. Its zero value starts each at the first
// use.
type Cluster struct {
	Kafka, NATS, Weaviate *servers.Server

	mu     sync.Mutex
	failed map[string]error // by name: what could not be started is not tried again
}

// Start starts the servers of these names unless they run. The test skips where
// one can not be had, unless servertest.Variable requires them.
func (c *Cluster) Start(t testing.TB, names ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: real servers take seconds to start")
	}
	required := os.Getenv(servertest.Variable) == "required"
	for _, name := range names {
		if !required && !servers.Provisioned(name) {
			t.Skipf("%s is not there: `make provision` makes it", name)
		}
	}
	for _, name := range names {
		err := c.start(name)
		if errors.Is(err, servers.ErrUnavailable) && !required {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (c *Cluster) start(name string) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.place(name)
	if *at != nil || c.failed[name] != nil {
		return c.failed[name]
	}
	if *at, err = servers.Start(context.Background(), name, ""); err != nil {
		if c.failed == nil {
			c.failed = map[string]error{}
		}
		c.failed[name] = err
	}
	return err
}

func (c *Cluster) place(name string) **servers.Server {
	return map[string]**servers.Server{servers.KafkaName: &c.Kafka, servers.NATSName: &c.NATS, servers.WeaviateName: &c.Weaviate}[name]
}

// Server returns a server that was started by its name, nil for what is none.
func (c *Cluster) Server(name string) *servers.Server {
	if at := c.place(name); at != nil {
		return *at
	}
	return nil
}

// Main runs the tests of a package and stops what they have started. It returns
// the code to exit with.
func (c *Cluster) Main(m *testing.M) int {
	code := m.Run()
	if err := c.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// Stop stops what was started.
func (c *Cluster) Stop() error {
	var errs []error
	for _, name := range servers.Names() {
		if s := c.Server(name); s != nil {
			errs = append(errs, s.Stop(context.Background()))
		}
	}
	return errors.Join(errs...)
}
