package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
)

// definition defines a resource, whose objects may have any fields.
func definition(group, plural, kind string, versions ...string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: %s.%s\n", plural, group)
	if strings.HasSuffix(group, ".k8s.io") {
		fmt.Fprintln(&out, "  annotations: {api-approved.kubernetes.io: unapproved}")
	}
	fmt.Fprintf(&out, "spec:\n  group: %s\n  scope: Namespaced\n  names: {plural: %s, singular: %s, kind: %s}\n  versions:\n", group, plural, strings.ToLower(kind), kind)
	for i, version := range versions {
		fmt.Fprintf(&out, "  - {name: %s, served: true, storage: %v, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n", version, i == 0)
	}
	return out.String()
}

// definitions are those of the resources of others, the kinds by their resources.
func definitions() map[string]string {
	return map[string]string{
		"httproutes.gateway.networking.k8s.io":    definition(gatewayGroup, "httproutes", "HTTPRoute", "v1", "v1beta1"),
		"mcpservers.toolhive.stacklok.dev":        definition(toolhive, "mcpservers", "MCPServer", "v1alpha1", "v1beta1"),
		"mcpremoteproxies.toolhive.stacklok.dev":  definition(toolhive, "mcpremoteproxies", "MCPRemoteProxy", "v1beta1"),
		"virtualmcpservers.toolhive.stacklok.dev": definition(toolhive, "virtualmcpservers", "VirtualMCPServer", "v1beta1"),
		"mcpserverentries.toolhive.stacklok.dev":  definition(toolhive, "mcpserverentries", "MCPServerEntry", "v1beta1"),
		"remotemcpservers.kagent.dev":             definition(kagent, "remotemcpservers", "RemoteMCPServer", "v1alpha2", "v1alpha3"),
		"toolservers.kagent.dev":                  definition(kagent, "toolservers", "ToolServer", "v1alpha1"),
		"mcpservers.kagent.dev":                   definition(kagent, "mcpservers", "MCPServer", "v1alpha1"),
		"mcpserverregistrations.mcp.kuadrant.io":  definition("mcp.kuadrant.io", "mcpserverregistrations", "MCPServerRegistration", "v1alpha1"),
		"mcproutes.aigateway.envoyproxy.io":       definition("aigateway.envoyproxy.io", "mcproutes", "MCPRoute", "v1alpha1", "v1beta1"),
		"backends.gateway.envoyproxy.io":          definition(envoyGroup, "backends", "Backend", "v1alpha1"),
		"agentgatewaybackends.agentgateway.dev":   definition("agentgateway.dev", "agentgatewaybackends", "AgentgatewayBackend", "v1alpha1"),
		"mcpservers.mcp.x-k8s.io":                 definition("mcp.x-k8s.io", "mcpservers", "MCPServer", "v1alpha1"),
	}
}

// applied are objects of each kind: the path at which they are made, and the address that
// they stand for, for some as an item.
var applied = []struct{ kind, path, text, want, item string }{
	{"services", "/api/v1/namespaces/shop/services", "apiVersion: v1\nkind: Service\nmetadata: {name: one, annotations: {toolstream.dev/source: mcp}}\nspec: {ports: [{port: 8080}]}", "http://one.shop.svc:8080/mcp", ""},
	{"ingresses.networking.k8s.io", "/apis/networking.k8s.io/v1/namespaces/shop/ingresses", "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: one, annotations: {toolstream.dev/source: openapi}}\nspec: {rules: [{host: one.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: one, port: {number: 8080}}}}]}}]}", "http://one.example/openapi.json", ""},
	{"httproutes.gateway.networking.k8s.io", "/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes", "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: one, annotations: {toolstream.dev/source: mcp}}\nspec: {hostnames: [one.example], rules: [{backendRefs: [{name: behind, port: 9090}]}]}", "https://one.example/mcp", ""},
	{"mcpservers.toolhive.stacklok.dev", "/apis/toolhive.stacklok.dev/v1beta1/namespaces/shop/mcpservers", "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPServer\nmetadata: {name: one}\nstatus: {url: \"http://one-proxy.shop.svc:8080/mcp\"}", "http://one-proxy.shop.svc:8080/mcp", ""},
	{"mcpremoteproxies.toolhive.stacklok.dev", "/apis/toolhive.stacklok.dev/v1beta1/namespaces/shop/mcpremoteproxies", "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPRemoteProxy\nmetadata: {name: one}\nspec: {remoteUrl: \"https://far.example\"}\nstatus: {url: \"http://proxy.shop.svc:8080/mcp\"}", "http://proxy.shop.svc:8080/mcp", ""},
	{"virtualmcpservers.toolhive.stacklok.dev", "/apis/toolhive.stacklok.dev/v1beta1/namespaces/shop/virtualmcpservers", "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPServer\nmetadata: {name: one}\nstatus: {url: \"http://vmcp.shop.svc:4483/mcp\"}", "http://vmcp.shop.svc:4483/mcp", ""},
	{"mcpserverentries.toolhive.stacklok.dev", "/apis/toolhive.stacklok.dev/v1beta1/namespaces/shop/mcpserverentries", "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPServerEntry\nmetadata: {name: one}\nspec: {remoteUrl: \"https://entry.example/mcp\"}", "https://entry.example/mcp", ""},
	{"remotemcpservers.kagent.dev", "/apis/kagent.dev/v1alpha2/namespaces/shop/remotemcpservers", "apiVersion: kagent.dev/v1alpha2\nkind: RemoteMCPServer\nmetadata: {name: one}\nspec: {url: \"http://remote.example/mcp\", description: Sells things.}", "http://remote.example/mcp", ""},
	{"toolservers.kagent.dev", "/apis/kagent.dev/v1alpha1/namespaces/shop/toolservers", "apiVersion: kagent.dev/v1alpha1\nkind: ToolServer\nmetadata: {name: one}\nspec: {config: {streamableHttp: {url: \"http://tool.example/mcp\"}}}", "http://tool.example/mcp", ""},
	{"mcpservers.kagent.dev", "/apis/kagent.dev/v1alpha1/namespaces/shop/mcpservers", "apiVersion: kagent.dev/v1alpha1\nkind: MCPServer\nmetadata: {name: one}\nspec: {deployment: {port: 3001}}", "http://one.shop.svc:3001/mcp", ""},
	{"mcpserverregistrations.mcp.kuadrant.io", "/apis/mcp.kuadrant.io/v1alpha1/namespaces/shop/mcpserverregistrations", "apiVersion: mcp.kuadrant.io/v1alpha1\nkind: MCPServerRegistration\nmetadata: {name: one}\nspec: {targetRef: {kind: HTTPRoute, name: one}}", "http://behind.shop.svc:9090/mcp", ""},
	{"backends.gateway.envoyproxy.io", "/apis/gateway.envoyproxy.io/v1alpha1/namespaces/shop/backends", "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: Backend\nmetadata: {name: far}\nspec: {endpoints: [{fqdn: {hostname: far.example, port: 443}}]}", "", ""},
	{"mcproutes.aigateway.envoyproxy.io", "/apis/aigateway.envoyproxy.io/v1beta1/namespaces/shop/mcproutes", "apiVersion: aigateway.envoyproxy.io/v1beta1\nkind: MCPRoute\nmetadata: {name: one}\nspec: {backendRefs: [{name: far, kind: Backend, group: gateway.envoyproxy.io}]}", "https://far.example/mcp", "/far"},
	{"agentgatewaybackends.agentgateway.dev", "/apis/agentgateway.dev/v1alpha1/namespaces/shop/agentgatewaybackends", "apiVersion: agentgateway.dev/v1alpha1\nkind: AgentgatewayBackend\nmetadata: {name: one}\nspec: {mcp: {targets: [{name: t, static: {host: agw.shop.svc, port: 3000}}]}}", "http://agw.shop.svc:3000/mcp", "/t"},
	{"mcpservers.mcp.x-k8s.io", "/apis/mcp.x-k8s.io/v1alpha1/namespaces/shop/mcpservers", "apiVersion: mcp.x-k8s.io/v1alpha1\nkind: MCPServer\nmetadata: {name: one}\nspec: {config: {port: 8081}}", "http://one.shop.svc:8081/mcp", ""},
}

const (
	definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	remotesName     = "remotemcpservers.kagent.dev"
)

// TestOnACluster follows a real API server through what happens to one.
func TestOnACluster(t *testing.T) {
	c := &cluster{Cluster: servertest.Cluster(t), t: t}
	c.apply("/api/v1/namespaces", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}")
	c.apply(applied[0].path, applied[0].text)
	w := c.connect(Connector{Kubeconfig: c.Kubeconfig, Version: "test"}, source.Place{})
	w.await(t, "shop/services/one")
	all := c.definesLater(w)
	c.losesTheAPI(w, all)
	c.losesAResource(w, all)
	c.keepsToItsRights()
}

type cluster struct {
	*servers.Cluster
	t *testing.T
}

func (c *cluster) connect(k Connector, at source.Place) *watcher {
	c.t.Helper()
	w := newWatcher()
	s := check.Value(k.Connect(c.t.Context(), at, w.changed))(c.t)
	c.t.Cleanup(s.Close)
	w.Session = s
	return w
}

// definesLater adds to the API what others define, and an object of each kind. It returns
// the names of all servers.
func (c *cluster) definesLater(w *watcher) []string {
	for _, text := range definitions() {
		c.apply(definitionsPath, text)
	}
	want := map[string]string{}
	for _, a := range applied {
		c.apply(a.path, a.text)
		if a.want != "" {
			want["shop/"+a.kind+"/one"+a.item] = a.want
		}
	}
	names := slices.Sorted(maps.Keys(want))
	w.await(c.t, names...)
	l := check.Value(w.List(c.t.Context(), true))(c.t)
	for _, f := range l.Found {
		if f.Problem != "" || f.Spec.URL != want[f.Name] {
			c.t.Errorf("%s is at %q, want %q: %s", f.Name, f.Spec.URL, want[f.Name], f.Problem)
		}
	}
	return names
}

// losesTheAPI kills the API server. While it is away a list is an error, and after it
// everything is there.
func (c *cluster) losesTheAPI(w *watcher, all []string) {
	before := w.changes.Load()
	c.APIServer().Kill()
	for w.changes.Load() == before {
		select {
		case <-w.told:
		case <-time.After(time.Minute):
			c.t.Fatal("nothing says that the API is away")
		}
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
	defer cancel()
	if l, err := w.List(ctx, true); err == nil {
		c.t.Errorf("without an API %d servers are listed", len(l.Found))
	}
	if w.Live() {
		c.t.Error("without an API it is live")
	}
	check.OK(c.t, c.APIServer().Restart(c.t.Context()))
	var first []string
	c.eventually(func() error {
		l, err := w.List(c.t.Context(), true)
		first = nil
		for _, f := range l.Found {
			first = append(first, f.Name)
		}
		return err
	})
	if !slices.Equal(first, all) {
		c.t.Errorf("the first list after it has %q, want %q", first, all)
	}
	c.apply(applied[0].path, strings.Replace(applied[0].text, "name: one", "name: two", 1))
	w.await(c.t, slices.Sorted(slices.Values(append([]string{"shop/services/two"}, all...)))...)
	c.call(http.MethodDelete, applied[0].path+"/two")
	w.await(c.t, all...)
}

// losesAResource takes a resource out of the API, and puts it there again.
func (c *cluster) losesAResource(w *watcher, all []string) {
	c.call(http.MethodDelete, definitionsPath+"/"+remotesName)
	c.eventually(func() error {
		if _, err := c.Call(c.t.Context(), http.MethodGet, definitionsPath+"/"+remotesName, nil); err == nil || !strings.Contains(err.Error(), "404") {
			return fmt.Errorf("%s is still there (%v)", remotesName, err)
		}
		return nil
	})
	w.await(c.t, slices.DeleteFunc(slices.Clone(all), func(name string) bool { return strings.Contains(name, remotesName) })...)
	c.apply(definitionsPath, definitions()[remotesName])
	for _, a := range applied {
		if a.kind == remotesName {
			c.apply(a.path, a.text)
		}
	}
	w.await(c.t, all...)
}

// keepsToItsRights reads as an account that may read Services of one namespace.
func (c *cluster) keepsToItsRights() {
	const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/"
	c.apply("/api/v1/namespaces/shop/serviceaccounts", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: reader}}")
	c.apply(roles+"roles", `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader}, rules: [{apiGroups: [""], resources: [services], verbs: [list, watch]}]}`)
	c.apply(roles+"rolebindings", "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: reader}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}, subjects: [{kind: ServiceAccount, name: reader, namespace: shop}]}")
	k := Connector{Kubeconfig: c.kubeconfigOf("shop", "reader"), Kinds: []string{"services"}}
	c.connect(k, source.Place{Namespaces: []string{"shop"}}).await(c.t, "shop/services/one")
	for _, where := range [][]string{nil, {"shop", "default"}} {
		if _, err := c.connect(k, source.Place{Namespaces: where}).List(c.t.Context(), true); !errors.Is(err, source.ErrRefused) {
			c.t.Errorf("in %q: %v", where, err)
		}
	}
	k.Kinds = nil
	if _, err := c.connect(k, source.Place{Namespaces: []string{"shop"}}).List(c.t.Context(), true); !errors.Is(err, source.ErrRefused) {
		c.t.Errorf("of all kinds: %v", err)
	}
}

// kubeconfigOf writes a kubeconfig of an account.
func (c *cluster) kubeconfigOf(namespace, account string) string {
	c.t.Helper()
	answer, err := c.Call(c.t.Context(), http.MethodPost, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+account+"/token",
		[]byte("{apiVersion: authentication.k8s.io/v1, kind: TokenRequest, spec: {}}"))
	var token struct{ Status struct{ Token string } }
	if err == nil {
		err = json.Unmarshal(answer, &token)
	}
	admins, readErr := os.ReadFile(c.Kubeconfig)
	var config map[string]any
	if err = errors.Join(err, readErr); err == nil {
		err = json.Unmarshal(admins, &config)
	}
	config["users"] = []any{map[string]any{"name": "c", "user": map[string]any{"token": token.Status.Token}}}
	text, _ := json.Marshal(config) // what was JSON always encodes
	file := filepath.Join(c.t.TempDir(), "kubeconfig")
	if err = errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		c.t.Fatal(err)
	}
	return file
}

// apply makes an object. A resource that was defined just now is waited for.
func (c *cluster) apply(path, text string) {
	c.t.Helper()
	name := object(c.t, text).GetName()
	c.eventually(func() error {
		_, err := c.Call(c.t.Context(), http.MethodPatch, path+"/"+name+"?fieldManager=test&force=true", []byte(text))
		return err
	})
}

// eventually waits until do is no error.
func (c *cluster) eventually(do func() error) {
	c.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for {
		err := do()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			c.t.Fatal(err)
		}
	}
}

func (c *cluster) call(method, path string) {
	c.t.Helper()
	check.Value(c.Call(c.t.Context(), method, path, nil))(c.t)
}
