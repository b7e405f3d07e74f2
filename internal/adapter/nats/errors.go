package nats

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
)

// ErrNoResponders is in the error of a request on a subject that no service
// answers on. It comes at once, not after a timeout.
var ErrNoResponders = errors.New("no service answers")

// ErrDisconnected is in the error of what was asked while there is no
// connection to a server. It comes at once: nothing is sent late.
var ErrDisconnected = errors.New("not connected to NATS")

// ErrTooLarge is in the error for a request or value that exceeds the largest
// message that the server takes (its max_payload, 1 MiB if not set).
var ErrTooLarge = errors.New("larger than the server's max_payload")

// Refusal is the error that a service answered with. One about time (status 408
// or 504) is a context.DeadlineExceeded too.
type Refusal struct {
	Subject string // that was asked
	Status  int    // as over HTTP
	Title   string
	Detail  string // may be empty
}

// Error names subject, status and detail.
func (r *Refusal) Error() string {
	text := r.Detail
	if text == "" {
		text = r.Title
	}
	return fmt.Sprintf("%s answered %d: %s", r.Subject, r.Status, text)
}

// Is makes a refusal about time a context.DeadlineExceeded.
func (r *Refusal) Is(target error) bool {
	return target == context.DeadlineExceeded && (r.Status == http.StatusRequestTimeout || r.Status == http.StatusGatewayTimeout)
}

// named gives the errors of the client library the names of this package.
func named(nc *nats.Conn, err error) error {
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return ErrNoResponders
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
		out[i] = "an address that is none" // what can not be read may be secret anywhere
		if u, err := url.Parse(s); err == nil && u.Host != "" {
			out[i] = u.Scheme + "://" + u.Host
		}
	}
	return out
}
