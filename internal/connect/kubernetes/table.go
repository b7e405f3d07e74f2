package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind says where the objects of one resource say which servers they stand for. A field is
// a path in the object, with dots; a number in it is a place in a list. Of several fields
// the first that is set counts.
type kind struct {
	schema.GroupResource

	annotated bool   // only objects are servers whose annotations say so, or whose port does
	each      string // list of which each item is a server, called by its name; fields are then those of the item

	url          []string // the address
	ref          string   // else: what serves it, by its name, kind, namespace and port; ".": the item
	host         string   // else: its host; empty: the Service that has the object's name
	port, path   []string
	ports        string   // the ports of a Service, one of which is meant
	standardPort int      // where no port is given; 0: that of the scheme
	secure       []string // it is reached with TLS if one is set; else as the port says

	wants       []string // it wants headers or certificates of its own if one is set
	description []string

	// Where other objects refer to one of this kind, by the name of the kind: the reference,
	// or the host and the port, that they mean.
	targetKind string
	target     []string
}

const (
	gatewayGroup = "gateway.networking.k8s.io"
	envoyGroup   = "gateway.envoyproxy.io"
	toolhive     = "toolhive.stacklok.dev"
	kagent       = "kagent.dev"
)

// kinds are the resources that are read.
var kinds = []kind{
	{GroupResource: resource("services", ""), annotated: true, ports: "spec.ports"},
	{
		GroupResource: resource("ingresses", "networking.k8s.io"), annotated: true,
		host: "spec.rules.0.host", path: []string{"spec.rules.0.http.paths.0.path"}, secure: []string{"spec.tls"},
	},
	{
		GroupResource: resource("httproutes", gatewayGroup), annotated: true, standardPort: 443,
		host: "spec.hostnames.0", path: []string{"spec.rules.0.matches.0.path.value"}, targetKind: "HTTPRoute", target: []string{"spec.rules.0.backendRefs.0"},
	},
	{GroupResource: resource("mcpservers", toolhive), url: []string{"status.url"}},
	{GroupResource: resource("mcpremoteproxies", toolhive), url: []string{"status.url"}},
	{GroupResource: resource("virtualmcpservers", toolhive), url: []string{"status.url"}},
	{
		GroupResource: resource("mcpserverentries", toolhive), url: []string{"spec.remoteUrl", "spec.remoteURL"},
		wants: []string{"spec.headerForward", "spec.externalAuthConfigRef", "spec.caBundleRef"},
	},
	{
		GroupResource: resource("remotemcpservers", kagent), url: []string{"spec.url"},
		wants: []string{"spec.headersFrom"}, description: []string{"spec.description"},
	},
	{
		GroupResource: resource("toolservers", kagent), url: []string{"spec.config.streamableHttp.url", "spec.config.sse.url"},
		wants:       []string{"spec.config.streamableHttp.headersFrom", "spec.config.streamableHttp.headers", "spec.config.sse.headersFrom", "spec.config.sse.headers"},
		description: []string{"spec.description"},
	},
	{
		GroupResource: resource("mcpservers", kagent), standardPort: 3000,
		port: []string{"spec.deployment.port"}, path: []string{"spec.httpTransport.path"},
	},
	{
		GroupResource: resource("mcpserverregistrations", "mcp.kuadrant.io"), ref: "spec.targetRef",
		path: []string{"spec.path"}, wants: []string{"spec.credentialRef"},
	},
	{
		GroupResource: resource("mcproutes", "aigateway.envoyproxy.io"), each: "spec.backendRefs", ref: ".",
		path: []string{"path"}, wants: []string{"securityPolicy"},
	},
	{GroupResource: resource("backends", envoyGroup), annotated: true, targetKind: "Backend", target: []string{"spec.endpoints.0.fqdn.hostname", "spec.endpoints.0.fqdn.port"}},
	{
		GroupResource: resource("agentgatewaybackends", "agentgateway.dev"), each: "spec.mcp.targets",
		host: "static.host", port: []string{"static.port"}, path: []string{"static.path"}, secure: []string{"static.policies.tls"}, wants: []string{"static.policies.auth"},
	},
	{
		GroupResource: resource("mcpservers", "mcp.x-k8s.io"), url: []string{"status.address.url"},
		port: []string{"spec.config.port", "spec.port"}, path: []string{"spec.config.path", "spec.path"}, secure: []string{"spec.transport.tls.enabled"},
	},
}

func resource(name, group string) schema.GroupResource {
	return schema.GroupResource{Group: group, Resource: name}
}

// Kinds are the names of the resources that can be read, such as services and
// httproutes.gateway.networking.k8s.io.
func Kinds() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.String())
	}
	return out
}

// ValidateKinds checks that names are of Kinds.
func ValidateKinds(names []string) error {
	for _, name := range names {
		if all := Kinds(); !slices.Contains(all, name) {
			return fmt.Errorf("%q is none of %s", name, strings.Join(all, ", "))
		}
	}
	return nil
}

// chosen returns the kinds of these names, all for none.
func chosen(names []string) []kind {
	if len(names) == 0 {
		return kinds
	}
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !slices.Contains(names, k.String()) })
}

// Annotations that say what an object stands for.
const (
	ownSource = "toolstream.dev/source" // mcp or openapi
	ownPath   = "toolstream.dev/path"
	ownPort   = "toolstream.dev/port" // number, or of a Service the name

	teleportProtocol = "teleport.dev/protocol" // mcp+http, mcp+sse+https and so on
)

var (
	pathAnnotations = []string{ownPath, "kgateway.dev/mcp-path", "agentgateway.dev/mcp-path", "teleport.dev/path"}
	portAnnotations = []string{ownPort, "teleport.dev/port"}

	// What a port of a Service says of itself.
	mcpProtocols = []string{"kgateway.dev/mcp", "agentgateway.dev/mcp", "kgateway.dev/mcp-sse", "agentgateway.dev/mcp-sse"}
)

// exports are the domains of ToolHive's annotations: DOMAIN/registry-export and others.
var exports = []string{"toolhive.stacklok.dev/registry-", "toolhive.stacklok.com/registry-"}
