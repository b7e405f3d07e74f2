// Package client speaks to a toolstream server over HTTP.
package client

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

// Client calls one server. Its methods may be called concurrently.
type Client struct {
	Server string // base address, e.g. http://127.0.0.1:8665; http where it names no scheme
	Token  string // bearer token; empty where authentication is off
	HTTP   *http.Client
}

// Problem is an error answer (RFC 9457).
type Problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Errors []struct {
		Message  string `json:"message"`
		Location string `json:"location"`
	} `json:"errors"`
}

func (p *Problem) Error() string {
	text := p.Text()
	if p.Status == http.StatusUnauthorized {
		text += ": give one with --token or TOOLSTREAM_TOKEN, or log in with `toolstream login`"
	}
	return fmt.Sprintf("%s (HTTP %d)", text, p.Status)
}

// Text says what is wrong and where, without the status.
func (p *Problem) Text() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	for _, e := range p.Errors {
		at := strings.TrimPrefix(e.Location+": ", ": ")
		switch {
		case e.Message == p.Detail:
			text = at + text
		case !strings.Contains(p.Detail, e.Message):
			text += "; " + at + e.Message
		}
	}
	return text
}

// NotFound reports whether err says that the thing asked for is not there.
func NotFound(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}

// Get reads path into out.
func (c *Client) Get(ctx context.Context, path string, query url.Values, out any) error {
	return c.call(ctx, http.MethodGet, path, query, nil, out)
}

// Post sends in as JSON, if it is not nil, and reads the answer into out.
func (c *Client) Post(ctx context.Context, path string, in, out any) error {
	return c.call(ctx, http.MethodPost, path, nil, in, out)
}

// Put sends in as JSON and reads the answer into out.
func (c *Client) Put(ctx context.Context, path string, in, out any) error {
	return c.call(ctx, http.MethodPut, path, nil, in, out)
}

// Delete deletes what is at path and reads the answer into out.
func (c *Client) Delete(ctx context.Context, path string, out any) error {
	return c.call(ctx, http.MethodDelete, path, nil, nil, out)
}

func (c *Client) call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		body = bytes.NewReader(raw)
	}
	answer, err := c.Send(ctx, method, path, query, "application/json", body)
	if err != nil {
		return err
	}
	defer answer.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(answer).Decode(out); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	return nil
}

// Send makes one request and returns the body of a successful answer, which
// the caller closes. An error answer comes back as a *Problem.
func (c *Client) Send(ctx context.Context, method, path string, query url.Values, contentType string, body io.Reader) (io.ReadCloser, error) {
	answer, _, err := c.send(ctx, method, path, query, contentType, body)
	return answer, err
}

// Receive is Send for a read whose header fields count.
func (c *Client) Receive(ctx context.Context, path string) (io.ReadCloser, http.Header, error) {
	return c.send(ctx, http.MethodGet, path, nil, "", nil)
}

func (c *Client) send(ctx context.Context, method, path string, query url.Values, contentType string, body io.Reader) (io.ReadCloser, http.Header, error) {
	target := strings.TrimSuffix(c.Server, "/") + path
	if !strings.Contains(c.Server, "://") {
		target = "http://" + target
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, nil, fmt.Errorf("%s %s: %w", method, target, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, nil, c.unreachable(err)
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, nil, problem(resp)
	}
	return resp.Body, resp.Header, nil
}

func (c *Client) unreachable(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("no toolstream answers at %s: start one with `toolstream up`, or name another with --server", c.Server)
	}
	if errors.As(err, new(x509.UnknownAuthorityError)) {
		return fmt.Errorf("ask %s: the authority of its certificate is not known here: name the file of that authority with --ca-file", c.Server)
	}
	return fmt.Errorf("ask %s: %w", c.Server, err)
}

// problemLimit bounds how much of an error answer is read.
const problemLimit = 64 << 10

func problem(resp *http.Response) error {
	p := &Problem{Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode)}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, problemLimit))
	if err == nil && json.Unmarshal(raw, p) != nil {
		p.Detail = strings.TrimSpace(string(raw))
	}
	p.Status = resp.StatusCode
	return p
}

// Path joins an endpoint and an id, which may hold any character. An id of dots
// alone is escaped, because a path that holds it plainly means another one.
func Path(endpoint, id string) string {
	escaped := url.PathEscape(id)
	if strings.Trim(escaped, ".") == "" {
		escaped = strings.ReplaceAll(escaped, ".", "%2E")
	}
	return endpoint + "/" + escaped
}
