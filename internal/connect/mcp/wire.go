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

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// wire observes the HTTP traffic of a session: the lists as the server writes them, whether a
// stream for notifications is open, and the cause of a failed request, which the SDK reduces to a
// text. It ends messages that are beyond their bounds. Without next it sees messages alone.
type wire struct {
	next   http.RoundTripper
	limit  int64          // bytes of a list in a stream of events
	bounds jsondoc.Limits // of one message, which is counted before the SDK decodes it

	authorizes bool // a token is fetched if the server asks for it
	changed    func()

	mu      sync.Mutex // guards the fields below
	closed  bool
	streams int           // that are open
	posted  int           // status of the last answer to a POST
	refused int           // status of the last answer, 0 if it succeeded
	after   time.Duration // that it asked to wait
	err     error         // of the last request, if it had no answer
	strange string        // type of the last answer to a POST, if MCP does not define it
	large   error         // of the last message beyond bounds
	list    *copied       // of the last list; nil: no list came
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	method := methodOf(req)
	resp, err := w.next.RoundTrip(req)
	seen, watched := req.Context().Value(sightKey{}).(*sight)
	if watched && err == nil {
		seen.status.Store(int32(resp.StatusCode))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused, w.after, w.err = 0, 0, err
	if err != nil {
		return nil, err
	}
	if req.Method == http.MethodPost {
		w.posted, w.strange = resp.StatusCode, ""
		switch media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media { // "" without the header
		case "", "application/json", "text/event-stream":
		default:
			if resp.StatusCode < 300 {
				w.strange = media
			}
		}
	}
	events := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	open := events && (req.Method == http.MethodGet || method == "subscriptions/listen")
	framing := jsondoc.Whole
	if events {
		framing = jsondoc.Events
	}
	counted := jsondoc.Counted(inflight.Values(req.Context(), resp.Body), framing, w.bounds, w.refuse(seen))
	resp.Body = counted
	switch {
	case open:
		resp.Body = pace(req.Context().Done(), counted)
	case events:
		resp.Body = &brief{Reader: counted, most: int64(w.bounds.Bytes) + eventNames, refused: w.refuse(seen)}
	}
	if resp.StatusCode >= 300 {
		w.refused, w.after = resp.StatusCode, source.RetryAfter(resp)
		return resp, nil
	}
	switch {
	case open:
		w.streams++
		resp.Body = &stream{ReadCloser: resp.Body, end: sync.OnceFunc(func() {
			w.mu.Lock()
			w.streams--
			closed := w.closed
			w.mu.Unlock()
			if !closed {
				w.changed() // changes until the next stream are not heard
			}
		})}
	case method == "tools/list":
		w.list = &copied{ReadCloser: resp.Body, events: events, limit: w.limit}
		resp.Body = w.list
	}
	return resp, nil
}

// methodOf returns the method of a JSON-RPC request, or "".
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

// eventNames bounds the bytes of the events of an answer in addition to their messages.
const eventNames = 1 << 20

// refuse returns a function that notes an answer beyond its bounds, and tells the call that it
// answers, unless seen is nil.
func (w *wire) refuse(seen *sight) func(error) {
	return func(err error) {
		if seen != nil {
			seen.large.Store(true)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.large = source.TooMuch(err)
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

// reset forgets the observations of earlier requests.
func (w *wire) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused, w.after, w.err, w.list, w.large = 0, 0, nil, nil, nil
}

// explain replaces an error of the SDK by its observed cause, if there is any.
func (w *wire) explain(doing string, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var said *jsonrpc.Error
	switch {
	case w.large != nil:
		err = w.large
	case w.err != nil && !errors.Is(w.err, context.Canceled):
		err = w.err
	case w.refused != 0 && !errors.As(err, &said) && !w.authorizes:
		err = fmt.Errorf("the server answers %d %s", w.refused, http.StatusText(w.refused))
	case w.refused == 0 && w.strange != "":
		err = fmt.Errorf("it is not an MCP server: it answers %s, which may be a login page", w.strange)
	}
	return source.Refusal(w.refused, w.after, fmt.Errorf("%s: %w", doing, err))
}

// messages returns the messages of the last list.
func (w *wire) messages() [][]byte {
	w.mu.Lock()
	list := w.list
	w.mu.Unlock()
	if list == nil {
		return nil
	}
	return list.messages()
}

// stream is a body that reports its end.
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

// copied is a body that keeps a copy.
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
