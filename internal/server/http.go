package server

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/server/mcpserver"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/web"
)

// everyService has the operations that every process serves itself: a browser signs in at the
// address that it shows.
const everyService = "every"

// openHTTP makes the handler of all operations, own and forwarded, and listens.
func openHTTP(ctx context.Context, p *Process) (http.Handler, error) {
	credentials, traces := theCredentials.get(p), theTraces.get(p)
	p.routes[everyService] = (&httpserver.Sessions{Credentials: credentials.Credentials, SignIn: credentials.signIn, Logger: p.log}).Routes
	api, mux := httpserver.NewAPI(p.version)
	for _, name := range append(Services(), everyService) {
		if routes := p.routes[name]; routes != nil {
			routes(api)
		}
	}
	for _, f := range p.forwards() {
		if err := httpserver.Forward(mux, f.name, f.address, theTransport.get(p).peers, traces.Propagator(), f.routes); err != nil {
			return nil, err
		}
	}
	httpserver.CompleteDocument(api, p.cfg.Auth.OIDC.Issuer)
	httpserver.AddHealth(api, mux, p.whyNotReady, p.metrics, p)
	auth := p.cfg.Auth
	proxies, err := auth.TrustedProxies()
	if err != nil {
		return nil, config.Wrong{Err: err}
	}
	c := httpserver.Config{
		Credentials: credentials.Credentials, Issuer: auth.OIDC.Issuer, Resource: auth.OIDC.Audience, Hosts: auth.Hosts, Loopback: config.Loopback(p.cfg.Listen),
		Proxies: proxies, Limiter: theLimits.get(p).limiter, InFlight: theLimits.get(p).inFlight, Closed: theFences.get(p).Erasing, Traces: traces, Logger: p.log, Registerer: p.metrics,
	}
	if log := theAudit.get(p).Log; log != nil {
		c.Audit, c.AuditShare = log, p.cfg.Audit.Searches
	}
	if p.runs(QueryService) {
		if c.Console, err = httpserver.OpenConsole(web.Files()); err != nil {
			return nil, err
		}
		c.MCP = func(api http.RoundTripper) http.Handler {
			return mcpserver.New(p.version, &client.Client{Server: "http://localhost", HTTP: &http.Client{Transport: api}}).Handler()
		}
	}
	handler := httpserver.Handler(mux, c)
	if p.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", p.cfg.Listen); err != nil {
		return nil, fmt.Errorf("listen on %s: %w; name another address with --listen", p.cfg.Listen, err)
	}
	return handler, nil
}
