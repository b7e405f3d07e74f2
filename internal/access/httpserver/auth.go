package httpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/tokenfile"
	"github.com/toolstream/toolstream/internal/kit/identity"
)

// Provider returns the caller of a token from an identity provider. Its error wraps an error of
// package identity.
type Provider interface {
	Caller(ctx context.Context, token string) (identity.Caller, error)
}

// Credentials identify callers. Without any, every caller is identity.Anybody.
type Credentials struct {
	Tokens       *tokenfile.File // may be nil
	Provider     Provider        // may be nil
	Certificates Certificates    // may be nil
}

func (c Credentials) none() bool {
	return c.Tokens == nil && c.Provider == nil && c.Certificates == nil
}

// Caller returns the caller of a token. Its error wraps an error of package identity.
func (c Credentials) Caller(ctx context.Context, token string) (identity.Caller, error) {
	who, _, err := c.prove(ctx, token)
	return who, err
}

// prove is Caller, and reports whether it is the provider that knows the token.
func (c Credentials) prove(ctx context.Context, token string) (who identity.Caller, provided bool, err error) {
	if c.none() {
		return identity.Anybody, false, nil
	}
	if c.Tokens != nil {
		if who, err := c.Tokens.Caller(token); c.Provider == nil || !errors.Is(err, identity.ErrInvalid) {
			return who, false, err
		}
	}
	if token == "" || c.Provider == nil {
		return identity.Caller{}, false, identity.ErrInvalid
	}
	who, err = c.Provider.Caller(ctx, token)
	return who, true, err
}

// credentials identify the callers of requests.
type credentials struct {
	Credentials
	metadata string // where callers learn of the provider; may be empty
	ofMCP    string // the same for MCP clients
	log      *slog.Logger
}

// authenticate puts the caller of a request into its context, and refuses requests of unknown
// callers. A bearer token takes precedence over a client certificate, because a service that
// passes a request on shows its own certificate. A session cookie counts as an Authorization if
// the header is missing.
func authenticate(c credentials, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.none() {
			next.ServeHTTP(w, as(r, identity.Anybody))
			return
		}
		if provesItself(r) || signsIn(r) || !ofTenant(r) {
			next.ServeHTTP(w, r)
			return
		}
		taken, err := takeSession(r)
		if err != nil {
			note(r.Context(), func(a *audited) { a.reason = err.Error() })
			WriteProblem(w, http.StatusForbidden, err.Error())
			return
		}
		r = taken
		if c.Certificates != nil && r.Header.Get("Authorization") == "" && r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			ctx, caller, err := certified(c.Certificates, r)
			if err != nil {
				c.refuse(w, r, "", certificateError{err})
				return
			}
			ctx = provable(ctx, caller, func(context.Context) (identity.Caller, error) {
				_, who, err := certified(c.Certificates, r)
				return who, err
			})
			next.ServeHTTP(w, as(r.WithContext(ctx), caller))
			return
		}
		token := bearer(r)
		caller, provided, err := c.prove(r.Context(), token)
		if err != nil && asksWho(r) && (r.Method == http.MethodDelete || !errors.Is(err, identity.ErrUnavailable)) {
			if r.Method != http.MethodDelete && r.Header.Get("Authorization") != "" { // guesses are recorded here, too
				note(r.Context(), func(a *audited) { a.refused, a.reason = true, identity.ErrInvalid.Error() })
			}
			next.ServeHTTP(w, r)
			return
		}
		if err != nil {
			c.refuse(w, r, token, err)
			return
		}
		if provided {
			r = r.WithContext(identity.WithToken(r.Context(), token))
		}
		ctx := provable(r.Context(), caller, func(ctx context.Context) (identity.Caller, error) { return c.Caller(ctx, token) })
		next.ServeHTTP(w, as(r.WithContext(ctx), caller))
	})
}

type provenKey struct{}

// provable returns a context of a request whose credential can be checked again.
func provable(ctx context.Context, caller identity.Caller, prove func(context.Context) (identity.Caller, error)) context.Context {
	return context.WithValue(ctx, provenKey{}, func() error {
		who, err := prove(ctx)
		if err == nil && !reflect.DeepEqual(who, caller) {
			err = errOtherCaller
		}
		return err
	})
}

var errOtherCaller = errors.New("the credential is now another caller's")

// Proven checks the credential of a request again, for an answer that has no end. It returns
// nil as long as it proves the caller that it proved at first.
func Proven(ctx context.Context) error {
	if prove, ok := ctx.Value(provenKey{}).(func() error); ok {
		return prove()
	}
	return nil // no credential is required
}

// bearer returns the token of a request, or "".
func bearer(r *http.Request) string {
	// The scheme's case does not count (RFC 9110, section 11.1).
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// as returns a request with a caller.
func as(r *http.Request, caller identity.Caller) *http.Request {
	proveConnection(r.Context())
	note(r.Context(), func(a *audited) { a.caller = &caller })
	return r.WithContext(identity.With(r.Context(), caller))
}

// refuse answers a request of an unknown caller. Details are for the log.
func (c credentials) refuse(w http.ResponseWriter, r *http.Request, token string, err error) {
	if errors.Is(err, identity.ErrUnavailable) {
		c.log.WarnContext(r.Context(), "a token cannot be checked", "error", err)
		WriteProblem(w, http.StatusServiceUnavailable, identity.ErrUnavailable.Error())
		return
	}
	c.log.DebugContext(r.Context(), "a credential is refused", "error", err)
	challenge := `Bearer realm="toolstream"`
	metadata := c.metadata
	if r.URL.Path == MCPPath {
		metadata = c.ofMCP
	}
	if metadata != "" { // RFC 9728, section 5.1
		challenge += fmt.Sprintf(`, resource_metadata=%q`, metadata)
	}
	if token != "" { // RFC 6750, section 3.1
		challenge += `, error="invalid_token"`
	}
	reason := identity.ErrInvalid
	var ofCertificate certificateError
	switch {
	case errors.Is(err, identity.ErrExpired):
		reason = identity.ErrExpired
	case errors.As(err, &ofCertificate):
		reason = fmt.Errorf("the client certificate is refused: %w", ofCertificate.error)
	case c.Certificates != nil:
		reason = errNoProof
	}
	note(r.Context(), func(a *audited) { a.reason = reason.Error() })
	w.Header().Set("WWW-Authenticate", challenge)
	WriteProblem(w, http.StatusUnauthorized, reason.Error())
}

// wellKnown begins the path of the metadata of a resource.
const wellKnown = "/.well-known/oauth-protected-resource"

// describeResource serves the metadata of a resource that tokens are for (RFC 9728), and returns
// its address, or "" if the resource has no address.
func describeResource(mux *Mux, resource, issuer string) (address string) {
	u, err := url.Parse(resource)
	if err != nil || u.Host == "" || issuer == "" {
		return ""
	}
	u.Path = wellKnown + strings.TrimSuffix(u.Path, "/")
	about, _ := json.Marshal(map[string]any{ // strings have a form in JSON
		"resource": resource, "authorization_servers": []string{issuer}, "bearer_methods_supported": []string{"header"},
	})
	mux.HandleFunc("GET "+u.Path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Access-Control-Allow-Origin", "*") // clients in browsers look for it
		_, _ = w.Write(about)
	})
	return u.String()
}

// requireRole refuses callers without the role that an operation needs.
func requireRole(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(hc huma.Context, next func(huma.Context)) {
		needed, has := identity.Needed(hc.Operation().Security), identity.From(hc.Context()).Role
		if needed != "" && !has.Includes(needed) {
			reason := fmt.Sprintf("this needs the role %s; the caller has %s", needed, cmp.Or(has, "none"))
			note(hc.Context(), func(a *audited) { a.reason = reason })
			_ = huma.WriteErr(api, hc, http.StatusForbidden, reason)
			return
		}
		next(hc)
	}
}

// provesItself reports whether a request is for the one operation whose sender proves itself by
// other means: gateways that report a change of a source have no token.
func provesItself(r *http.Request) bool {
	return (r.Method == http.MethodPost || r.Method == http.MethodOptions) &&
		strings.HasPrefix(r.URL.Path, "/v1/sources/") && strings.HasSuffix(r.URL.Path, ":event")
}
