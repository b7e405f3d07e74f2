package process

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// door is an address that stays while the process behind it is started again
// and listens elsewhere, as a Service of Kubernetes is. The test listens at it
// from the beginning, so no other process can take it.
type door struct {
	listener net.Listener
	behind   atomic.Pointer[string] // address of the process, nil if it is down
}

func newDoor(t testing.TB) *door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go d.pass(conn)
		}
	}()
	return d
}

// URL is the fixed address.
func (d *door) URL() string { return "http://" + d.listener.Addr().String() }

// lead makes the door lead to a process at url and returns its own.
func (d *door) lead(url string) string {
	address := strings.TrimPrefix(url, "http://")
	d.behind.Store(&address)
	return d.URL()
}

// shut makes the door end every connection at once. A port that nothing listens
// at must not be dialled: the system may give the connection that very port.
func (d *door) shut() { d.behind.Store(nil) }

// pass connects a client with the process until either ends the connection.
func (d *door) pass(client net.Conn) {
	defer client.Close()
	address := d.behind.Load()
	if address == nil {
		return
	}
	server, err := net.Dial("tcp", *address)
	if err != nil {
		return
	}
	go func() {
		defer server.Close()
		_, _ = io.Copy(server, client) // an error ends the connection, and no more is needed
	}()
	_, _ = io.Copy(client, server)
}
