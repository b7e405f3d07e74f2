package httpserver

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/schema"
)

// credentials maps the hash of a token to whose it is. Hashing makes the lookup take the
// same time whatever a caller guesses.
type credentials map[[sha256.Size]byte]owner

// owner is whose a token is: a tenant, and a name in it, which may be empty.
type owner struct{ tenant, name string }

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
		var of owner
		var named bool
		of.tenant, of.name, named = strings.Cut(whose, "/")
		if err := schema.ValidateTenant(of.tenant); err != nil {
			return nil, fmt.Errorf("auth.tokens_file: %s:%d: %w", path, n, err)
		}
		if err := schema.ValidateTenant(of.name); named && err != nil { // of the same form
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

// String returns the owner as a line of the file names it.
func (o owner) String() string {
	if o.name == "" {
		return o.tenant
	}
	return o.tenant + "/" + o.name
}

// authenticate puts the owner of the caller's bearer token into the request's context and
// refuses callers without one. Nil credentials let every caller in as the default tenant.
func authenticate(known credentials, next http.Handler) http.Handler {
	if known == nil {
		return next
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
		next.ServeHTTP(w, r.WithContext(tenant.WithCredential(tenant.With(r.Context(), of.tenant), of.name)))
	})
}

// provesItself reports whether a request is to the one call of which the sender proves
// itself by other means: gateways that tell of a change of a source have no token.
func provesItself(r *http.Request) bool {
	return (r.Method == http.MethodPost || r.Method == http.MethodOptions) &&
		strings.HasPrefix(r.URL.Path, "/v1/sources/") && strings.HasSuffix(r.URL.Path, ":event")
}
