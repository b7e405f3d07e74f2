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

	"golang.org/x/net/netutil"
)

// The server's limits. A whole body has no time limit of its own: an import streams for
// as long as it takes.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeader      = 64 << 10
	maxConnections = 4096
)

// DrainTimeout is how long requests under way may take once the server is to stop.
const DrainTimeout = 10 * time.Second

type stoppingKey struct{}

// Stopping returns what is closed once the server of a request is to stop. An answer that has
// no end is to end then: the others are waited for.
func Stopping(ctx context.Context) <-chan struct{} {
	stopping, _ := ctx.Value(stoppingKey{}).(<-chan struct{})
	return stopping // nil where no server has the request
}

// Serve answers on the listener until ctx ends, then lets the requests under way finish.
// Without settings of TLS it speaks plain HTTP.
func Serve(ctx context.Context, listener net.Listener, secured *tls.Config, handler http.Handler, log *slog.Logger) error {
	server := &http.Server{
		Handler:           handler,
		TLSConfig:         secured,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), stoppingKey{}, ctx.Done())
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), // such as handshakes that fail
	}
	failed := make(chan error, 1)
	listener = netutil.LimitListener(listener, maxConnections)
	go func() {
		if secured == nil {
			failed <- server.Serve(listener)
		} else {
			failed <- server.ServeTLS(listener, "", "")
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
