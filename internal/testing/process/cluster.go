package process

import (
	"testing"

	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
)

// Cluster is the Kafka, NATS and Weaviate that the distributed deployments of a
// package share. Servers that no deployment needed are nil.
type Cluster struct {
	Kafka, NATS, Weaviate *servers.Server
}

// Start makes sure that the servers of these names run, see servertest.Shared. The
// TestMain of the package calls servertest.Main, which stops them.
func (c *Cluster) Start(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		*c.place(name) = servertest.Shared(t, name)
	}
}

func (c *Cluster) place(name string) **servers.Server {
	return map[string]**servers.Server{servers.KafkaName: &c.Kafka, servers.NATSName: &c.NATS, servers.WeaviateName: &c.Weaviate}[name]
}

// Server returns the server of that name, or nil.
func (c *Cluster) Server(name string) *servers.Server {
	if at := c.place(name); at != nil {
		return *at
	}
	return nil
}
