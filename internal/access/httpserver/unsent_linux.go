package httpserver

import (
	"net"

	"golang.org/x/sys/unix"
)

// maxUnsent bounds the bytes of an answer that wait in the kernel for room in the client's window.
// By default they are megabytes for each client that reads nothing. Bytes on their way to a client
// do not count, so a fast client stays fast.
const maxUnsent = 128 << 10

// boundUnsent sets the bound of a connection.
func boundUnsent(c net.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := t.SyscallConn()
	if err != nil { // it is closed
		return
	}
	_ = raw.Control(func(fd uintptr) { // a kernel that refuses keeps its default
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent)
	})
}
