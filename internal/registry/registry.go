// Package registry serves the MCP servers that a tenant's sources follow as a registry of
// MCP servers, so that editors and other registries can read them.
package registry

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/adapter/mcpregistry"
	"github.com/toolstream/toolstream/internal/httpserver"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/redact"
	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/query"
)

// Providers tells what is indexed of a provider: the service that searches.
type Providers interface {
	// Provider returns what is indexed of the provider of a source, nothing where it says
	// nothing of itself, and whether the caller may find it.
	Provider(ctx context.Context, id, source string) (about query.Entry, visible bool, err error)
}

// Registry serves the servers.
type Registry struct {
	Sources   func(ctx context.Context, tenant string) ([]sources.Source, error)
	Providers Providers
}

// schemaURL names the form of what is said of a server.
const schemaURL = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

type (
	listInput struct {
		Cursor         string    `query:"cursor" doc:"From the call before."`
		Limit          int       `query:"limit" default:"30" minimum:"1" maximum:"100" doc:"Servers on a page, at most: 1 to 100, 30 by default."`
		Search         string    `query:"search" doc:"Only servers whose name holds this."`
		UpdatedSince   time.Time `query:"updated_since" doc:"Only what has changed since a time."`
		Version        string    `query:"version" doc:"Only this version; latest is the one that there is."`
		IncludeDeleted bool      `query:"include_deleted" doc:"Has no effect: what is gone is not told."`
	}
	nameInput struct {
		Name           string `path:"name" doc:"Of the server, with its slash escaped (%2F)."`
		IncludeDeleted bool   `query:"include_deleted" doc:"Has no effect: what is gone is not told."`
	}
	versionInput struct {
		Name           string `path:"name" doc:"Of the server, with its slash escaped (%2F)."`
		Version        string `path:"version" doc:"Of the server, or latest."`
		IncludeDeleted bool   `query:"include_deleted" doc:"Has no effect: what is gone is not told."`
	}
	listOutput  struct{ Body mcpregistry.ServerList }
	entryOutput struct{ Body mcpregistry.ServerEntry }
)

// latest stands for the newest version of a server.
const latest = "latest"

// Routes adds the calls; a nil registry describes them only.
func (r *Registry) Routes(api huma.API) {
	operation := func(id, path, summary string, errors ...int) huma.Operation {
		return huma.Operation{
			OperationID: id, Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: httpserver.RegistryPath + "servers" + path, Summary: summary, Tags: []string{"registry"},
			Errors: append(errors, http.StatusServiceUnavailable),
		}
	}
	huma.Register(api, operation("list-servers", "", "List the MCP servers that sources follow", http.StatusUnprocessableEntity), r.list)
	huma.Register(api, operation("list-server-versions", "/{name}/versions", "List the versions of an MCP server: there is one", http.StatusNotFound),
		func(ctx context.Context, in *nameInput) (*listOutput, error) {
			e, err := r.find(ctx, in.Name, latest)
			return &listOutput{page([]mcpregistry.ServerEntry{e})}, err
		})
	huma.Register(api, operation("get-server-version", "/{name}/versions/{version}", "Show one version of an MCP server", http.StatusNotFound),
		func(ctx context.Context, in *versionInput) (*entryOutput, error) {
			e, err := r.find(ctx, in.Name, in.Version)
			return &entryOutput{e}, err
		})
}

func page(entries []mcpregistry.ServerEntry) mcpregistry.ServerList {
	return mcpregistry.ServerList{Servers: entries, Metadata: mcpregistry.ListMetadata{Count: len(entries)}}
}

func (r *Registry) list(ctx context.Context, in *listInput) (*listOutput, error) {
	all, err := r.servers(ctx)
	if err != nil {
		return nil, err
	}
	entries := []mcpregistry.ServerEntry{}
	for _, s := range all {
		wanted := s.name > in.Cursor && strings.Contains(strings.ToLower(s.name), strings.ToLower(in.Search)) &&
			!s.changed().Before(in.UpdatedSince) && (in.Version == "" || in.Version == latest || in.Version == s.version())
		if !wanted {
			continue
		}
		e, ok, err := r.entry(ctx, s)
		switch {
		case err != nil:
			return nil, err
		case ok && len(entries) == in.Limit:
			out := page(entries)
			out.Metadata.NextCursor = entries[len(entries)-1].Server.Name
			return &listOutput{out}, nil
		case ok:
			entries = append(entries, e)
		}
	}
	return &listOutput{page(entries)}, nil
}

func (r *Registry) find(ctx context.Context, name, version string) (mcpregistry.ServerEntry, error) {
	all, err := r.servers(ctx)
	if err != nil {
		return mcpregistry.ServerEntry{}, err
	}
	i, there := slices.BinarySearchFunc(all, name, func(s server, name string) int { return cmp.Compare(s.name, name) })
	if there && (version == latest || version == all[i].version()) {
		if e, ok, err := r.entry(ctx, all[i]); ok || err != nil {
			return e, err
		}
	}
	return mcpregistry.ServerEntry{}, huma.Error404NotFound("there is no such server, or not this version of it")
}

// server is a source that is an MCP server others can reach.
type server struct {
	sources.Source
	name string // in the registry
}

// changed is when what it lists last changed.
func (s server) changed() time.Time { return cmp.Or(s.LastChange, s.LastSuccess).UTC() }

// version counts the changes of what it lists, in seconds: a server's own is not known here.
func (s server) version() string { return fmt.Sprintf("1.0.%d", s.changed().Unix()) }

// servers returns the servers of the caller's tenant, by name: those at an address that were
// seen. Of two with one name, which two registries list, the first source's is told.
func (r *Registry) servers(ctx context.Context) ([]server, error) {
	all, err := r.Sources(ctx, identity.From(ctx).Tenant)
	if err != nil {
		return nil, httpserver.Unavailable("the sources cannot be read", 5)
	}
	parents := map[string]string{} // their kinds
	var out []server
	for _, s := range all {
		parents[s.Name] = s.Kind
		if s.Kind == source.MCP && s.URL != "" && !s.LastSuccess.IsZero() && s.State != sources.Paused && s.State != sources.Removing {
			out = append(out, server{s, nameOf(s, parents[s.Parent])})
		}
	}
	slices.SortStableFunc(out, func(a, b server) int { return cmp.Compare(a.name, b.name) })
	return slices.CompactFunc(out, func(a, b server) bool { return a.name == b.name }), nil
}

// nameForm is that of the names of servers.
var nameForm = regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)

// maxText is how long title and description may be, in letters.
const maxText = 100

// nameOf returns the name that a registry gave the server, else NAMESPACE/SOURCE with the
// server's host, read from its end, for the namespace.
func nameOf(s sources.Source, parent string) string {
	if parent == source.MCPRegistry && nameForm.MatchString(s.Called) && len(s.Called) <= 200 {
		return s.Called
	}
	namespace := "localhost"
	if u, err := url.Parse(s.URL); err == nil && net.ParseIP(u.Hostname()) == nil {
		labels := strings.Split(strings.TrimSuffix(u.Hostname(), "."), ".")
		slices.Reverse(labels)
		namespace = strings.Join(labels, ".")
	}
	if name := namespace + "/" + s.Name; nameForm.MatchString(name) && len(name) <= 200 {
		return name
	}
	return "localhost/" + s.Name // a host in letters that the form does not know
}

// entry returns what is told of a server, false where its provider is in quarantine or the
// caller may not find it.
func (r *Registry) entry(ctx context.Context, s server) (mcpregistry.ServerEntry, bool, error) {
	about, visible, err := r.Providers.Provider(ctx, s.Root(s.Name), s.Name)
	if err != nil || !visible || about.Quarantined {
		return mcpregistry.ServerEntry{}, false, err
	}
	at := mcpregistry.ServerRemote{Type: mcpregistry.Streamable, URL: redact.Text(s.URL)}
	if strings.HasSuffix(strings.TrimRight(s.URL, "/"), "/sse") {
		at.Type = mcpregistry.SSE
	}
	if s.Auth != nil {
		wanted := mcpregistry.RemoteInput{Description: "A credential of the server.", Required: true, Secret: true}
		at.Headers = []mcpregistry.RemoteHeader{{Name: "Authorization", RemoteInput: wanted}}
	}
	return mcpregistry.ServerEntry{
		Server: mcpregistry.ServerDetail{
			Schema: schemaURL, Name: s.name, Version: s.version(), Remotes: []mcpregistry.ServerRemote{at},
			Title: cut(about.Name), Description: cut(cmp.Or(about.Description, "The MCP server "+s.name+".")),
		},
		Meta: mcpregistry.EntryMeta{Official: mcpregistry.EntryStatus{
			Status: mcpregistry.Active, StatusChangedAt: s.changed(), PublishedAt: s.changed(), UpdatedAt: s.changed(), IsLatest: true,
		}},
	}, true, nil
}

// cut returns a text of at most maxText letters.
func cut(s string) string {
	if utf8.RuneCountInString(s) <= maxText {
		return s
	}
	return string([]rune(s)[:maxText-1]) + "…"
}
