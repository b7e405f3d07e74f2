//go:build !linux

package httpserver

import "net"

// boundUnsent leaves the bound to the system.
func boundUnsent(net.Conn) {}
