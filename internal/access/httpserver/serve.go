package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The server's limits. A whole body has no time limit of its own: an import streams for
// as long as it takes.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
)

// DrainTimeout bounds the requests under way once the server shuts down.
const DrainTimeout = 10 * time.Second

type stoppingKey struct{}

// Stopping returns a channel that is closed once the server of a request shuts down. An endless
// answer has to end then: the shutdown waits for all others.
func Stopping(ctx context.Context) <-chan struct{} {
	stopping, _ := ctx.Value(stoppingKey{}).(<-chan struct{})
	return stopping // nil if no server has the request
}

// Serve answers on a listener until ctx ends, then waits for the requests under way. Without TLS
// settings it speaks plain HTTP.
func Serve(ctx context.Context, l net.Listener, secured *tls.Config, handler http.Handler, proxies Proxies, log *slog.Logger, reg prometheus.Registerer) error {
	server := &http.Server{
		Handler:           handler,
		TLSConfig:         secured,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), stoppingKey{}, ctx.Done())
		},
		ConnContext: withConn,
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelWarn), // such as handshakes that fail
	}
	failed := make(chan error, 1)
	accepted := listener{l, newConnections(proxies, reg)}
	go func() {
		if secured == nil {
			failed <- server.Serve(accepted)
		} else {
			failed <- server.ServeTLS(accepted, "", "")
		}
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("http: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), DrainTimeout)
	defer cancel()
	err := server.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-failed
	if err != nil {
		return fmt.Errorf("http: stop: %w", err)
	}
	return nil
}
