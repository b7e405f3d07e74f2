package httpserver

import (
	"net/http"
	"strings"
)

// guardingFields are the header fields of every answer. A browser that shows an answer
// runs no script of it, shows it in no frame, and sends its address to no other site. Handlers of pages set a
// policy of their own.
var guardingFields = map[string]string{
	"X-Content-Type-Options":  "nosniff",
	"Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"Referrer-Policy":         "no-referrer",
}

const (
	cacheField  = "Cache-Control"
	secureField = "Strict-Transport-Security"
)

// guardAnswers sets these fields. Caches store no answer about a tenant, and a browser that came
// by TLS, to this server or to a proxy before it, comes by TLS again: over plain HTTP browsers
// ignore the field.
func guardAnswers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for name, value := range guardingFields {
			h.Set(name, value)
		}
		if ofTenant(r) {
			h.Set(cacheField, "no-store")
		}
		if secure(r) {
			h.Set(secureField, "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// secure reports whether a request came by TLS, to this server or to a proxy before it. A client
// that forges the field without a proxy affects only its own answers.
func secure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// ofTenant reports whether the answer depends on the caller.
func ofTenant(r *http.Request) bool { return perTenant(r.URL.Path) }

func perTenant(path string) bool {
	return strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, RegistryPath) || path == MCPPath
}

// dropGuards takes the fields from the answer of a peer: this server sets them itself.
func dropGuards(answer *http.Response) error {
	for name := range guardingFields {
		answer.Header.Del(name)
	}
	answer.Header.Del(cacheField)
	answer.Header.Del(secureField)
	return nil
}
