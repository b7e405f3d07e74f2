// Package client speaks to a toolstream server over HTTP: it finds tools, gives them to
// language models, calls them, and reports what became of a search.
//
// Every error answer is a *Problem. Answers of newer servers may have more members and
// values; they are read all the same.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Client calls one server. Its methods may be called concurrently.
type Client struct {
	Server string       // base address, e.g. http://127.0.0.1:8665; the scheme is http by default
	Token  string       // bearer token; empty if authentication is off
	HTTP   *http.Client // sends the requests; nil: http.DefaultClient
}

// Search returns the best tools for a query. Only Query, Needs or Steps has to be set.
func (c *Client) Search(ctx context.Context, request schema.SearchRequest) (schema.SearchResponse, error) {
	var out schema.SearchResponse
	err := c.Post(ctx, "/v1/search", request, &out)
	return out, err
}

// forModel is how many tools ToolsFor returns at most: a model reads all of them.
const forModel = 5

// ToolsFor returns the best tools for a query, at most five, as definitions in a form, for the
// tools of a request to a language model. They have the callable names that Call accepts.
// Search with As in its request returns the same for any number of tools.
func (c *Client) ToolsFor(ctx context.Context, query string, form schema.Form) ([]json.RawMessage, error) {
	found, err := c.Search(ctx, schema.SearchRequest{Query: query, K: forModel, Wanted: schema.Wanted{As: form}})
	if err != nil || len(found.Tools) == 0 {
		return nil, err
	}
	if form == schema.FormToolSearchOutput {
		return []json.RawMessage{found.Tools}, nil
	}
	var out []json.RawMessage
	if err := json.Unmarshal(found.Tools, &out); err != nil {
		return nil, fmt.Errorf("tools in the form %s: %w", form, err)
	}
	return out, nil
}

// Describe returns tools by their ids or callable names.
func (c *Client) Describe(ctx context.Context, request schema.DescribeRequest) (schema.DescribeResponse, error) {
	var out schema.DescribeResponse
	err := c.Post(ctx, "/v1/tools:describe", request, &out)
	return out, err
}

// Call calls a tool by its id or callable name. If the tool reports a failure, the result says
// so, and the error is nil. If the tool has not answered, the error is a *Problem whose Outcome
// says why; its Errors have the places of wrong arguments.
func (c *Client) Call(ctx context.Context, tool string, request schema.CallRequest) (schema.CallResult, error) {
	var out schema.CallResult
	err := c.Post(ctx, Path("/v1/tools", tool)+":call", request, &out)
	return out, err
}

// ReportFeedback reports the use of a result of a search. SearchID, ToolID and Event are
// required, ID and Client are optional; the server sets all other fields.
func (c *Client) ReportFeedback(ctx context.Context, f schema.Feedback) error {
	return c.Post(ctx, "/v1/feedback", struct {
		ID       string               `json:"id,omitempty"`
		SearchID string               `json:"search_id"`
		ToolID   string               `json:"tool_id"`
		Event    schema.FeedbackEvent `json:"event"`
		Client   string               `json:"client,omitempty"`
	}{f.ID, f.SearchID, f.ToolID, f.Event, f.Client}, nil)
}

// Problem is an error answer (RFC 9457).
type Problem struct {
	Status  int                `json:"status"` // of HTTP
	Title   string             `json:"title"`  // the status in words
	Detail  string             `json:"detail"` // the mistake, and how to correct it
	Errors  []Mistake          `json:"errors"`
	Outcome schema.CallOutcome `json:"outcome"` // of a call: why the tool has not answered
}

// Mistake is one thing that is wrong with a request.
type Mistake struct {
	Message  string `json:"message"`
	Location string `json:"location"` // JSON pointer (RFC 6901), e.g. /body/arguments/city
}

// Error returns the text and the status.
func (p *Problem) Error() string { return fmt.Sprintf("%s (HTTP %d)", p.Text(), p.Status) }

// Text returns the message and the places of mistakes, without the status.
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

// Delete sends a DELETE to path and reads the answer into out.
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
	answer, _, err := c.Send(ctx, method, path, query, "application/json", body)
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
// the caller closes, and its header fields. An error answer comes back as a *Problem.
func (c *Client) Send(ctx context.Context, method, path string, query url.Values, contentType string, body io.Reader) (io.ReadCloser, http.Header, error) {
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
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, nil, c.unreachable(ctx, err)
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, nil, problem(resp)
	}
	return resp.Body, resp.Header, nil
}

// ErrNoServer means that the server did not answer. The error also wraps the reason.
var ErrNoServer = errors.New("no toolstream answers")

// unreachable returns the error of a request without an answer, without the method and the
// address that net/http puts before it.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("ask %s: %w", c.Server, err)
	}
	return fmt.Errorf("%w at %s: %w", ErrNoServer, c.Server, err)
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
