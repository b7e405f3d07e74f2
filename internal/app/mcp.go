package app

import (
	"context"
	"errors"
	"net/http"

	"github.com/toolstream/toolstream/internal/adapter/mcpserver"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/pins"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
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

// pins serves the tools that the MCP server lists beside its own.
func (p *process) pins() *pins.API {
	return &pins.API{
		Bucket: p.store,
		Find: func(ctx context.Context, caller identity.Caller, key string) error {
			_, _, err := p.query.Tool(ctx, caller, key)
			return err
		},
		NoTool: func(err error) bool {
			return errors.Is(err, query.ErrNoTool) || errors.As(err, new(*schema.Invalid))
		},
	}
}
