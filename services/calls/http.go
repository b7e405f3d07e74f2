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

	"github.com/toolstream/toolstream/internal/operation"
	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/internal/toolschema"
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
	once.CheckRedirect = sameHost
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

// address sets the address that an operation of an HTTP API is called at: the first of its
// document, or that of the settings. One on another host than the source has is somebody
// else's word, as a source is that another one has found: it reaches no address that the
// source's user has not asked for.
func (c *call) address() error {
	if c.to.spec.Kind != source.OpenAPI {
		return nil
	}
	if c.unreadable != nil {
		return refused(http.StatusConflict, "the operation cannot be called: %s", c.unreadable)
	}
	if c.server = c.to.server; c.server != "" {
		return nil
	}
	servers := c.operation.Servers()
	if len(servers) == 0 {
		return refused(http.StatusConflict, "the tool's document names no server with an address")
	}
	c.server = servers[0]
	c.to.found = c.to.found || hostOf(c.server) != hostOf(c.to.spec.URL)
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

// maxRedirects bounds the redirects of a call.
const maxRedirects = 5

var errRedirect = errors.New("it redirects to another host")

// sameHost follows redirects of what changes nothing, within a host.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case first.Method != http.MethodGet && first.Method != http.MethodHead:
		return http.ErrUseLastResponse
	case req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme:
		return errRedirect
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return nil
}
