package httpserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/kit/inflight"
)

// watchBody distinguishes an unreadable body from a failing server.
func watchBody(ctx huma.Context, next func(huma.Context)) { next(&bodyContext{humaContext: ctx}) }

type humaContext = huma.Context // under a name that does not hide its method Context

// bodyContext remembers why a body could not be read: huma answers 500 for it.
type bodyContext struct {
	humaContext
	err error
}

// BodyReader implements huma.Context. The reader reserves memory.
func (c *bodyContext) BodyReader() io.Reader {
	return bodyReader{c, inflight.Decoded(c.Context(), c.humaContext.BodyReader())}
}

// Body returns the body of a request whose handler reserves the memory itself.
func Body(hc huma.Context) io.Reader {
	if c, watched := hc.(*bodyContext); watched {
		return c.humaContext.BodyReader()
	}
	return hc.BodyReader()
}

// SetStatus implements huma.Context.
func (c *bodyContext) SetStatus(code int) {
	if code == http.StatusInternalServerError && c.err != nil {
		code = c.status()
	}
	if full := (*inflight.FullError)(nil); errors.As(c.err, &full) && full.After > 0 {
		c.SetHeader("Retry-After", strconv.Itoa(int(full.After.Seconds())))
	}
	c.humaContext.SetStatus(code)
}

// status returns the status of an answer to an unreadable body.
func (c *bodyContext) status() int {
	full := (*inflight.FullError)(nil)
	switch {
	case !errors.As(c.err, &full):
		return http.StatusBadRequest
	case full.After > 0:
		return http.StatusServiceUnavailable
	}
	return http.StatusRequestEntityTooLarge
}

// Unwrap gives humago access to its own context.
func (c *bodyContext) Unwrap() huma.Context { return c.humaContext }

type bodyReader struct {
	ctx *bodyContext
	io.Reader
}

func (r bodyReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		r.ctx.err = err
	}
	return n, err
}

// Bounds of a request body.
const (
	bodyPause = 30 * time.Second // that a client may be silent
	bodyGrace = 2 * time.Minute  // that the server waits for a body in all
	bodyRate  = 1 << 10          // bytes that earn another second

	drainLimit = 64 << 20         // bytes of an unwanted body that are read
	drainTime  = 10 * time.Second // and for how long
)

// limitBody ends a body that comes too slowly, and reads the rest of a body that next
// has left before the answer goes out: a client that sends everything before it looks at
// the answer would otherwise see a reset connection in place of the reason.
func limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &slowBody{Reader: r.Body, conn: http.NewResponseController(w)}
		r.Body = io.NopCloser(body) // the server closes it
		next.ServeHTTP(w, r)
		if !body.ended.Load() {
			body.deadline(drainTime)
			_, _ = io.CopyN(io.Discard, body.Reader, drainLimit) // the answer stands, however this ends
		}
	})
}

// slowBody fails once the client is silent for too long, or the server has waited longer
// for the body in all than its size earns.
type slowBody struct {
	io.Reader
	conn   *http.ResponseController
	n      int64
	waited time.Duration
	ended  atomic.Bool // read while a proxy's transport may still read the body
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.waited > bodyGrace+time.Duration(b.n/bodyRate)*time.Second {
		return 0, errSlowBody
	}
	begin := time.Now()
	b.deadline(bodyPause)
	n, err := b.Reader.Read(p)
	_ = b.conn.SetReadDeadline(time.Time{}) // if it passed while the request is worked on it would end that
	b.n, b.waited = b.n+int64(n), b.waited+time.Since(begin)
	if err != nil {
		b.ended.Store(true)
	}
	return n, err
}

// deadline bounds the next reads. A connection in a test may not support deadlines.
func (b *slowBody) deadline(d time.Duration) { _ = b.conn.SetReadDeadline(time.Now().Add(d)) }

// errSlowBody is answered as a timeout.
var errSlowBody = fmt.Errorf("the body comes too slowly: %w", os.ErrDeadlineExceeded)
