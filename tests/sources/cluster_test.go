package sources

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// remotes defines a resource of kagent, whose objects name the address of an MCP server.
const remotes = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: remotemcpservers.kagent.dev}
spec:
  group: kagent.dev
  scope: Namespaced
  names: {plural: remotemcpservers, singular: remotemcpserver, kind: RemoteMCPServer}
  versions:
  - {name: v1alpha2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// apply makes or changes an object. A resource that was defined just now is waited for.
func apply(t *testing.T, c *servers.Cluster, path, text string) {
	t.Helper()
	process.Await(t, path, func() (bool, error) {
		_, err := c.Call(t.Context(), http.MethodPatch, path+"?fieldManager=test&force=true", []byte(text))
		return err == nil, nil
	})
}

// remote makes an object that names an address.
func remote(t *testing.T, c *servers.Cluster, name, address string) {
	t.Helper()
	apply(t, c, "/apis/kagent.dev/v1alpha2/namespaces/default/remotemcpservers/"+name,
		fmt.Sprintf("{apiVersion: kagent.dev/v1alpha2, kind: RemoteMCPServer, metadata: {name: %s}, spec: {url: %q}}", name, address))
}

// Tools come and go with the objects of a cluster.
func TestAClusterIsFollowed(t *testing.T) {
	c := servertest.Cluster(t)
	shop := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	shop.AddTool(&mcp.Tool{Name: "rent_boat", Description: "Rents a boat for a day.", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return shop }, nil))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })

	d := process.Up(t, process.Build(t), "TOOLSTREAM_CRAWL_KUBERNETES_KUBECONFIG="+c.Kubeconfig)
	x := index{d.Front()}
	x.add(t, "cluster", source.Spec{Kind: source.Kubernetes, AllowPrivate: true})
	x.comes(t, "cluster", sources.Live, 0)

	const one, two = "cluster/default/remotemcpservers.kagent.dev/one/rent_boat", "cluster/default/remotemcpservers.kagent.dev/two/rent_boat"
	apply(t, c, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/remotemcpservers.kagent.dev", remotes)
	remote(t, c, "one", server.URL)
	remote(t, c, "two", "http://127.0.0.1:1")
	x.has(t, one, true)
	remote(t, c, "two", server.URL)
	x.has(t, two, true)

	d.Crash(t)
	x = index{d.Front()}
	check.Value(c.Call(t.Context(), http.MethodDelete, "/apis/kagent.dev/v1alpha2/namespaces/default/remotemcpservers/two", nil))(t)
	x.has(t, two, false)
	x.has(t, one, true)
	if s := x.comes(t, "cluster", sources.Live, 0); s.Found != 1 {
		t.Errorf("%d sources are found", s.Found)
	}
}
