package calls

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/source"
)

// connection reaches one source for a caller: by an HTTP client, and an MCP server by a
// session.
type connection struct {
	place source.Place
	conn  source.Conn // nil for an HTTP API
}

// connKey names a connection. One that all callers share has no token.
type connKey struct {
	tenant, source string
	spec           string // as it is declared: a changed one is another
	found          bool   // its address is another's word
	token          string // digest of the caller's token, where it is exchanged
}

// Bounds of the pool.
const (
	openWithin     = 20 * time.Second
	idleFor        = 5 * time.Minute  // then a connection that nobody uses is closed
	oldAfter       = 10 * time.Minute // then a new one is opened: the credential is read again
	maxConnections = 1024
)

// pool keeps connections open. One is opened once for all who want it, and shared.
type pool struct {
	open func(ctx context.Context, key connKey, spec source.Spec, found bool, token string) (connection, error)
	now  func() time.Time

	closing sync.WaitGroup

	mu      sync.Mutex
	entries map[connKey]*entry
}

// entry is a connection of the pool, or one that is being opened.
type entry struct {
	ready chan struct{} // closed once what follows is set
	to    connection
	err   error

	opened, used time.Time
	users        int
	dropped      bool // closed by the last user
}

// take returns a connection, which is open until release is called. It waits for one that is
// being opened, by whoever, as long as ctx says.
func (p *pool) take(ctx context.Context, key connKey, spec source.Spec, found bool, token string) (e *entry, release func(), err error) {
	now := p.now()
	p.mu.Lock()
	e = p.entries[key]
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
		go p.connect(context.WithoutCancel(ctx), key, e, spec, found, token)
	}
	e.users, e.used = e.users+1, now
	p.mu.Unlock()
	release = sync.OnceFunc(func() { p.release(e) })
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

// expired reports whether a connection is not to be used again. Who uses it goes on.
func (e *entry) expired(now time.Time) bool {
	select {
	case <-e.ready:
		return e.err != nil || now.Sub(e.opened) > oldAfter || e.to.conn != nil && e.to.conn.Lost()
	default:
		return false
	}
}

// connect opens a connection.
func (p *pool) connect(ctx context.Context, key connKey, e *entry, spec source.Spec, found bool, token string) {
	ctx, cancel := context.WithTimeoutCause(ctx, openWithin, errOpening)
	defer cancel()
	e.to, e.err = p.open(ctx, key, spec, found, token)
	close(e.ready)
	if e.err != nil {
		p.forget(key, e)
	}
}

var errOpening = errors.New("the source did not answer in time when it was connected to")

// forget takes a connection out of the pool, if it is still that of the key. Who uses it goes
// on.
func (p *pool) forget(key connKey, e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entries[key] == e {
		p.drop(key, e)
	}
}

// drop takes a connection out of the pool, and closes it once nobody uses it. It is called
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

// evict drops the connection that was not used for the longest time, if one is not in use. It
// is called with mu held.
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

// sweep drops the connections of which gone is true.
func (p *pool) sweep(gone func(connKey, *entry) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, e := range p.entries {
		if gone(key, e) {
			p.drop(key, e)
		}
	}
}

// idle is for sweep: a connection that nobody has used for long.
func (p *pool) idle(_ connKey, e *entry) bool {
	return e.users == 0 && p.now().Sub(e.used) > idleFor
}

// fingerprint returns what stands for a declaration: what does not say how a source is reached is
// left out of it.
func fingerprint(spec source.Spec) string {
	raw, _ := json.Marshal(source.Spec{ // texts and truth values always encode
		Kind: spec.Kind, URL: spec.URL, Command: spec.Command, Auth: spec.Auth, AllowPrivate: spec.AllowPrivate,
	})
	return string(raw)
}
