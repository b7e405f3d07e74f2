package calls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/toolstream/toolstream/internal/operation"
	"github.com/toolstream/toolstream/internal/source"
)

// overHTTP calls an operation of an HTTP API.
func (s *Service) overHTTP(ctx context.Context, c *call, client *http.Client) (Result, error) {
	op, err := operation.Parse(c.raw)
	if err != nil {
		return Result{}, refused(http.StatusConflict, "the operation cannot be called: %s", err)
	}
	server, err := c.server(op)
	if err != nil {
		return Result{}, err
	}
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	req, err := op.Request(traced, server, c.Arguments)
	if err != nil {
		return Result{}, &Error{Outcome: InvalidArguments, Status: http.StatusUnprocessableEntity, Detail: "the arguments do not fit the tool", Mistakes: []Mistake{{"", err.Error()}}, unsent: true}
	}
	once := *client
	once.CheckRedirect = sameHost
	resp, err := once.Do(req)
	if err != nil {
		return Result{}, lost(ctx, err, !sent.Load())
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(s.cfg.MaxResult)+1))
	if err != nil {
		return Result{}, lost(ctx, fmt.Errorf("the answer ends before its end: %w", err), false)
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

// server returns the address that an operation is called at: the first of its document, or
// that of the settings.
func (c *call) server(op *operation.Operation) (string, error) {
	if c.to.server != "" {
		return c.to.server, nil
	}
	servers := op.Servers()
	at := slices.IndexFunc(servers, func(server string) bool {
		u, err := url.Parse(server)
		return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http")
	})
	if at < 0 {
		return "", refused(http.StatusConflict, "the tool's document names no server with an address")
	}
	return servers[at], nil
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
