package nats

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/toolstream/toolstream/internal/kit/redact"
)

// ErrDisconnected is in the error of a call without a connection to a server. The call fails at
// once: nothing is sent later.
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
	if cause := LastError(nc); cause != nil {
		return fmt.Errorf("%w at %s: %w", ErrDisconnected, where, cause)
	}
	return fmt.Errorf("%w at %s", ErrDisconnected, where)
}

// LastError returns the last error of a connection without secrets, nil if it had no error.
func LastError(nc *nats.Conn) error {
	if err := nc.LastError(); err != nil {
		return hide(nc, err)
	}
	return nil
}

// hide returns an error of the server without the credentials that it was sent: a server or a
// proxy may repeat them.
func hide(nc *nats.Conn, err error) error {
	secrets := []string{nc.Opts.Token, nc.Opts.Password}
	for _, server := range nc.Opts.Servers { // as they were set
		if !strings.Contains(server, "://") {
			server = "nats://" + server
		}
		secrets = append(secrets, redact.Secrets(server)...)
	}
	said := err.Error()
	for _, secret := range secrets {
		if secret != "" {
			said = strings.ReplaceAll(said, secret, "(credential)")
		}
	}
	if said == err.Error() {
		return err
	}
	return errors.New(said)
}

// redacted returns addresses without the users, passwords and tokens in them.
func redacted(servers []string) []string {
	out := make([]string, len(servers))
	for i, s := range servers {
		out[i] = "an address that cannot be read" // an unreadable address may contain a secret anywhere
		if u, err := url.Parse(s); err == nil && u.Host != "" {
			out[i] = u.Scheme + "://" + u.Host
		}
	}
	return out
}
