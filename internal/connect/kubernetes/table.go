package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind defines which fields of the objects of a resource describe servers. A field is a path in
// the object, with dots; a number in it is an index of a list. Of several fields the first that is
// set counts.
type kind struct {
	schema.GroupResource

	annotated bool   // only objects whose annotations or port declare a server count
	each      string // list of servers, each with a name; the other fields are then within the item

	url          []string // the address
	ref          string   // otherwise the object that serves it, by its name, kind, namespace and port; ".": the item
	host         string   // otherwise its host; empty: the Service with the object's name
	port, path   []string
	ports        string   // the ports of a Service, to choose from
	standardPort int      // without a given port; 0: the port of the scheme
	secure       []string // it is reached with TLS if one is set; otherwise the port decides

	wants       []string // it wants headers or certificates of its own if one is set
	description []string

	// For references of other objects to this kind, by the name of the kind: the reference, or the
	// host and port, that they resolve to.
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
			return fmt.Errorf("%q is not one of %s", name, strings.Join(all, ", "))
		}
	}
	return nil
}

// Annotations that describe the server of an object.
const (
	ownSource = "toolstream.dev/source" // mcp or openapi
	ownPath   = "toolstream.dev/path"
	ownPort   = "toolstream.dev/port" // number, or of a Service the name

	teleportProtocol = "teleport.dev/protocol" // mcp+http, mcp+sse+https and so on
)

var (
	pathAnnotations = []string{ownPath, "kgateway.dev/mcp-path", "agentgateway.dev/mcp-path", "teleport.dev/path"}
	portAnnotations = []string{ownPort, "teleport.dev/port"}

	// Protocols that a port of a Service may declare.
	mcpProtocols = []string{"kgateway.dev/mcp", "agentgateway.dev/mcp", "kgateway.dev/mcp-sse", "agentgateway.dev/mcp-sse"}
)

// exports are the domains of ToolHive's annotations: DOMAIN/registry-export and others.
var exports = []string{"toolhive.stacklok.dev/registry-", "toolhive.stacklok.com/registry-"}
