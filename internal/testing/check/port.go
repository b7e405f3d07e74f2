package check

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports of FreePort lie below the range from which the system gives ports, and below the ports of
// internal/testing/servers.
const (
	lowestPort = 10_000
	ports      = 10_000
	portTries  = 100
)

// FreePort returns a port of loopback at which nothing listens, and which the system gives to
// nothing that asks for any port.
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
