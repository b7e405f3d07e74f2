// Package kubernetes finds MCP servers and OpenAPI documents by the objects of a cluster:
// annotated Services, Ingresses and HTTPRoutes, and the resources of the projects that run
// MCP servers there. It watches them, without types of theirs.
package kubernetes

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// Connector reaches the cluster of the operator's settings.
type Connector struct {
	Kubeconfig string   // path; empty: as kubectl finds it, and in a pod its service account
	Context    string   // of the kubeconfig; empty: its current one
	Kinds      []string // names of Kinds that are read; empty: all
	Version    string   // of this program, sent to the cluster
}

// requestTimeout bounds a request other than a watch.
const requestTimeout = 20 * time.Second

// rediscover is how long a resource that is added to the API may go unseen.
const rediscover = 10 * time.Second

// Connect implements source.Connector. It watches the namespaces of the place, or all without
// any.
func (c Connector) Connect(ctx context.Context, at source.Place, changed func()) (source.Session, error) {
	if _, err := labels.Parse(at.Selector); err != nil {
		return nil, fmt.Errorf("%w: selector: %w", source.ErrRefused, err)
	}
	config, err := c.config()
	if err != nil {
		return nil, fmt.Errorf("%w: no cluster (%w): set crawl.kubernetes.kubeconfig", source.ErrRefused, err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return c.open(ctx, at, changed, objects, &discovery{client: client, base: base}, client.CloseIdleConnections)
}

// config is how to reach the API server, and as whom.
func (c Connector) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if c.Kubeconfig != "" {
		rules.ExplicitPath = c.Kubeconfig
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context}).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.UserAgent = "toolstream/" + c.Version
	config.QPS = -1 // the server has limits of its own, by caller
	config.WarningHandler = rest.NoWarnings{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next} })
	return config, nil
}

// The bounds of an answer of the API. Anybody who may make objects in the cluster decides on their
// content.
var (
	ofAList  = jsondoc.Limits{Bytes: 128 << 20, Depth: maxDepth, Nodes: 2_000_000} // some 20,000 Services
	ofAnItem = jsondoc.Limits{Bytes: 4 << 20, Depth: maxDepth}                     // an event of a watch
)

// maxDepth bounds the levels of an object.
const maxDepth = 1000

// counting counts the answers of the API before the client library decodes them.
type counting struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	framing, limits := jsondoc.Whole, ofAList
	if req.URL.Query().Has("watch") {
		framing, limits = jsondoc.Messages, ofAnItem
	}
	resp.Body = jsondoc.Counted(resp.Body, framing, limits, nil)
	return resp, nil
}

// resources discovers the resources of the API.
type resources interface {
	// served returns which of the kinds the API has, in the version that it prefers.
	served(ctx context.Context, kinds []kind) ([]watched, error)
}

// open begins to watch. The session outlives ctx.
func (c Connector) open(ctx context.Context, at source.Place, changed func(), objects dynamic.Interface, has resources, hangUp func()) (*session, error) {
	// The session reports the library's log messages as the state of its watches.
	lasting, stop := context.WithCancel(logr.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	namespaces := at.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""} // all
	}
	chosen := kinds
	if len(c.Kinds) > 0 {
		chosen = slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !slices.Contains(c.Kinds, k.String()) })
	}
	s := &session{
		objects: objects, has: has, kinds: chosen, namespaces: slices.Compact(slices.Sorted(slices.Values(namespaces))), selector: at.Selector,
		limit: at.Limits.Tools, changed: changed, ctx: lasting, stop: stop, hangUp: hangUp, moved: make(chan struct{}), watches: map[place]*watch{},
	}
	if err := s.discover(ctx); err != nil {
		s.Close()
		return nil, err
	}
	s.running.Go(s.follow)
	return s, nil
}

// refusal translates an error status of the API.
func refusal(status int, err error) error {
	if status == http.StatusForbidden {
		return fmt.Errorf("%w: %w: grant it, or leave the kind out of crawl.kubernetes.kinds", source.ErrRefused, err)
	}
	return source.Refusal(status, 0, err)
}
