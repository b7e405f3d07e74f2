package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/toolstream/toolstream/internal/connect/source"
)

// session watches the objects of a cluster.
type session struct {
	objects    dynamic.Interface
	has        resources
	kinds      []kind
	namespaces []string // "" is all
	selector   string   // of labels
	limit      int      // servers
	changed    func()
	ctx        context.Context
	stop       func()
	hangUp     func()
	running    sync.WaitGroup

	mu      sync.Mutex // guards the fields below, and the content of watches
	watches map[place]*watch
	listed  bool          // changes are reported only after that
	moved   chan struct{} // closed and replaced when the state of a watch changes
}

// place is the scope of a watch.
type place struct {
	resource  string // with its version
	namespace string
}

// watch holds the content of the objects of one kind in one namespace.
type watch struct {
	s       *session
	of      watched
	stop    context.CancelFunc
	entries map[string]entry // by namespace and name; nil before the first list
	open    bool             // the API sends changes
	failed  error            // of the last request; nil: it went well
}

// follow adapts the watches to resources that appear in the API or disappear from it.
func (s *session) follow() {
	tick := time.NewTicker(rediscover)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			_ = s.discover(s.ctx) // while the API is away, the watches report it
		}
	}
}

// discover starts watches of new resources of the API, and stops watches of removed ones.
func (s *session) discover(ctx context.Context) error {
	list, err := s.has.served(ctx, s.kinds)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := map[place]watched{}
	for _, k := range list {
		for _, namespace := range s.namespaces {
			wanted[place{k.resource().String(), namespace}] = k
		}
	}
	for at, w := range s.watches {
		if _, still := wanted[at]; !still {
			w.stop()
			delete(s.watches, at)
			s.tell()
		}
	}
	for at, k := range wanted {
		if s.watches[at] == nil {
			ctx, stop := context.WithCancel(s.ctx)
			w := &watch{s: s, of: k, stop: stop}
			s.watches[at] = w
			r := cache.NewReflectorWithOptions(w.lister(s.objects.Resource(k.resource()).Namespace(at.namespace)), &unstructured.Unstructured{}, w,
				cache.ReflectorOptions{Name: "toolstream", TypeDescription: k.resource().String()})
			s.running.Go(func() { r.RunWithContext(ctx) })
		}
	}
	return nil
}

// lister asks the API for the objects, and notes how that goes.
func (w *watch) lister(objects dynamic.ResourceInterface) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = w.s.selector
			ctx, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			list, err := objects.List(ctx, o)
			w.note(false, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			o.LabelSelector = w.s.selector
			events, err := objects.Watch(ctx, o)
			if err != nil {
				w.note(false, err)
				return nil, err
			}
			w.note(true, nil)
			return &stream{Interface: events, ended: func() { w.note(false, nil) }}, nil
		},
	}, w.s.objects)
}

// stream is a watch of the API, which the client library stops whenever it ends.
type stream struct {
	apiwatch.Interface
	ended func()
}

// Stop implements apiwatch.Interface.
func (s *stream) Stop() {
	s.ended()
	s.Interface.Stop()
}

// note records the result of a request. After a watch fails, changes go unnoticed.
func (w *watch) note(open bool, err error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	lost := err != nil && w.failed == nil && w.entries != nil
	w.open, w.failed = open, err
	w.s.move()
	if lost {
		w.s.tell()
	}
}

// tell reports that the list may have changed. The caller holds mu.
func (s *session) tell() {
	if s.listed {
		s.changed()
	}
}

// move wakes everyone that waits for a watch. The caller holds mu.
func (s *session) move() {
	close(s.moved)
	s.moved = make(chan struct{})
}

// Add implements cache.ReflectorStore.
func (w *watch) Add(obj any) error { return w.put(obj) }

// Update implements cache.ReflectorStore.
func (w *watch) Update(obj any) error { return w.put(obj) }

func (w *watch) put(obj any) error {
	o, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("%T is not an object", obj)
	}
	e := w.of.read(o)
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	before := w.entries[keyOf(o)]
	if e.empty() {
		delete(w.entries, keyOf(o))
	} else {
		w.entries[keyOf(o)] = e
	}
	if !reflect.DeepEqual(before, e) {
		w.s.tell()
	}
	return nil
}

// empty reports whether an object declares nothing, as most Services do.
func (e entry) empty() bool { return len(e.servers) == 0 && e.target == (reference{}) }

func keyOf(o *unstructured.Unstructured) string { return o.GetNamespace() + "/" + o.GetName() }

// Delete implements cache.ReflectorStore.
func (w *watch) Delete(obj any) error {
	o, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("%T is not an object", obj)
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if _, there := w.entries[keyOf(o)]; there {
		delete(w.entries, keyOf(o))
		w.s.tell()
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (w *watch) Replace(objects []any, _ string) error {
	entries := map[string]entry{}
	for _, obj := range objects {
		o, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("%T is not an object", obj)
		}
		if e := w.of.read(o); !e.empty() {
			entries[keyOf(o)] = e
		}
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if !reflect.DeepEqual(w.entries, entries) {
		w.s.tell()
	}
	w.entries = entries
	w.s.move()
	return nil
}

// Resync implements cache.ReflectorStore.
func (w *watch) Resync() error { return nil }

// Live implements source.Session.
func (s *session) Live() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.behind()
	return err == nil
}

// settleWithin is how long a list waits for watches that start, or restart.
const settleWithin = 15 * time.Second

// List implements source.Session. It is an error unless everything is watched.
func (s *session) List(ctx context.Context, _ bool) (source.Listing, error) {
	timer := time.NewTimer(settleWithin)
	defer timer.Stop()
	for {
		s.mu.Lock()
		final, err := s.behind()
		if err == nil {
			defer s.mu.Unlock()
			s.listed = true
			return s.listing()
		}
		moved := s.moved
		s.mu.Unlock()
		if final {
			return source.Listing{}, err
		}
		select {
		case <-moved:
		case <-timer.C:
			return source.Listing{}, err
		case <-ctx.Done():
			return source.Listing{}, errors.Join(context.Cause(ctx), err)
		}
	}
}

// behind returns an error if a resource is not watched, and whether waiting is useless. The
// caller holds mu.
func (s *session) behind() (final bool, err error) {
	for _, at := range slices.SortedFunc(maps.Keys(s.watches), func(a, b place) int { return strings.Compare(a.resource+a.namespace, b.resource+b.namespace) }) {
		w := s.watches[at]
		var status apierrors.APIStatus
		switch {
		case w.entries != nil && w.open: // up to date
		case errors.As(w.failed, &status) && (apierrors.IsForbidden(w.failed) || apierrors.IsUnauthorized(w.failed) || apierrors.IsBadRequest(w.failed)):
			return true, refusal(int(status.Status().Code), w.failed)
		default:
			err = fmt.Errorf("%s are not watched", w.of.GroupResource)
			if w.failed != nil {
				err = fmt.Errorf("%w: %w", err, w.failed)
			}
		}
	}
	return false, err
}

// listing returns the servers of the objects, in the order of their names. The caller holds mu.
func (s *session) listing() (source.Listing, error) {
	targets := map[reference]reference{}
	var all []server
	for _, w := range s.watches {
		for key, e := range w.entries {
			namespace, name, _ := strings.Cut(key, "/")
			if e.target != (reference{}) {
				targets[reference{kind: w.of.targetKind, namespace: namespace, name: name}] = e.target
			}
			all = append(all, e.servers...)
		}
	}
	if s.limit > 0 && len(all) > s.limit {
		return source.Listing{}, fmt.Errorf("the cluster has %d servers: at most %d are taken", len(all), s.limit)
	}
	slices.SortFunc(all, func(a, b server) int { return strings.Compare(a.name, b.name) })
	l := source.Listing{Found: []source.Found{}}
	for _, one := range all {
		l.Found = append(l.Found, one.found(targets))
	}
	return l, nil
}

// Close implements source.Session.
func (s *session) Close() {
	s.stop()
	s.running.Wait()
	s.hangUp()
}
