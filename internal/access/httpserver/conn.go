package httpserver

import (
	"container/list"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of the wait for a client that reads its answer slowly.
const (
	writePause = time.Minute     // that a client may read nothing
	writeGrace = 2 * time.Minute // that the server waits for a client in all
	writeRate  = 1 << 10         // bytes that earn another second

	writeStep = 5 * time.Second // after which the server looks for progress
)

// errSlowReader ends a connection, and with it the context of its requests.
var errSlowReader = fmt.Errorf("the client does not read: %w", os.ErrDeadlineExceeded)

// listener accepts connections that bound the time of their writes.
type listener struct {
	net.Listener
	all *connections
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	boundUnsent(c)
	own := &conn{Conn: c}
	if displaced := l.all.add(own); displaced != nil {
		_ = displaced.Close() // its client may have left
	}
	return own, nil
}

// conn is a connection whose writes fail once the client reads nothing for too long, or the server
// has waited longer for the client in all than the written bytes earn.
type conn struct {
	net.Conn
	until atomic.Pointer[time.Time] // the deadline that the server has set; nil: none

	all     *connections
	address string        // under which it is counted
	place   *list.Element // among the unproven connections of its address; nil: not among them
	proven  bool

	writing sync.Mutex
	n       int64
	waited  time.Duration
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	var silent time.Duration
	for {
		begin := time.Now()
		// Each step tries to write at once. A single wait would not do: a kernel reports room only
		// when a good part of a large buffer is free, long after a slow client has read something.
		step, until := begin.Add(writeStep), c.until.Load()
		own := until == nil || until.After(step)
		if !own {
			step = *until
		}
		_ = c.Conn.SetWriteDeadline(step) // fails if the connection is closed, and then Write does
		k, err := c.Conn.Write(p[n:])
		took := time.Since(begin)
		n, c.n, c.waited = n+k, c.n+int64(k), c.waited+took
		if silent += took; k > 0 {
			silent = 0
		}
		switch timeout, ok := err.(net.Error); {
		case err == nil, !ok, !timeout.Timeout():
			return n, err
		case !own:
			if now := c.until.Load(); now == until {
				return n, err
			}
		case silent >= writePause, c.waited > writeGrace+time.Duration(c.n/writeRate)*time.Second:
			return n, errSlowReader
		}
	}
}

// SetWriteDeadline implements net.Conn. The bounds hold, too.
func (c *conn) SetWriteDeadline(t time.Time) error {
	if t.IsZero() {
		c.until.Store(nil)
	} else {
		c.until.Store(&t)
	}
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// limitStreams bounds the writes of answers by HTTP/2: a client can leave the window of one answer
// shut and read the connection.
func limitStreams(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor < 2 {
			next.ServeHTTP(w, r)
			return
		}
		answer := &streamWriter{w, http.NewResponseController(w)}
		next.ServeHTTP(answer, r)
		answer.deadline(writePause) // the server sends the rest after the handler
	})
}

// streamPart is written of an answer by HTTP/2 at once, in bytes. It has to be read within
// writePause.
const streamPart = 16 << 10

// streamWriter bounds each write. The server resets a stream when its deadline passes, even if
// nothing is written: it stands only during a write.
type streamWriter struct {
	http.ResponseWriter
	stream *http.ResponseController
}

// Write implements http.ResponseWriter.
func (s *streamWriter) Write(p []byte) (n int, err error) {
	defer s.deadline(0)
	for {
		s.deadline(writePause)
		part := p[n:min(len(p), n+streamPart)]
		k, err := s.ResponseWriter.Write(part)
		if n += k; err != nil || n == len(p) {
			return n, err
		}
	}
}

// FlushError is for http.ResponseController.
func (s *streamWriter) FlushError() error {
	s.deadline(writePause)
	defer s.deadline(0)
	return s.stream.Flush()
}

// Unwrap is for http.ResponseController.
func (s *streamWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// deadline bounds the next writes; 0: no more. A stream in a test may not support deadlines.
func (s *streamWriter) deadline(d time.Duration) {
	var at time.Time
	if d > 0 {
		at = time.Now().Add(d)
	}
	_ = s.stream.SetWriteDeadline(at)
}
