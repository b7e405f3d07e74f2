package httpserver

import (
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// The kernel takes little of an answer that its client does not read.
func TestTheKernelKeepsLittleOfAnUnreadAnswer(t *testing.T) {
	l := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	client := check.Value(net.Dial("tcp", l.Addr().String()))(t)
	defer client.Close()
	check.OK(t, client.(*net.TCPConn).SetReadBuffer(4096))
	c := check.Value(listener{l, newConnections(nil, prometheus.NewRegistry())}.Accept())(t)
	defer c.Close()
	check.OK(t, c.SetWriteDeadline(time.Now().Add(200*time.Millisecond)))
	n, err := c.Write(make([]byte, 64<<20))
	if err == nil || n > 4*maxUnsent {
		t.Errorf("it took %d bytes, %v", n, err)
	}
}
