package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Connect returns a connection that comes up when a server is there, and reconnects by itself
// until it is closed, with its subscriptions, even after the server refused its credentials: these
// may be renewed. It logs losses and reconnects. Without a connection calls fail with
// ErrDisconnected, which names the servers and the cause. Drain ends the connection.
func Connect(cfg ConnectConfig, log *slog.Logger) (*nats.Conn, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	options, err := cfg.options(log)
	if err != nil {
		return nil, err
	}
	nc, err := nats.Connect(cfg.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("nats: connect to %s: %w", strings.Join(redacted(strings.Split(cfg.URL, ",")), ", "), err)
	}
	return nc, nil
}

func (c ConnectConfig) options(log *slog.Logger) ([]nats.Option, error) {
	credentials, err := c.credentials()
	if err != nil {
		return nil, err
	}
	encryption, err := c.tls()
	if err != nil {
		return nil, err
	}
	options := []nats.Option{
		nats.Name(c.Name),
		nats.Timeout(connectTimeout),
		nats.DrainTimeout(drainTimeout),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait), // clients that lost the same server do not come back at once
		nats.IgnoreAuthErrorAbort(),
		nats.ReconnectBufSize(-1), // see the package comment
		nats.RetryOnFailedConnect(true),
	}
	options = append(options, observers(log)...)
	return append(append(options, credentials...), encryption...), nil
}

// observers log events of the connection.
func observers(log *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.ConnectHandler(func(nc *nats.Conn) {
			log.Info("nats: connected", "server", nc.ConnectedUrlRedacted())
		}),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if err != nil { // without one it was closed
				log.Warn("nats: connection lost", "servers", redacted(nc.Servers()), "error", hide(nc, err))
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			log.Info("nats: connected again", "server", nc.ConnectedUrlRedacted(), "times", nc.Stats().Reconnects)
		}),
		nats.ErrorHandler(func(nc *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			log.Warn("nats: trouble", "server", nc.ConnectedUrlRedacted(), "subject", subject, "error", hide(nc, err))
		}),
	}
}

// reconnectWait is the time between two tries of one server, without jitter.
const reconnectWait = 500 * time.Millisecond

// Drain ends a connection: it receives nothing new, handles received messages and flushes sent
// ones. If ctx or the configured time ends before, it gives up with an error. Without a
// connection it does nothing.
func Drain(ctx context.Context, nc *nats.Conn) error {
	changes := nc.StatusChanged(nats.CLOSED)
	defer nc.RemoveStatusListener(changes)
	if !nc.IsConnected() {
		nc.Close()
		return nil
	}
	if err := nc.Drain(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrConnectionReconnecting) {
		return fmt.Errorf("nats: drain: %w", err)
	}
	if nc.IsClosed() {
		return nil
	}
	select {
	case <-changes:
	case <-ctx.Done():
		nc.Close()
		return fmt.Errorf("nats: drain: %w", ctx.Err())
	}
	if err := nc.LastError(); errors.Is(err, nats.ErrDrainTimeout) {
		return fmt.Errorf("nats: drain: %w", err)
	}
	return nil
}

// whileConnected waits for a connection and returns a context that ends when it is lost, with the
// loss as its cause. The caller has to call stop. An error means that ctx has ended or that the
// connection is closed for good.
func whileConnected(ctx context.Context, nc *nats.Conn) (_ context.Context, stop func(), err error) {
	changes := nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer nc.RemoveStatusListener(changes)
	for {
		// It listens before it asks, so that it sees a loss in between.
		losses := nc.StatusChanged(nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
		if nc.IsConnected() {
			connected, stop := untilLost(ctx, nc, losses)
			return connected, stop, nil
		}
		nc.RemoveStatusListener(losses)
		if nc.IsClosed() {
			return nil, nil, disconnected(nc)
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-changes:
		}
	}
}

// untilLost ends the context with the first of the losses, and stops listening
// for them with the context.
func untilLost(ctx context.Context, nc *nats.Conn, losses chan nats.Status) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-losses:
			cancel(disconnected(nc))
		case <-ctx.Done():
		}
		nc.RemoveStatusListener(losses)
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}
