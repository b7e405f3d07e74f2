package calls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"

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
// of the settings. If its host is not the source's, the document's word counts no more than that
// of a source that another source has found: it reaches only addresses that the source's user
// asked for.
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
	c.target.found = c.target.found || hostOf(c.server) != hostOf(c.target.spec.URL)
	return nil
}

// hostOf returns the host of an address, without its port.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}
