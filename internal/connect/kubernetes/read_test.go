package kubernetes

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/toolstream/toolstream/internal/connect/source"
)

// object reads an object of the namespace shop.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	var fields map[string]any
	err := yaml.Unmarshal([]byte(text), &fields)
	if err == nil {
		raw, _ := json.Marshal(fields) // what was YAML always encodes
		err = o.UnmarshalJSON(raw)
	}
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	o.SetNamespace("shop")
	return o
}

// kindNamed returns the kind of a resource, such as services.
func kindNamed(t *testing.T, name string) kind {
	t.Helper()
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.String() == name })
	if i < 0 {
		t.Fatalf("there is no kind %s", name)
	}
	return kinds[i]
}

// says lists what an object stands for, a line for each server: the kind of the source and
// its address, or why it cannot be looked at.
func says(e entry, targets map[reference]reference) string {
	var out []string
	for _, s := range e.servers {
		f := s.found(targets)
		line := f.Spec.Kind + " " + f.Spec.URL
		if f.Problem != "" {
			line = "! " + f.Problem
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func TestObjectsAreRead(t *testing.T) {
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {%}}\n"
	of := func(annotations string) string { return strings.Replace(service, "%", annotations, 1) }
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a, annotations: {%}}\nspec: {hostnames: [a.example], rules: [{matches: [{path: {value: /tools}}], backendRefs: [{name: b, port: 80}]}]}\n"
	for _, c := range []struct{ name, kind, object, want string }{
		{"a plain Service is none", "services", of("") + "spec: {ports: [{port: 80}]}", ""},
		{"its first port", "services", of("toolstream.dev/source: mcp") + "spec: {ports: [{port: 8080}, {port: 9090}]}", "mcp http://a.shop.svc:8080/mcp"},
		{"a port by name, and a path", "services", of("toolstream.dev/source: openapi, toolstream.dev/port: api, toolstream.dev/path: /v1/spec.json") + "spec: {ports: [{port: 1}, {name: api, port: 80}]}", "openapi http://a.shop.svc/v1/spec.json"},
		{"a port that is not there", "services", of(`toolstream.dev/source: mcp, toolstream.dev/port: "7"`) + "spec: {ports: [{port: 1}]}", "! it has no such port"},
		{"a port of TLS", "services", of("toolstream.dev/source: openapi") + "spec: {ports: [{name: https, port: 8000}]}", "openapi https://a.shop.svc:8000/openapi.json"},
		{"another kind of source", "services", of("toolstream.dev/source: folder") + "spec: {ports: [{port: 1}]}", "! toolstream.dev/source is folder: it must be mcp or openapi"},
		{"a name outside of the cluster", "services", of("toolstream.dev/source: mcp") + "spec: {externalName: mcp.example, ports: [{port: 443}]}", "mcp https://mcp.example/mcp"},
		{"a port's protocol", "services", of("kgateway.dev/mcp-path: /x") + "spec: {ports: [{port: 1}, {port: 2, appProtocol: kgateway.dev/mcp}]}", "mcp http://a.shop.svc:2/x"},
		{"another port's protocol", "services", of("") + "spec: {ports: [{port: 2, appProtocol: agentgateway.dev/mcp}]}", "mcp http://a.shop.svc:2/mcp"},
		{"Teleport", "services", of("teleport.dev/protocol: mcp+sse+https") + "spec: {ports: [{port: 2}]}", "mcp https://a.shop.svc:2/sse"},
		{"ToolHive's annotations", "services", of(`toolhive.stacklok.com/registry-export: "true", toolhive.stacklok.com/registry-url: "https://x.example/mcp"`) + "spec: {ports: [{port: 2}]}", "mcp https://x.example/mcp"},
		{
			"an Ingress", "ingresses.networking.k8s.io",
			"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a, annotations: {toolstream.dev/source: openapi}}\nspec: {tls: [{hosts: [a.example]}], rules: [{host: a.example, http: {paths: [{path: /pets}]}}]}",
			"openapi https://a.example/pets/openapi.json",
		},
		{
			"an Ingress of any host", "ingresses.networking.k8s.io",
			"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a, annotations: {toolstream.dev/source: mcp}}\nspec: {rules: [{host: \"*.example\"}]}",
			"! it names no host",
		},
		{"a route", "httproutes.gateway.networking.k8s.io", strings.Replace(route, "%", "toolstream.dev/source: mcp", 1), "mcp https://a.example/tools"},
		{"a route without TLS", "httproutes.gateway.networking.k8s.io", strings.Replace(route, "%", `toolstream.dev/source: mcp, toolstream.dev/port: "80"`, 1), "mcp http://a.example/tools"},
		{
			"ToolHive's server", "mcpservers.toolhive.stacklok.dev",
			"apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPServer\nmetadata: {name: a}\nspec: {image: x}\nstatus: {url: \"http://mcp-a-proxy.shop.svc.cluster.local:8080/mcp\"}",
			"mcp http://mcp-a-proxy.shop.svc.cluster.local:8080/mcp",
		},
		{"one that does not run yet", "mcpservers.toolhive.stacklok.dev", "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPServer\nmetadata: {name: a}\nspec: {image: x}", "! it names no address yet"},
		{
			"an entry with headers", "mcpserverentries.toolhive.stacklok.dev",
			"apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPServerEntry\nmetadata: {name: a}\nspec: {remoteUrl: \"https://x.example/mcp\", headerForward: {addHeadersFromSecret: [{headerName: K}]}}",
			"! it wants headers or certificates that only the cluster has: add it as a source of its own, with a credential",
		},
		{
			"kagent's remote server", "remotemcpservers.kagent.dev",
			"apiVersion: kagent.dev/v1alpha2\nkind: RemoteMCPServer\nmetadata: {name: a}\nspec: {protocol: SSE, url: \"http://x.shop:80/sse\", headersFrom: []}",
			"mcp http://x.shop:80/sse",
		},
		{
			"kagent's server", "mcpservers.kagent.dev",
			"apiVersion: kagent.dev/v1alpha1\nkind: MCPServer\nmetadata: {name: a}\nspec: {deployment: {port: 3001}, transportType: stdio}",
			"mcp http://a.shop.svc:3001/mcp",
		},
		{
			"kagent's older kind", "toolservers.kagent.dev",
			"apiVersion: kagent.dev/v1alpha1\nkind: ToolServer\nmetadata: {name: a}\nspec: {config: {sse: {url: \"http://x.shop/sse\"}}}",
			"mcp http://x.shop/sse",
		},
		{
			"Envoy's route", "mcproutes.aigateway.envoyproxy.io",
			"apiVersion: aigateway.envoyproxy.io/v1beta1\nkind: MCPRoute\nmetadata: {name: a}\nspec: {backendRefs: [{name: one, port: 80}, {name: two, kind: Backend, path: /x}, {name: three, kind: Backend, securityPolicy: {apiKey: {}}}, {name: four, kind: Backend}]}",
			"mcp http://one.shop.svc/mcp\nmcp https://two.example/x\n! it wants headers or certificates that only the cluster has: add it as a source of its own, with a credential\n! there is no Backend shop/four that leads to a host",
		},
		{
			"agentgateway's backend", "agentgatewaybackends.agentgateway.dev",
			"apiVersion: agentgateway.dev/v1alpha1\nkind: AgentgatewayBackend\nmetadata: {name: a}\nspec: {mcp: {targets: [{name: one, static: {host: x.shop.svc, port: 3000, protocol: SSE}}, {name: two, selector: {}}]}}",
			"mcp http://x.shop.svc:3000/sse",
		},
		{"agentgateway's backend of another kind", "agentgatewaybackends.agentgateway.dev", "apiVersion: agentgateway.dev/v1alpha1\nkind: AgentgatewayBackend\nmetadata: {name: a}\nspec: {ai: {}}", ""},
		{
			"Kuadrant's registration", "mcpserverregistrations.mcp.kuadrant.io",
			"apiVersion: mcp.kuadrant.io/v1alpha1\nkind: MCPServerRegistration\nmetadata: {name: a}\nspec: {toolPrefix: a_, targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: route}}",
			"mcp http://served.shop.svc:9090/mcp",
		},
		{
			"the lifecycle operator's server", "mcpservers.mcp.x-k8s.io",
			"apiVersion: mcp.x-k8s.io/v1alpha1\nkind: MCPServer\nmetadata: {name: a}\nspec: {config: {port: 8081, path: /m}}",
			"mcp http://a.shop.svc:8081/m",
		},
		{
			"one with TLS", "mcpservers.mcp.x-k8s.io",
			"apiVersion: mcp.x-k8s.io/v1alpha1\nkind: MCPServer\nmetadata: {name: a}\nspec: {config: {port: 8081}, transport: {tls: {enabled: true}}}",
			"mcp https://a.shop.svc:8081/mcp",
		},
		{
			"one without", "mcpservers.mcp.x-k8s.io",
			"apiVersion: mcp.x-k8s.io/v1alpha1\nkind: MCPServer\nmetadata: {name: a}\nspec: {config: {port: 8081}, transport: {tls: {enabled: false}}}",
			"mcp http://a.shop.svc:8081/mcp",
		},
		{
			"one whose address is known", "mcpservers.mcp.x-k8s.io",
			"apiVersion: mcp.x-k8s.io/v1alpha1\nkind: MCPServer\nmetadata: {name: a}\nspec: {config: {port: 8081}}\nstatus: {address: {url: \"http://a.shop.svc.cluster.local:8081/mcp\"}}",
			"mcp http://a.shop.svc.cluster.local:8081/mcp",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			targets := map[reference]reference{
				{kind: "HTTPRoute", namespace: "shop", name: "route"}: {kind: "Service", namespace: "shop", name: "served", port: "9090"},
				{kind: "Backend", namespace: "shop", name: "two"}:     {kind: "Hostname", name: "two.example", port: "443"},
			}
			if got := says(kindNamed(t, c.kind).read(object(t, c.object)), targets); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestKindsHaveNames(t *testing.T) {
	if len(kinds) != len(Kinds()) || ValidateKinds(Kinds()) != nil {
		t.Errorf("the kinds are %d, their names %q", len(kinds), Kinds())
	}
	if err := ValidateKinds([]string{"pods"}); err == nil {
		t.Error("pods are taken for a kind")
	}
}

func TestAnObjectSaysWhoItIs(t *testing.T) {
	e := kindNamed(t, "remotemcpservers.kagent.dev").read(object(t,
		"apiVersion: kagent.dev/v1alpha3\nkind: RemoteMCPServer\nmetadata: {name: a, annotations: {toolhive.stacklok.dev/registry-title: The shop}}\nspec: {url: \"http://x/\", description: Sells things.}"))
	f := e.servers[0].found(nil)
	if f.Name != "shop/remotemcpservers.kagent.dev/a" || f.Spec.Kind != source.MCP {
		t.Errorf("it is %+v", f)
	}
	var owner struct{ Name, Description string }
	if err := json.Unmarshal(f.Owner, &owner); err != nil || owner.Name != "The shop" || owner.Description != "Sells things." {
		t.Errorf("it says %s: %v", f.Owner, err)
	}
}

// FuzzRead holds that no object, however odd, ends the process or names an address that is
// none.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"a","annotations":{"toolstream.dev/source":"mcp"}},"spec":{"ports":[{"port":1}],"rules":[{"host":"h"}],"hostnames":["h"],"backendRefs":[{}],"url":"x","mcp":{"targets":[{"static":{"host":1}}]}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var fields map[string]any
		if json.Unmarshal(raw, &fields) != nil {
			return
		}
		for _, k := range kinds {
			for _, s := range k.read(&unstructured.Unstructured{Object: fields}).servers {
				if found := s.found(nil); found.Problem == "" && found.Spec.Validate() != nil {
					t.Errorf("%s: %+v", k, found)
				}
			}
		}
	})
}
