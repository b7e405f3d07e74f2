package nats

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
)

// ErrDisconnected is in the error of what was asked while there is no
// connection to a server. It comes at once: nothing is sent late.
var ErrDisconnected = errors.New("not connected to NATS")

// ErrTooLarge is in the error for a request or value that exceeds the largest
// message that the server takes (its max_payload, 1 MiB if not set).
var ErrTooLarge = errors.New("larger than the server's max_payload")

// named gives the errors of the client library the names of this package.
func named(nc *nats.Conn, err error) error {
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w of %d bytes", ErrTooLarge, nc.MaxPayload())
	case errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionClosed),
		errors.Is(err, nats.ErrConnectionReconnecting), errors.Is(err, nats.ErrDisconnected):
		return disconnected(nc)
	}
	return err
}

// disconnected is an ErrDisconnected with the servers that are tried, and why
// the last try failed.
func disconnected(nc *nats.Conn) error {
	where := strings.Join(redacted(nc.Servers()), ", ")
	if cause := nc.LastError(); cause != nil {
		return fmt.Errorf("%w at %s: %w", ErrDisconnected, where, cause)
	}
	return fmt.Errorf("%w at %s", ErrDisconnected, where)
}

// redacted returns addresses without the users, passwords and tokens in them.
func redacted(servers []string) []string {
	out := make([]string, len(servers))
	for i, s := range servers {
		out[i] = "an address that cannot be read" // what cannot be read may be secret anywhere
		if u, err := url.Parse(s); err == nil && u.Host != "" {
			out[i] = u.Scheme + "://" + u.Host
		}
	}
	return out
}
