package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	services = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	remotes  = schema.GroupVersionResource{Group: kagent, Version: "v1alpha2", Resource: "remotemcpservers"}
	remotes3 = schema.GroupVersionResource{Group: kagent, Version: "v1alpha3", Resource: "remotemcpservers"}
)

const (
	plain  = "apiVersion: v1\nkind: Service\nmetadata: {name: NAME}\nspec: {ports: [{port: 80}]}"
	served = "apiVersion: v1\nkind: Service\nmetadata: {name: NAME, annotations: {toolstream.dev/source: mcp}}\nspec: {ports: [{port: 80}]}"
	remote = "apiVersion: kagent.dev/v1alpha2\nkind: RemoteMCPServer\nmetadata: {name: NAME}\nspec: {url: \"http://NAME.example/mcp\"}"
)

func named(text, name string) string { return strings.ReplaceAll(text, "NAME", name) }

// api is an API in memory.
type api struct {
	*fake.FakeDynamicClient
	has []schema.GroupVersionResource // what it serves
}

func newAPI(has ...schema.GroupVersionResource) *api {
	return &api{
		FakeDynamicClient: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			services: "ServiceList", remotes: "RemoteMCPServerList", remotes3: "RemoteMCPServerList",
		}),
		has: has,
	}
}

// served implements resources.
func (a *api) served(_ context.Context, kinds []kind) ([]watched, error) {
	var out []watched
	for _, k := range kinds {
		for _, r := range a.has {
			if r.GroupResource() == k.GroupResource {
				out = append(out, watched{k, r.Version})
			}
		}
	}
	return out, nil
}

func (a *api) create(t *testing.T, r schema.GroupVersionResource, text string) {
	t.Helper()
	check.Value(a.Resource(r).Namespace("shop").Create(t.Context(), object(t, text), metav1.CreateOptions{}))(t)
}

// watcher is a session whose changes are counted.
type watcher struct {
	source.Session
	changes atomic.Int64
	told    chan struct{} // holds one if a change was told since
}

func newWatcher() *watcher { return &watcher{told: make(chan struct{}, 1)} }

func (w *watcher) changed() {
	w.changes.Add(1)
	select {
	case w.told <- struct{}{}:
	default:
	}
}

func open(t *testing.T, a *api, at source.Place) *watcher {
	t.Helper()
	w := newWatcher()
	s := check.Value(Connector{}.open(t.Context(), at, w.changed, a, a, func() {}))(t)
	t.Cleanup(s.Close)
	w.Session = s
	return w
}

// names lists the servers.
func (w *watcher) names(t *testing.T) []string {
	t.Helper()
	l := check.Value(w.List(t.Context(), true))(t)
	out := []string{}
	for _, f := range l.Found {
		out = append(out, f.Name)
	}
	return out
}

// await waits until the servers are these, each time for a change that is told.
func (w *watcher) await(t *testing.T, want ...string) {
	t.Helper()
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	for {
		got := w.names(t)
		if slices.Equal(got, want) {
			return
		}
		select {
		case <-w.told:
		case <-timer.C:
			t.Fatalf("the servers are %q, want %q", got, want)
		}
	}
}

// rediscover looks at what the API has, as is done from time to time.
func (w *watcher) rediscover(t *testing.T) {
	t.Helper()
	check.OK(t, w.Session.(*session).discover(t.Context()))
}

func TestServersComeAndGo(t *testing.T) {
	a := newAPI(services)
	a.create(t, services, named(served, "a"))
	a.create(t, services, named(plain, "b"))
	w := open(t, a, source.Place{})
	w.await(t, "shop/services/a")
	if !w.Live() {
		t.Error("what is watched is not live")
	}
	before := w.changes.Load()
	a.create(t, services, named(served, "c"))
	w.await(t, "shop/services/a", "shop/services/c")
	if w.changes.Load() != before+1 {
		t.Errorf("a server that came was told %d times", w.changes.Load()-before)
	}
	check.Value(a.Resource(services).Namespace("shop").Update(t.Context(), object(t, named(plain, "a")), metav1.UpdateOptions{}))(t)
	w.await(t, "shop/services/c")
	check.OK(t, a.Resource(services).Namespace("shop").Delete(t.Context(), "c", metav1.DeleteOptions{}))
	w.await(t)
	if w.changes.Load() != before+3 {
		t.Errorf("three changes were told %d times", w.changes.Load()-before)
	}
}

func TestWhatIsNoServerSaysNothing(t *testing.T) {
	a := newAPI(services)
	w := open(t, a, source.Place{})
	w.await(t)
	if n := w.changes.Load(); n > 0 {
		t.Errorf("%d changes were told before the first list", n)
	}
	before := w.changes.Load()
	a.create(t, services, named(plain, "a"))
	a.create(t, services, named(served, "b"))
	w.await(t, "shop/services/b")
	if n := w.changes.Load() - before; n != 1 {
		t.Errorf("%d changes were told for one server", n)
	}
}

func TestAResourceComesLaterAndGoes(t *testing.T) {
	a := newAPI(services)
	a.create(t, remotes, named(remote, "a"))
	w := open(t, a, source.Place{})
	w.await(t)
	a.has = []schema.GroupVersionResource{services, remotes}
	w.rediscover(t)
	w.await(t, "shop/remotemcpservers.kagent.dev/a")

	// Another version is preferred now: nothing is there twice.
	a.create(t, remotes3, named(strings.ReplaceAll(remote, "v1alpha2", "v1alpha3"), "a"))
	a.has = []schema.GroupVersionResource{services, remotes3}
	w.rediscover(t)
	w.await(t, "shop/remotemcpservers.kagent.dev/a")

	before := w.changes.Load()
	a.has = []schema.GroupVersionResource{services}
	w.rediscover(t)
	w.await(t)
	if w.changes.Load() == before {
		t.Error("a resource that is gone was not told of")
	}
}

func TestTheKindsAndNamespacesThatAreChosen(t *testing.T) {
	a := newAPI(services, remotes)
	a.create(t, services, named(served, "a"))
	a.create(t, remotes, named(remote, "b"))
	changed := func() {}
	for _, c := range []struct {
		kinds, namespaces []string
		watches           int
	}{
		{nil, nil, 2}, {[]string{"services"}, nil, 1}, {nil, []string{"shop", "other", "shop"}, 4},
	} {
		s := check.Value(Connector{Kinds: c.kinds}.open(t.Context(), source.Place{Namespaces: c.namespaces}, changed, a, a, func() {}))(t)
		if len(s.watches) != c.watches {
			t.Errorf("%v: %d watches", c, len(s.watches))
		}
		s.Close()
	}
}

func TestWhatIsForbiddenIsSaid(t *testing.T) {
	a := newAPI(services, remotes)
	a.create(t, services, named(served, "a"))
	a.PrependReactor("list", "remotemcpservers", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(remotes.GroupResource(), "", errors.New("no role"))
	})
	w := open(t, a, source.Place{})
	_, err := w.List(t.Context(), true)
	if !errors.Is(err, source.ErrRefused) || !strings.Contains(err.Error(), "crawl.kubernetes.kinds") {
		t.Errorf("the error is %v", err)
	}
}

func TestAPartIsNeverListed(t *testing.T) {
	a := newAPI(services, remotes)
	a.create(t, services, named(served, "a"))
	a.PrependReactor("list", "remotemcpservers", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, fmt.Errorf("the connection is refused")
	})
	w := open(t, a, source.Place{})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	l, err := w.List(ctx, true)
	if err == nil || len(l.Found) > 0 || !strings.Contains(err.Error(), "the connection is refused") {
		t.Errorf("the list is %v, the error %v", l.Found, err)
	}
	if w.Live() {
		t.Error("it is live")
	}
}

func TestMoreServersThanMayBeAreAnError(t *testing.T) {
	a := newAPI(services)
	a.create(t, services, named(served, "a"))
	a.create(t, services, named(served, "b"))
	w := open(t, a, source.Place{Limits: source.Limits{Tools: 1}})
	if _, err := w.List(t.Context(), true); err == nil {
		t.Error("two are taken where one may be")
	}
}

func TestASelectorIsChecked(t *testing.T) {
	if _, err := (Connector{}).Connect(t.Context(), source.Place{Selector: "a in"}, func() {}); !errors.Is(err, source.ErrRefused) {
		t.Errorf("a selector that is none: %v", err)
	}
}

func TestWithoutAClusterTheErrorSaysWhatToSet(t *testing.T) {
	_, err := Connector{Kubeconfig: filepath.Join(t.TempDir(), "none")}.Connect(t.Context(), source.Place{}, func() {})
	if !errors.Is(err, source.ErrRefused) || !strings.Contains(err.Error(), "set crawl.kubernetes.kubeconfig") {
		t.Error(err)
	}
}
