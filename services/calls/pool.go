package calls

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/inflight"
)

// connection reaches one source for a caller: an HTTP API by a client, an MCP server by a
// session.
type connection struct {
	place source.Place
	conn  source.Conn // nil for an HTTP API
}

// connKey names a connection. A connection that all callers share has no token.
type connKey struct {
	tenant, source string
	spec           string // fingerprint: a changed source gets another connection
	found          bool   // its address comes from another source
	token          string // digest of the caller's token, if it is exchanged
}

// Bounds of the pool.
const (
	openWithin     = 20 * time.Second
	idleFor        = 5 * time.Minute  // then an unused connection is closed
	oldAfter       = 10 * time.Minute // then a new one is opened: the credential is read again
	maxConnections = 1024
)

// pool keeps connections open and shares them.
type pool struct {
	open func(ctx context.Context, key connKey, spec source.Spec, token string) (connection, error)
	now  func() time.Time

	closing sync.WaitGroup

	mu      sync.Mutex
	entries map[connKey]*entry
}

// entry is a connection of the pool, which may still be opening.
type entry struct {
	ready chan struct{} // closed once to and err are set
	to    connection
	err   error

	opened, used time.Time
	users        int
	dropped      bool // closed by the last user
}

// acquire returns a connection, which is open until release is called. It waits while the
// connection is being opened, for whichever call, as long as ctx lasts.
func (p *pool) acquire(ctx context.Context, key connKey, spec source.Spec, token string) (*entry, func(), error) {
	now := p.now()
	p.mu.Lock()
	e := p.entries[key]
	if e != nil && e.expired(now) {
		p.drop(key, e)
		e = nil
	}
	if e == nil {
		if len(p.entries) >= maxConnections && !p.evict() {
			p.mu.Unlock()
			return nil, nil, busy(http.StatusServiceUnavailable, time.Second, "this server has %d connections to sources, which are all in use: call again later", maxConnections)
		}
		e = &entry{ready: make(chan struct{}), opened: now}
		p.entries[key] = e
		go func() {
			ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), openWithin, errOpening)
			defer cancel()
			memory := inflight.From(ctx).Another() // the connection outlives the call
			defer memory.Close()
			e.to, e.err = p.open(inflight.With(ctx, memory), key, spec, token)
			close(e.ready)
			if e.err != nil {
				p.forget(key, e)
			}
		}()
	}
	e.users, e.used = e.users+1, now
	p.mu.Unlock()
	release := sync.OnceFunc(func() { p.release(e) })
	select {
	case <-e.ready:
	case <-ctx.Done():
		release()
		return nil, nil, context.Cause(ctx)
	}
	if e.err != nil {
		release()
		return nil, nil, e.err
	}
	return e, release, nil
}

// expired reports whether a connection must not be used for further calls. Calls that use it go
// on.
func (e *entry) expired(now time.Time) bool {
	select {
	case <-e.ready:
		return e.err != nil || now.Sub(e.opened) > oldAfter || e.to.lost()
	default:
		return false
	}
}

// lost reports whether a session has ended by itself.
func (c connection) lost() bool { return c.conn != nil && c.conn.Lost() }

var errOpening = errors.New("the source did not answer in time when it was connected to")

// forget removes a connection from the pool if the key still has it. Calls in progress
// continue.
func (p *pool) forget(key connKey, e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entries[key] == e {
		p.drop(key, e)
	}
}

// drop removes a connection from the pool, and closes it once no call uses it. It is called
// with mu held.
func (p *pool) drop(key connKey, e *entry) {
	delete(p.entries, key)
	e.dropped = true
	if e.users == 0 {
		p.closing.Go(e.close)
	}
}

func (p *pool) release(e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.users--
	e.used = p.now()
	if e.dropped && e.users == 0 {
		p.closing.Go(e.close)
	}
}

// close closes a connection once it is open.
func (e *entry) close() {
	<-e.ready
	if e.err == nil && e.to.conn != nil {
		e.to.conn.Close()
	}
}

// evict drops the least recently used connection that is not in use, if there is any. It is
// called with mu held.
func (p *pool) evict() bool {
	var key connKey
	var oldest *entry
	for k, e := range p.entries {
		if e.users == 0 && (oldest == nil || e.used.Before(oldest.used)) {
			key, oldest = k, e
		}
	}
	if oldest != nil {
		p.drop(key, oldest)
	}
	return oldest != nil
}

// sweep drops the connections that gone reports.
func (p *pool) sweep(gone func(connKey, *entry) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, e := range p.entries {
		if gone(key, e) {
			p.drop(key, e)
		}
	}
}

// fingerprint identifies a source by the fields that say how it is reached.
func fingerprint(spec source.Spec) string {
	raw, _ := json.Marshal(source.Spec{ // texts and truth values always encode
		Kind: spec.Kind, URL: spec.URL, Command: spec.Command, Auth: spec.Auth, AllowPrivate: spec.AllowPrivate,
	})
	return string(raw)
}
