// Package gateway reads the APIs of gateways from their management interfaces.
//
// A gateway names other sources, as source.Found: MCP servers, and OpenAPI documents that
// have an address. A document that only the gateway itself hands out is part of the listing.
package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/toolstream/toolstream/internal/connect/source"
)

// reader reads one list of a gateway, within the limits of the source.
type reader struct {
	at    source.Place
	read  atomic.Int64 // bytes
	pages int
	seen  map[string]bool // addresses of pages
}

func newReader(at source.Place) *reader { return &reader{at: at, seen: map[string]bool{}} }

var (
	errPages  = errors.New("the list has too many pages")
	errCircle = errors.New("the pages of the list lead in a circle")
)

// page reads a page of a list into a value, and returns the header fields that came with
// it. Numbers of an any are json.Number.
func (r *reader) page(ctx context.Context, address *url.URL, into any) (http.Header, error) {
	switch r.pages++; {
	case r.pages > r.at.Limits.Pages:
		return nil, errPages
	case r.seen[address.String()]:
		return nil, errCircle
	}
	r.seen[address.String()] = true
	req, err := asking(ctx, address, "application/json")
	if err != nil {
		return nil, err
	}
	text, header, err := r.do(req)
	if err != nil {
		return nil, err
	}
	switch err := r.at.Limits.Decode(text, into); {
	case errors.Is(err, source.ErrSize):
		return nil, fmt.Errorf("%s: %w", address.Redacted(), err)
	case err != nil:
		return nil, fmt.Errorf("%s does not answer with a list in JSON: %w", address.Redacted(), err)
	}
	return header, nil
}

func asking(ctx context.Context, address *url.URL, accept string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	return req, nil
}

// get reads the answer of an address. A failed answer is an error. It may be called
// concurrently.
func (r *reader) get(ctx context.Context, address *url.URL, accept string) ([]byte, error) {
	req, err := asking(ctx, address, accept)
	if err != nil {
		return nil, err
	}
	text, _, err := r.do(req)
	return text, err
}

// post sends a question and reads the answer into a value.
func (r *reader) post(ctx context.Context, address *url.URL, question, into any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	text, _, err := r.do(req)
	if err != nil {
		return err
	}
	return r.at.Limits.Decode(text, into)
}

func (r *reader) do(req *http.Request) ([]byte, http.Header, error) {
	text, header, err := source.Fetch(r.at.Client, req, r.at.Limits.Bytes)
	if err == nil && r.read.Add(int64(len(text))) > r.at.Limits.Bytes {
		err = source.ErrSize
	}
	return text, header, err
}

// next returns the address of the page that a page calls the next one.
func next(page *url.URL, address string) (*url.URL, error) {
	to, err := page.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the address of the next page: %w", err)
	}
	if to.Host != page.Host || to.Scheme != page.Scheme {
		return nil, fmt.Errorf("the next page is on another host: %s", to.Host)
	}
	return to, nil
}

// with returns an address with a query parameter.
func with(address *url.URL, name, value string) *url.URL {
	to := *address
	query := to.Query()
	query.Set(name, value)
	to.RawQuery = query.Encode()
	return &to
}

// polled is a session without events. Its list function holds all of its state.
type polled func(ctx context.Context, whole bool) (source.Listing, error)

// List implements source.Session.
func (p polled) List(ctx context.Context, whole bool) (source.Listing, error) { return p(ctx, whole) }

// Live implements source.Session. Events come another way.
func (polled) Live() bool { return false }

// Close implements source.Session.
func (polled) Close() {}

// about returns the description of an API by a gateway, as a provider's document. Its version
// makes a changed API visible.
func about(name, version string) json.RawMessage {
	raw, _ := json.Marshal(map[string]string{"name": name, "version": version}) // texts always encode
	return raw
}
