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

// Cluster is one Kafka and one NATS for all tests of a package, which Stop ends
// once they are over. Its zero value starts them at the first use.
type Cluster struct {
	once        sync.Once
	Kafka, NATS *servers.Server
	err         error
}

// Start starts the servers unless they run. The test skips where they can not be
// had, unless servertest.Variable requires them.
func (c *Cluster) Start(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: real servers take seconds to start")
	}
	required := os.Getenv(servertest.Variable) == "required"
	for _, name := range []string{servers.KafkaName, servers.NATSName} {
		if !required && !servers.Provisioned(name) {
			t.Skipf("%s is not there: `make provision` makes it", name)
		}
	}
	c.once.Do(func() { c.err = c.start() })
	if c.err != nil && !required && errors.Is(c.err, servers.ErrUnavailable) {
		t.Skip(c.err)
	}
	if c.err != nil {
		t.Fatal(c.err)
	}
}

func (c *Cluster) start() (err error) {
	if c.Kafka, err = servers.Kafka(context.Background(), ""); err != nil {
		return err
	}
	c.NATS, err = servers.NATS(context.Background(), "")
	return err
}

// Main runs the tests of a package and stops what they have started. It returns
// the code to exit with.
func (c *Cluster) Main(m *testing.M) int {
	code := m.Run()
	for _, s := range []*servers.Server{c.Kafka, c.NATS} {
		if s == nil {
			continue
		}
		if err := s.Stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}
