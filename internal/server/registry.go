package server

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

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/connect/mcp"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/redact"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/query/catalogue"
)

// registryProviders looks up providers in the index.
type registryProviders interface {
	// Provider returns the entry of the provider of a source, empty if the provider has no
	// document, and whether the caller may find it.
	Provider(ctx context.Context, id, source string) (about catalogue.Entry, visible bool, err error)
}

// registry serves the MCP servers among a tenant's sources in the form of an MCP registry, for
// editors and other registries.
type registry struct {
	Sources   func(ctx context.Context, tenant string) ([]sources.Source, error)
	Providers registryProviders
}

// serverSchema is the JSON Schema of a server.
const serverSchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

type (
	serversInput struct {
		Cursor         string    `query:"cursor" doc:"Cursor of the previous answer."`
		Limit          int       `query:"limit" default:"30" minimum:"1" maximum:"100" doc:"Servers on a page: 1 to 100, 30 by default."`
		Search         string    `query:"search" doc:"Only servers with this text in their name."`
		UpdatedSince   time.Time `query:"updated_since" doc:"Only servers changed since this time."`
		Version        string    `query:"version" doc:"Only this version; latest is the only one."`
		IncludeDeleted bool      `query:"include_deleted" doc:"Without effect: deleted servers are never listed."`
	}
	serverInput struct {
		Name           string `path:"name" doc:"Name of the server, with its slash escaped (%2F)."`
		IncludeDeleted bool   `query:"include_deleted" doc:"Without effect: deleted servers are never listed."`
	}
	serverVersionInput struct {
		Name           string `path:"name" doc:"Name of the server, with its slash escaped (%2F)."`
		Version        string `path:"version" doc:"Version of the server, or latest."`
		IncludeDeleted bool   `query:"include_deleted" doc:"Without effect: deleted servers are never listed."`
	}
	serversOutput struct{ Body mcp.ServerList }
	serverOutput  struct{ Body mcp.ServerEntry }
)

// latestVersion is the newest version of a server.
const latestVersion = "latest"

// routes adds the calls; a nil registry describes them only.
func (r *registry) routes(api huma.API) {
	operation := func(id, path, summary string, errors ...int) huma.Operation {
		return huma.Operation{
			OperationID: id, Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: httpserver.RegistryPath + "servers" + path, Summary: summary, Tags: []string{"registry"},
			Errors: errors,
		}
	}
	huma.Register(api, operation("list-servers", "", "List the MCP servers among the sources"), r.list)
	huma.Register(api, operation("list-server-versions", "/{name}/versions", "List the only version of an MCP server", http.StatusNotFound),
		func(ctx context.Context, in *serverInput) (*serversOutput, error) {
			e, err := r.find(ctx, in.Name, latestVersion)
			return &serversOutput{serverList([]mcp.ServerEntry{e})}, err
		})
	huma.Register(api, operation("get-server-version", "/{name}/versions/{version}", "Show one version of an MCP server", http.StatusNotFound),
		func(ctx context.Context, in *serverVersionInput) (*serverOutput, error) {
			e, err := r.find(ctx, in.Name, in.Version)
			return &serverOutput{e}, err
		})
}

func serverList(entries []mcp.ServerEntry) mcp.ServerList {
	return mcp.ServerList{Servers: entries, Metadata: mcp.ListMetadata{Count: len(entries)}}
}

func (r *registry) list(ctx context.Context, in *serversInput) (*serversOutput, error) {
	all, err := r.servers(ctx)
	if err != nil {
		return nil, err
	}
	entries := []mcp.ServerEntry{}
	for _, s := range all {
		wanted := s.name > in.Cursor && strings.Contains(strings.ToLower(s.name), strings.ToLower(in.Search)) &&
			!s.changed().Before(in.UpdatedSince) && (in.Version == "" || in.Version == latestVersion || in.Version == s.version())
		if !wanted {
			continue
		}
		e, ok, err := r.entry(ctx, s)
		switch {
		case err != nil:
			return nil, err
		case ok && len(entries) == in.Limit:
			out := serverList(entries)
			out.Metadata.NextCursor = entries[len(entries)-1].Server.Name
			return &serversOutput{out}, nil
		case ok:
			entries = append(entries, e)
		}
	}
	return &serversOutput{serverList(entries)}, nil
}

func (r *registry) find(ctx context.Context, name, version string) (mcp.ServerEntry, error) {
	all, err := r.servers(ctx)
	if err != nil {
		return mcp.ServerEntry{}, err
	}
	i, there := slices.BinarySearchFunc(all, name, func(s registryServer, name string) int { return cmp.Compare(s.name, name) })
	if there && (version == latestVersion || version == all[i].version()) {
		if e, ok, err := r.entry(ctx, all[i]); ok || err != nil {
			return e, err
		}
	}
	return mcp.ServerEntry{}, huma.Error404NotFound("there is no such server, or it does not have this version")
}

// registryServer is a source that is an MCP server others can reach.
type registryServer struct {
	sources.Source
	name string // in the registry
}

// changed returns when the tools of the server last changed.
func (s registryServer) changed() time.Time { return cmp.Or(s.LastChange, s.LastSuccess).UTC() }

// version is made of the time of the last change: the server's own version is unknown here.
func (s registryServer) version() string { return fmt.Sprintf("1.0.%d", s.changed().Unix()) }

// servers returns the servers of the caller's tenant that have an address and were reached once,
// by name. If two sources have the same server, the first source counts.
func (r *registry) servers(ctx context.Context) ([]registryServer, error) {
	all, err := r.Sources(ctx, identity.From(ctx).Tenant)
	if err != nil {
		return nil, httpserver.Unavailable("the sources cannot be read", 5)
	}
	kinds := map[string]string{} // of sources, by name
	var out []registryServer
	for _, s := range all {
		kinds[s.Name] = s.Kind
		if s.Kind == source.MCP && s.URL != "" && !s.LastSuccess.IsZero() && s.State != sources.Paused && s.State != sources.Removing {
			out = append(out, registryServer{s, registryName(s, kinds[s.Parent])})
		}
	}
	slices.SortStableFunc(out, func(a, b registryServer) int { return cmp.Compare(a.name, b.name) })
	return slices.CompactFunc(out, func(a, b registryServer) bool { return a.name == b.name }), nil
}

// nameForm is the form of the name of a server.
var nameForm = regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)

// maxText bounds title and description, in letters.
const maxText = 100

// registryName returns the name of the server in the registry that listed it. Otherwise the name is
// NAMESPACE/SOURCE, where the namespace is the reversed host name.
func registryName(s sources.Source, parent string) string {
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
	return "localhost/" + s.Name // the host has letters that the form does not allow
}

// entry returns the entry of a server, false if its provider is in quarantine or hidden from the
// caller.
func (r *registry) entry(ctx context.Context, s registryServer) (mcp.ServerEntry, bool, error) {
	about, visible, err := r.Providers.Provider(ctx, s.Root(s.Name), s.Name)
	if err != nil || !visible || about.Quarantined {
		return mcp.ServerEntry{}, false, err
	}
	at := mcp.ServerRemote{Type: mcp.Streamable, URL: redact.Text(s.URL)}
	if strings.HasSuffix(strings.TrimRight(s.URL, "/"), "/sse") {
		at.Type = mcp.SSE
	}
	if s.Auth != nil {
		wanted := mcp.RemoteInput{Description: "A credential of the server.", Required: true, Secret: true}
		at.Headers = []mcp.RemoteHeader{{Name: "Authorization", RemoteInput: wanted}}
	}
	return mcp.ServerEntry{
		Server: mcp.ServerDetail{
			Schema: serverSchema, Name: s.name, Version: s.version(), Remotes: []mcp.ServerRemote{at},
			Title: cutText(about.Name), Description: cutText(cmp.Or(about.Description, "The MCP server "+s.name+".")),
		},
		Meta: mcp.EntryMeta{Official: mcp.EntryStatus{
			Status: mcp.StatusActive, StatusChangedAt: s.changed(), PublishedAt: s.changed(), UpdatedAt: s.changed(), IsLatest: true,
		}},
	}, true, nil
}

// cutText returns a text of at most maxText letters.
func cutText(s string) string {
	if utf8.RuneCountInString(s) <= maxText {
		return s
	}
	return string([]rune(s)[:maxText-1]) + "…"
}
