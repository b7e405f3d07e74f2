package jetstream

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/toolstream/toolstream/internal/identity"
)

// Clients says who may connect from outside of the process, and what they may ask there.
type Clients struct {
	Listen   string      // host:port; empty opens no port
	Subjects []string    // of services that a reader may ask
	TLS      *tls.Config // nil: the port speaks plain TCP

	// Caller returns whose a token is. Its error wraps one of those of package identity.
	Caller func(ctx context.Context, token string) (identity.Caller, error)
}

const (
	checkTimeout = 5 * time.Second // of the check of one token
	recheckPause = time.Second     // between two checks of the tokens of all connections
)

// inboxes is where clients receive answers, in the account of their caller.
const inboxes = "_INBOX.>"

// guard lets clients in. The process's own connection is in the global account, which owns
// the streams. Each caller from outside has an account of its own, which holds nothing and
// imports the services: what a caller publishes or listens to there meets nobody else, be it
// the subject of an answer. The import appends the caller's name to the subject of a request,
// so that it is the server that says who asks.
type guard struct {
	clients Clients
	own     string // token of the process's own connection
	log     *slog.Logger
	ns      *server.Server

	mu       sync.Mutex
	held     map[uint64]credential      // by connection
	callers  []identity.Caller          // a caller's name is its position
	accounts map[string]*server.Account // by the caller in JSON
}

// credential is by what a connection came in.
type credential struct {
	token  string
	caller identity.Caller
}

func newGuard(c Clients, own string, log *slog.Logger) *guard {
	return &guard{clients: c, own: own, log: log, held: map[uint64]credential{}, accounts: map[string]*server.Account{}}
}

var _ server.Authentication = (*guard)(nil)

// Check implements server.Authentication.
func (g *guard) Check(c server.ClientAuthentication) bool {
	token := c.GetOpts().Token
	if subtle.ConstantTimeCompare([]byte(token), []byte(g.own)) == 1 {
		return true
	}
	if c.Kind() != server.CLIENT || g.clients.Listen == "" {
		return false
	}
	caller, err := g.caller(context.Background(), token)
	if err == nil && !caller.Role.Includes(identity.Reader) {
		err = errors.New("the caller is no reader")
	}
	if err != nil {
		g.log.Debug("jetstream: a client is refused", "client", c.RemoteAddress(), "error", err)
		return false
	}
	account, err := g.account(caller)
	if err != nil {
		g.log.Error("jetstream: a caller has no account", "caller", caller.String(), "error", err)
		return false
	}
	c.RegisterUser(&server.User{
		Username: caller.String(), Account: account,
		Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: g.clients.Subjects},
			Subscribe: &server.SubjectPermission{Allow: []string{inboxes}},
		},
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held[c.GetID()] = credential{token, caller}
	return true
}

func (g *guard) caller(ctx context.Context, token string) (identity.Caller, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return g.clients.Caller(ctx, token)
}

// account returns the account of a caller. Accounts stay: they are as many as there were
// callers, by tenant, subject, groups and role.
func (g *guard) account(c identity.Caller) (*server.Account, error) {
	key, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if account := g.accounts[string(key)]; account != nil {
		return account, nil
	}
	name := strconv.Itoa(len(g.callers))
	g.callers = append(g.callers, c)
	account, err := g.ns.RegisterAccount("caller " + name)
	if err != nil {
		return nil, err
	}
	for _, subject := range g.clients.Subjects {
		if err := account.AddServiceImport(g.ns.GlobalAccount(), subject, subject+"."+name); err != nil {
			return nil, fmt.Errorf("import %s: %w", subject, err)
		}
	}
	g.accounts[string(key)] = account
	return account, nil
}

// exports lets the accounts of callers import the services.
func (g *guard) exports() error {
	for _, subject := range g.clients.Subjects {
		if err := g.ns.GlobalAccount().AddServiceExport(subject+".*", nil); err != nil {
			return fmt.Errorf("export %s: %w", subject, err)
		}
	}
	return nil
}

// watch closes the connections of which the tokens no longer hold, until quit is closed.
func (g *guard) watch(quit <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tick := time.NewTicker(recheckPause)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
			g.recheck(ctx)
		}
	}
}

// recheck closes the connections whose tokens are another caller's or nobody's by now. While
// it cannot be known whose a token is, its connections stay.
func (g *guard) recheck(ctx context.Context) {
	for id, was := range g.connections() {
		now, err := g.caller(ctx, was.token)
		if errors.Is(err, identity.ErrUnavailable) || err == nil && reflect.DeepEqual(now, was.caller) {
			continue
		}
		g.log.Info("jetstream: a client's token holds no longer: its connection is closed", "caller", was.caller.String(), "reason", err)
		_ = g.ns.DisconnectClientByID(id) // fails where it has left
	}
}

// connections returns what the open connections came in by, and forgets the others.
func (g *guard) connections() map[uint64]credential {
	g.mu.Lock()
	defer g.mu.Unlock()
	open := map[uint64]credential{}
	for id, c := range g.held {
		if g.ns.GetClient(id) != nil {
			open[id] = c
		}
	}
	g.held = open
	return maps.Clone(open)
}

// Caller returns who sent a request that the server has put on SUBJECT.NAME.
func (s *Server) Caller(name string) (identity.Caller, error) {
	s.guard.mu.Lock()
	defer s.guard.mu.Unlock()
	n, err := strconv.Atoi(name)
	if err != nil || n < 0 || n >= len(s.guard.callers) {
		return identity.Caller{}, identity.ErrInvalid
	}
	return s.guard.callers[n], nil
}

// listen sets where clients connect.
func (c Clients) listen(o *server.Options) error {
	if c.Listen == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("listen address %q: %w", c.Listen, err)
	}
	o.DontListen, o.Host, o.AuthTimeout = false, host, checkTimeout.Seconds()+1
	if o.Port, err = strconv.Atoi(port); err != nil {
		return fmt.Errorf("listen address %q: %w", c.Listen, err)
	}
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	if c.TLS != nil {
		o.TLS, o.TLSConfig, o.TLSTimeout = true, c.TLS, server.TLS_TIMEOUT.Seconds()
	}
	return nil
}
