package app

import (
	"net/http"

	"github.com/toolstream/toolstream/internal/adapter/mcpserver"
	"github.com/toolstream/toolstream/internal/client"
)

// mcpServer returns what makes the MCP server of a process that answers searches, nil in
// another one.
func (p *process) mcpServer() func(api http.RoundTripper) http.Handler {
	if !p.serves(QueryService) {
		return nil
	}
	return func(api http.RoundTripper) http.Handler {
		return mcpserver.New(p.version, &client.Client{Server: "http://localhost", HTTP: &http.Client{Transport: api}}).Handler()
	}
}
