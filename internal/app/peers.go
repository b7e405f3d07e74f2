package app

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// passOn hands the operations of a service that runs elsewhere to its address,
// so that a client which knows one service reaches all of them.
func passOn(mux *http.ServeMux, name, address string, routes func(huma.API)) error {
	peer, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("peers.%s: %w", name, err)
	}
	described, _ := newAPI("")
	routes(described)
	paths := described.OpenAPI().Paths
	proxy := toPeer(name, peer)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for method, op := range operations(paths[path]) {
			if op != nil {
				mux.Handle(method+" "+path, proxy)
			}
		}
	}
	return nil
}

func operations(item *huma.PathItem) map[string]*huma.Operation {
	return map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPut: item.Put, http.MethodPost: item.Post,
		http.MethodDelete: item.Delete, http.MethodOptions: item.Options,
	}
}

// toPeer passes requests on as they are, bodies and answers as they flow: an
// import may take minutes, line by line. The server must not end a body because
// its answer begins: the peer may have answered while the proxy still looks for
// the body's end, and would lose the connection, and the answer with it.
func toPeer(name string, peer *url.URL) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(peer)
			r.SetXForwarded()
		},
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			writeProblem(w, http.StatusServiceUnavailable, fmt.Sprintf("%s does not answer: %v", name, err))
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Where it is not supported, as in HTTP/2, it is so anyway.
		_ = http.NewResponseController(w).EnableFullDuplex()
		proxy.ServeHTTP(w, r)
	})
}
