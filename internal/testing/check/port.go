package check

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports of FreePort are below the system's range of ephemeral ports and the ports of
// internal/testing/servers.
const (
	lowestPort = 10_000
	ports      = 10_000
	portTries  = 100
)

// FreePort returns a free port of loopback. The system does not give it to others, as it does with
// ephemeral ports.
func FreePort(t testing.TB) string {
	t.Helper()
	var err error
	for range portTries {
		port := strconv.Itoa(lowestPort + rand.IntN(ports))
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal(err)
	return ""
}
