package httpserver

import (
	"net/http"
	"strings"
)

// Mux is an http.ServeMux that also takes patterns which end in an action, such as
// "POST /v1/sources/{name}:sync".
type Mux struct {
	*http.ServeMux
	actions map[string]map[string]http.Handler // by the pattern without its action, and by that
}

// NewMux returns an empty Mux.
func NewMux() *Mux { return &Mux{http.NewServeMux(), map[string]map[string]http.Handler{}} }

// HandleFunc registers a handler.
func (m *Mux) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(handler))
}

// Handle registers a handler.
func (m *Mux) Handle(pattern string, handler http.Handler) {
	base, action, found := strings.Cut(pattern, "}:")
	if !found {
		m.ServeMux.Handle(pattern, handler)
		return
	}
	base += "}"
	if m.actions[base] == nil {
		m.actions[base] = map[string]http.Handler{}
		name := base[strings.LastIndexByte(base, '{')+1 : len(base)-1]
		m.ServeMux.HandleFunc(base, func(w http.ResponseWriter, r *http.Request) { m.act(w, r, base, name) })
	}
	m.actions[base][action] = handler
}

// act calls the handler of a request's action.
func (m *Mux) act(w http.ResponseWriter, r *http.Request, base, name string) {
	value := r.PathValue(name)
	at := strings.LastIndexByte(value, ':')
	handler := m.actions[base][value[at+1:]]
	if at < 0 || handler == nil {
		WriteProblem(w, http.StatusNotFound, "no such path")
		return
	}
	r.SetPathValue(name, value[:at])
	r.Pattern = base + value[at:]
	handler.ServeHTTP(w, r)
}
