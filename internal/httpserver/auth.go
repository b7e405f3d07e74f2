package httpserver

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/tokenfile"
)

// authenticate puts the caller whose bearer token a request has into its context, and
// refuses requests without one. Without tokens it lets every caller in as anybody.
func authenticate(tokens *tokenfile.File, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tokens == nil {
			next.ServeHTTP(w, r.WithContext(identity.With(r.Context(), identity.Anybody)))
			return
		}
		if provesItself(r) || !strings.HasPrefix(r.URL.Path, "/v1/") && !strings.HasPrefix(r.URL.Path, RegistryPath) {
			next.ServeHTTP(w, r)
			return
		}
		// The scheme's case does not count (RFC 9110, section 11.1).
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			token = ""
		}
		caller, err := tokens.Caller(strings.TrimSpace(token))
		if err != nil {
			w.Header().Set("WWW-Authenticate", `Bearer realm="toolstream"`)
			WriteProblem(w, http.StatusUnauthorized, err.Error())
			return
		}
		next.ServeHTTP(w, r.WithContext(identity.With(r.Context(), caller)))
	})
}

// requireRole refuses callers without the role that an operation needs.
func requireRole(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(hc huma.Context, next func(huma.Context)) {
		needed, has := identity.Needed(hc.Operation().Security), identity.From(hc.Context()).Role
		if needed != "" && !has.Includes(needed) {
			_ = huma.WriteErr(api, hc, http.StatusForbidden, fmt.Sprintf("this needs the role %s; the caller has %s", needed, cmp.Or(has, "none")))
			return
		}
		next(hc)
	}
}

// provesItself reports whether a request is to the one call of which the sender proves
// itself by other means: gateways that tell of a change of a source have no token.
func provesItself(r *http.Request) bool {
	return (r.Method == http.MethodPost || r.Method == http.MethodOptions) &&
		strings.HasPrefix(r.URL.Path, "/v1/sources/") && strings.HasSuffix(r.URL.Path, ":event")
}
