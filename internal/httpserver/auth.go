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

// credentials maps the hash of a token to its tenant. Hashing makes the lookup
// take the same time whatever a caller guesses.
type credentials map[[sha256.Size]byte]string

// readCredentials reads the lines "tenant:token" of a file. Blank lines and
// lines that start with # are skipped.
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
		name, token, ok := strings.Cut(line, ":")
		name, token = strings.TrimSpace(name), strings.TrimSpace(token)
		if !ok || len(token) < minToken {
			return nil, fmt.Errorf("auth.tokens_file: %s:%d: want tenant:token, with a token of at least %d characters", path, n, minToken)
		}
		if err := schema.ValidateTenant(name); err != nil {
			return nil, fmt.Errorf("auth.tokens_file: %s:%d: %w", path, n, err)
		}
		hash := sha256.Sum256([]byte(token))
		if other, ok := known[hash]; ok && other != name {
			return nil, fmt.Errorf("auth.tokens_file: %s:%d: %s has the token of %s: give each its own", path, n, name, other)
		}
		known[hash] = name
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

// authenticate puts the tenant of the caller's bearer token into the request's
// context and refuses callers without one. Nil credentials let every caller in as
// the default tenant.
func authenticate(known credentials, next http.Handler) http.Handler {
	if known == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/") {
			next.ServeHTTP(w, r)
			return
		}
		// The scheme's case does not count (RFC 9110, section 11.1).
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		name, ok := known[sha256.Sum256([]byte(strings.TrimSpace(token)))]
		if !ok || !strings.EqualFold(scheme, "Bearer") {
			w.Header().Set("WWW-Authenticate", `Bearer realm="toolstream"`)
			WriteProblem(w, http.StatusUnauthorized, "a valid bearer token is required")
			return
		}
		next.ServeHTTP(w, r.WithContext(tenant.With(r.Context(), name)))
	})
}
