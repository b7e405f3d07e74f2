package calls

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/source"
)

// way is how one source is reached for a caller: by a client, and of an MCP server by a line.
type way struct {
	place source.Place
	line  source.Line // nil for an HTTP API
}

// wayKey names a way. One for all callers has no token.
type wayKey struct {
	tenant, source string
	spec           string // as it is declared: a changed one is another
	token          string // digest of the caller's token, where it is exchanged
}

// Bounds of the pool.
const (
	openWithin = 20 * time.Second
	idleFor    = 5 * time.Minute  // then a way that nobody uses is closed
	oldAfter   = 10 * time.Minute // then one is made anew: the credential is read again
	maxWays    = 1024
)

// pool keeps ways open. A way is made once for all who want it, and shared.
type pool struct {
	open func(ctx context.Context, key wayKey, spec source.Spec, found bool, token string) (way, error)
	now  func() time.Time

	closing sync.WaitGroup

	mu   sync.Mutex
	ways map[wayKey]*held
}

// held is a way that is open, or on its way.
type held struct {
	ready chan struct{} // closed once what follows is set
	way   way
	err   error

	made, used time.Time
	users      int
	dropped    bool // closed by the last user
}

var errFull = errors.New("too many connections to sources are in use")

// take returns a way, which is open until release is called. It waits for one that is being
// made, by whoever, as long as ctx says.
func (p *pool) take(ctx context.Context, key wayKey, spec source.Spec, found bool, token string) (w *held, release func(), err error) {
	now := p.now()
	p.mu.Lock()
	h := p.ways[key]
	if h != nil && h.worn(now) {
		p.drop(key, h)
		h = nil
	}
	if h == nil {
		if len(p.ways) >= maxWays && !p.evict() {
			p.mu.Unlock()
			return nil, nil, errFull
		}
		h = &held{ready: make(chan struct{}), made: now}
		p.ways[key] = h
		go p.make(context.WithoutCancel(ctx), key, h, spec, found, token)
	}
	h.users, h.used = h.users+1, now
	p.mu.Unlock()
	release = sync.OnceFunc(func() { p.leave(h) })
	select {
	case <-h.ready:
	case <-ctx.Done():
		release()
		return nil, nil, context.Cause(ctx)
	}
	if h.err != nil {
		release()
		return nil, nil, h.err
	}
	return h, release, nil
}

// worn reports whether a way that is made is not to be used again.
func (h *held) worn(now time.Time) bool {
	select {
	case <-h.ready:
		return h.err != nil || now.Sub(h.made) > oldAfter && h.users == 0 || h.way.line != nil && h.way.line.Lost()
	default:
		return false
	}
}

// make opens a way.
func (p *pool) make(ctx context.Context, key wayKey, h *held, spec source.Spec, found bool, token string) {
	ctx, cancel := context.WithTimeoutCause(ctx, openWithin, errOpening)
	defer cancel()
	h.way, h.err = p.open(ctx, key, spec, found, token)
	close(h.ready)
	if h.err != nil {
		p.forget(key, h)
	}
}

var errOpening = errors.New("the source did not answer in time when it was connected to")

// forget takes a way out of the pool, if it is still that of the key. Who uses it goes on.
func (p *pool) forget(key wayKey, h *held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ways[key] == h {
		p.drop(key, h)
	}
}

// drop takes a way out of the pool, and closes it once nobody uses it. It is called with mu
// held.
func (p *pool) drop(key wayKey, h *held) {
	delete(p.ways, key)
	h.dropped = true
	if h.users == 0 {
		p.closing.Go(h.close)
	}
}

func (p *pool) leave(h *held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h.users--
	h.used = p.now()
	if h.dropped && h.users == 0 {
		p.closing.Go(h.close)
	}
}

// close closes a way once it is made.
func (h *held) close() {
	<-h.ready
	if h.err == nil && h.way.line != nil {
		h.way.line.Close()
	}
}

// evict drops the way that was not used for the longest time, if one is not in use. It is
// called with mu held.
func (p *pool) evict() bool {
	var oldest wayKey
	var of *held
	for key, h := range p.ways {
		if h.users == 0 && (of == nil || h.used.Before(of.used)) {
			oldest, of = key, h
		}
	}
	if of != nil {
		p.drop(oldest, of)
	}
	return of != nil
}

// sweep drops the ways that nobody has used for long, those of a tenant, or all.
func (p *pool) sweep(gone func(wayKey, *held) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, h := range p.ways {
		if gone(key, h) {
			p.drop(key, h)
		}
	}
}

// idle is for sweep.
func (p *pool) idle(_ wayKey, h *held) bool {
	return h.users == 0 && p.now().Sub(h.used) > idleFor
}

// fingerprint returns what stands for a declaration: what does not say how a source is reached is
// left out of it.
func fingerprint(spec source.Spec) string {
	raw, _ := json.Marshal(source.Spec{ // texts and truth values always encode
		Kind: spec.Kind, URL: spec.URL, Command: spec.Command, Auth: spec.Auth, AllowPrivate: spec.AllowPrivate,
	})
	return string(raw)
}
