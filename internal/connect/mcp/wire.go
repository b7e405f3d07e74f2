package mcp

import (
	"bufio"
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
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// wire observes the HTTP traffic of a session: results as the server writes them, whether a
// stream for notifications is open, and the cause of a failed request, which the SDK reduces to a
// text. It ends messages that are beyond their bounds. Without next it sees messages alone.
type wire struct {
	next   http.RoundTripper
	bounds jsondoc.Limits // of one message, which is counted before anything decodes it

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
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	method, id := requestOf(req)
	seen, watched := req.Context().Value(sightKey{}).(*sight)
	if watched && id.IsValid() {
		seen.id = id
	}
	resp, err := w.next.RoundTrip(req)
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
	counted := jsondoc.Counted(resp.Body, framing, w.bounds, w.refuse(seen))
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
	if open {
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
	}
	if watched {
		body := &taken{ReadCloser: resp.Body, seen: seen}
		if events {
			body.lines = bufio.NewReader(resp.Body)
		}
		resp.Body = body
	}
	resp.Body = inflight.Values(req.Context(), resp.Body) // that the SDK decodes
	return resp, nil
}

// requestOf returns the method and the id of a JSON-RPC request, "" of anything else.
func requestOf(req *http.Request) (method string, id jsonrpc.ID) {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return "", id
	}
	body, err := req.GetBody()
	if err != nil {
		return "", id
	}
	defer body.Close()
	var m struct {
		Method string `json:"method"`
		ID     any    `json:"id"`
	}
	_ = json.NewDecoder(body).Decode(&m) // the SDK has written it
	id, _ = jsonrpc.MakeID(m.ID)
	return m.Method, id
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
	w.refused, w.after, w.err, w.large = 0, 0, nil, nil
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

// relay is a connection whose results are taken: of a transport that decodes messages itself.
type relay struct {
	sdk.Connection
	asked sync.Map // *sight by the id of the request
}

// withRelay is a transport whose connection is a relay.
type withRelay struct{ sdk.Transport }

// Connect implements sdk.Transport.
func (t withRelay) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &relay{Connection: c}, err
}

// Write implements sdk.Connection.
func (r *relay) Write(ctx context.Context, message jsonrpc.Message) error {
	seen, watched := ctx.Value(sightKey{}).(*sight)
	if request, ok := message.(*jsonrpc.Request); ok && watched && request.IsCall() {
		r.asked.Store(request.ID, seen)
		context.AfterFunc(ctx, func() { r.asked.Delete(request.ID) })
	}
	return r.Connection.Write(ctx, message)
}

// Read implements sdk.Connection.
func (r *relay) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := r.Connection.Read(ctx)
	if answer, ok := message.(*jsonrpc.Response); ok && answer.Result != nil {
		if seen, watched := r.asked.LoadAndDelete(answer.ID); watched {
			answer.Result = seen.(*sight).take(answer.Result)
		}
	}
	return message, err
}

// taken is the body of an answer whose result is taken.
type taken struct {
	io.ReadCloser
	seen  *sight
	lines *bufio.Reader // of a stream of events; nil: the body is one message

	rest []byte // to be read
	err  error  // after it
}

// Read implements io.Reader.
func (t *taken) Read(p []byte) (int, error) {
	for len(t.rest) == 0 && t.err == nil {
		t.rest, t.err = t.next()
	}
	if len(t.rest) == 0 {
		return 0, t.err
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// next returns what the SDK reads of the body or the next event, and the error after it.
func (t *taken) next() ([]byte, error) {
	if t.lines == nil {
		whole, err := io.ReadAll(t.ReadCloser)
		if err != nil {
			return nil, err
		}
		return t.seen.takeFrom(whole), io.EOF
	}
	var head, data []byte // the data of an event may have several lines
	for {
		line, err := t.lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		line, end := bytes.TrimRight(line, "\r\n"), err != nil
		if more, ok := bytes.CutPrefix(line, []byte("data:")); ok && data == nil {
			data = more
		} else if ok {
			data = append(append(data, '\n'), more...)
		} else if len(line) > 0 {
			head = append(append(head, line...), '\n')
		} else {
			end = true
		}
		if !end {
			continue
		}
		if data != nil {
			head = append(append(head, "data:"...), bytes.ReplaceAll(t.seen.takeFrom(data), []byte("\n"), []byte("\ndata:"))...)
		}
		return append(head, "\n\n"...), err
	}
}
