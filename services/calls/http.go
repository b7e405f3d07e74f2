package calls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/tooldoc/operation"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
)

// overHTTP calls an operation of an HTTP API.
func (s *Service) overHTTP(ctx context.Context, c *call, client *http.Client) (schema.CallResult, error) {
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	req, err := c.operation.Request(traced, c.server, c.Arguments)
	var wrong *operation.ArgumentError
	switch {
	case errors.As(err, &wrong):
		return schema.CallResult{}, invalid(&toolschema.Problems{List: []toolschema.Problem{{Path: wrong.Path, Reason: wrong.Reason}}})
	case err != nil:
		return schema.CallResult{}, refused(http.StatusConflict, "the operation cannot be called: %s", problem(err))
	}
	once := *client
	once.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		if first := via[0].Method; first != http.MethodGet && first != http.MethodHead {
			return http.ErrUseLastResponse
		}
		return client.CheckRedirect(next, via)
	}
	resp, err := once.Do(req)
	if err != nil {
		return schema.CallResult{}, lost(ctx, err, !sent.Load())
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(s.cfg.MaxResult)+1))
	if err != nil {
		return schema.CallResult{}, lost(ctx, fmt.Errorf("the answer ends before its end: %w", err), false)
	}
	return resultOfHTTP(resp, body, s.cfg.MaxResult), nil
}

// lost returns the error of a request without an answer.
func lost(ctx context.Context, err error, unsent bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &source.CallError{Unsent: unsent, Err: err}
}

// chooseServer sets the base address of an HTTP API: the first server of the document, or that
// of the settings. If its host or port is not the source's, the source's user has not asked for it:
// only public addresses are reached there.
func (c *call) chooseServer() error {
	if c.target.spec.Kind != source.OpenAPI {
		return nil
	}
	if c.unreadable != nil {
		return refused(http.StatusConflict, "the operation cannot be called: %s", c.unreadable)
	}
	if c.server = c.target.server; c.server != "" {
		return nil
	}
	servers := c.operation.Servers()
	if len(servers) == 0 {
		return refused(http.StatusConflict, "the tool's document names no server with an address")
	}
	c.server = servers[0]
	if !sameHost(c.server, c.target.spec.URL) {
		c.target.found, c.target.spec.AllowPrivate = true, false
	}
	return nil
}

// sameHost reports whether two addresses have the same host and port.
func sameHost(a, b string) bool {
	first, err := url.Parse(a)
	second, alsoErr := url.Parse(b)
	return err == nil && alsoErr == nil && outbound.HostPort(first) == outbound.HostPort(second)
}
