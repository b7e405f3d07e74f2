package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolstream/toolstream/internal/outbound"
	"github.com/toolstream/toolstream/internal/source"
)

// wire sees what goes over HTTP: the lists as the server writes them, whether a stream is
// open on which it speaks up, and why a request failed, of which the SDK keeps the text
// alone. Without next it sees nothing.
type wire struct {
	next  http.RoundTripper
	limit int64 // bytes of a list in a stream of events

	authorizes bool // a token is fetched where the server asks for one
	changed    func()

	mu      sync.Mutex // guards what follows
	closed  bool
	streams int           // that are open
	posted  int           // status of the last answer to a POST
	refused int           // status of the last answer, 0: it was one of success
	after   time.Duration // that it asked to wait
	err     error         // of the last request, if it had no answer
	strange string        // type of the last answer to a POST, if no server of MCP gives it
	list    *copied       // of the last list; nil: none came
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	method := methodOf(req)
	resp, err := w.next.RoundTrip(req)
	if seen, ok := req.Context().Value(sightKey{}).(*sight); ok && err == nil {
		seen.status.Store(int32(resp.StatusCode))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused, w.after, w.err = 0, 0, err
	if err != nil {
		return nil, err
	}
	if req.Method == http.MethodPost {
		w.posted, w.strange = resp.StatusCode, strangeType(resp)
	}
	if resp.StatusCode >= 300 {
		w.refused, w.after = resp.StatusCode, source.RetryAfter(resp)
		return resp, nil
	}
	events := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	switch {
	case events && (req.Method == http.MethodGet || method == "subscriptions/listen"):
		w.streams++
		resp.Body = &stream{ReadCloser: resp.Body, end: sync.OnceFunc(w.ended)}
	case method == "tools/list":
		w.list = &copied{ReadCloser: resp.Body, events: events, limit: w.limit}
		resp.Body = w.list
	}
	return resp, nil
}

// strangeType returns the media type of a successful answer that no server of MCP gives.
func strangeType(resp *http.Response) string {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // empty where there is none
	if resp.StatusCode >= 300 || media == "" || media == "application/json" || media == "text/event-stream" {
		return ""
	}
	return media
}

// methodOf returns the method of a JSON-RPC request, "" where there is none.
func methodOf(req *http.Request) string {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return ""
	}
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	var m struct {
		Method string `json:"method"`
	}
	_ = json.NewDecoder(body).Decode(&m) // the SDK has written it
	return m.Method
}

// ended notes that a stream has ended: what the server says until there is another one is
// not heard.
func (w *wire) ended() {
	w.mu.Lock()
	w.streams--
	closed := w.closed
	w.mu.Unlock()
	if !closed {
		w.changed()
	}
}

// listens reports whether a stream is open.
func (w *wire) listens() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.streams > 0
}

// older reports whether the server took no POST, as the transport before streamable HTTP
// does.
func (w *wire) older() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.posted == http.StatusBadRequest || w.posted == http.StatusNotFound || w.posted == http.StatusMethodNotAllowed
}

func (w *wire) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}

// reset forgets what was seen before a request.
func (w *wire) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused, w.after, w.err, w.list = 0, 0, nil, nil
}

// explain returns what was seen in place of an error of the SDK, which may only follow
// from it.
func (w *wire) explain(doing string, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var said *jsonrpc.Error
	switch {
	case w.err != nil && !errors.Is(w.err, context.Canceled):
		err = w.err
	case w.refused != 0 && !errors.As(err, &said) && !w.authorizes:
		err = fmt.Errorf("the server answers %d %s", w.refused, http.StatusText(w.refused))
	case w.refused == 0 && w.strange != "":
		err = fmt.Errorf("it is no MCP server: it answers %s, which may be a login page", w.strange)
	}
	return source.Refusal(w.refused, w.after, fmt.Errorf("%s: %w", doing, err))
}

// messages returns those of the last list.
func (w *wire) messages() [][]byte {
	w.mu.Lock()
	list := w.list
	w.mu.Unlock()
	if list == nil {
		return nil
	}
	return list.messages()
}

// stream is a body that tells when it has ended.
type stream struct {
	io.ReadCloser
	end func()
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err != nil {
		s.end()
	}
	return n, err
}

// Close implements io.Closer.
func (s *stream) Close() error {
	defer s.end()
	return s.ReadCloser.Close()
}

// copied is a body of which a copy is kept.
type copied struct {
	io.ReadCloser
	events bool // it is a stream of events
	limit  int64

	mu   sync.Mutex // guards kept
	kept bytes.Buffer
}

func (c *copied) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Write(p[:n])
	if int64(c.kept.Len()) > c.limit {
		return 0, fmt.Errorf("%w: at most %d bytes", outbound.ErrTooLarge, c.limit)
	}
	return n, err
}

// messages returns the JSON-RPC messages that came.
func (c *copied) messages() [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.events {
		return [][]byte{bytes.Clone(c.kept.Bytes())}
	}
	var out [][]byte
	var data []byte
	for line := range bytes.Lines(c.kept.Bytes()) {
		line = bytes.TrimRight(line, "\r\n")
		if more, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(more, []byte(" "))...), '\n')
		}
		if len(line) == 0 && len(data) > 0 {
			out, data = append(out, data), nil
		}
	}
	return out
}

// lines keeps the lists among the messages that the SDK logs of a transport.
type lines struct {
	mu   sync.Mutex // guards kept
	kept [][]byte
}

// Write implements io.Writer: the SDK logs each message with one call.
func (l *lines) Write(p []byte) (int, error) {
	if message, read := bytes.CutPrefix(p, []byte("read: ")); read && bytes.Contains(message, []byte(`"tools"`)) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.kept = append(l.kept, bytes.Clone(message))
	}
	return len(p), nil
}

func (l *lines) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = nil
}

func (l *lines) messages() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept
}
