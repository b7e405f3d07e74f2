package httpserver

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// credentials maps the hash of a token to whose it is. Hashing makes the lookup take the
// same time whatever a caller guesses.
type credentials map[[sha256.Size]byte]identity.Caller

// readCredentials reads the lines "tenant:token" or "tenant/name:token" of a file. Blank
// lines and lines that start with # are skipped.
func readCredentials(path string) (credentials, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("auth.tokens_file: %w", err)
	}
	defer f.Close()
	known := credentials{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		whose, token, ok := strings.Cut(line, ":")
		whose, token = strings.TrimSpace(whose), strings.TrimSpace(token)
		if !ok || len(token) < minToken {
			return nil, fmt.Errorf("auth.tokens_file: %s:%d: want tenant:token or tenant/name:token, with a token of at least %d characters", path, n, minToken)
		}
		of := identity.Caller{Role: identity.Admin}
		var named bool
		of.Tenant, of.Subject, named = strings.Cut(whose, "/")
		if err := schema.ValidateTenant(of.Tenant); err != nil {
			return nil, fmt.Errorf("auth.tokens_file: %s:%d: %w", path, n, err)
		}
		if err := schema.ValidateTenant(of.Subject); named && err != nil { // of the same form
			return nil, fmt.Errorf("auth.tokens_file: %s:%d: the name of the token %w", path, n, err)
		}
		hash := sha256.Sum256([]byte(token))
		if other, ok := known[hash]; ok && other != of {
			return nil, fmt.Errorf("auth.tokens_file: %s:%d: %s has the token of %s: give each its own", path, n, of, other)
		}
		known[hash] = of
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("auth.tokens_file: %w", err)
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("auth.tokens_file: %s holds no credential", path)
	}
	return known, nil
}

const minToken = 16

// authenticate puts the caller whose bearer token a request has into its context, and
// refuses requests without one. Nil credentials let every caller in as anybody.
func authenticate(known credentials, next http.Handler) http.Handler {
	if known == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(identity.With(r.Context(), identity.Anybody)))
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if provesItself(r) || !strings.HasPrefix(r.URL.Path, "/v1/") && !strings.HasPrefix(r.URL.Path, RegistryPath) {
			next.ServeHTTP(w, r)
			return
		}
		// The scheme's case does not count (RFC 9110, section 11.1).
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		of, ok := known[sha256.Sum256([]byte(strings.TrimSpace(token)))]
		if !ok || !strings.EqualFold(scheme, "Bearer") {
			w.Header().Set("WWW-Authenticate", `Bearer realm="toolstream"`)
			WriteProblem(w, http.StatusUnauthorized, "a valid bearer token is required")
			return
		}
		next.ServeHTTP(w, r.WithContext(identity.With(r.Context(), of)))
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
