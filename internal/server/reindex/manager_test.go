package reindex

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/engine/flat"
	"github.com/toolstream/toolstream/internal/engine/weaviate"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// A service that is halted may ask for the live instance before it ends.
func TestHaltingWaitsWithoutTheLock(t *testing.T) {
	in, all := &Instance{}, newInstances()
	all.add(in)
	all.setLive(in)
	halted := false
	in.stop = func() { _, live := all.all(); halted = live == in }
	all.halt()
	if !halted {
		t.Error("the services of the instance go on")
	}
}

// Searches of every time that an instance was searched are waited for before it is closed.
func TestClosingWaitsForEverySearch(t *testing.T) {
	in, waited := &Instance{}, ""
	in.leave(func() { waited += "first " })
	in.leave(func() { waited += "second" })
	if err := in.close(); err != nil || waited != "first second" {
		t.Errorf("waited for %q, %v", waited, err)
	}
}

// An index version that is used beside the live one stays open as long, and is then used by
// nobody.
func TestClosingWaitsForWhoeverUsesAVersion(t *testing.T) {
	in := &Instance{Version: Version{Number: 2}, Index: &flat.Index{}}
	all := newInstances()
	all.add(in)
	all.add(&Instance{Version: Version{Number: 3}})
	if _, _, ok := all.use(3); ok {
		t.Error("a version is used that has no index here")
	}
	_, release, ok := all.use(2)
	if !ok {
		t.Fatal("the version is not there")
	}
	all.remove(in)
	if _, _, ok := all.use(2); ok {
		t.Error("a version is used that was given up")
	}
	var used atomic.Bool
	used.Store(true)
	closed := make(chan bool)
	go func() { _ = in.close(); closed <- used.Load() }()
	runtime.Gosched()
	used.Store(false)
	release()
	if <-closed {
		t.Error("the version was closed while it was used")
	}
}

// What Weaviate has of a model is removed with its last index version, and only then.
func TestAClassOfAModelInUseStays(t *testing.T) {
	var dropped []string
	w := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodDelete:
			dropped = append(dropped, path.Base(r.URL.Path))
		case strings.HasPrefix(r.URL.Path, "/v1/aliases"):
			rw.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(rw, `{}`)
	}))
	defer w.Close()
	vectors := check.Value(weaviate.New(weaviate.Config{URL: w.URL, GRPC: "127.0.0.1:1", Alias: "Tool"}))(t)
	defer vectors.Close()
	inUse := First(Version{Setting: "b", Model: "b", Dimensions: 8})
	a, b := Version{Number: 7, Model: "a", Dimensions: 8}, Version{Number: 8, Model: "b", Dimensions: 8}
	unknown := Version{Number: 6} // it never was more than planned
	plan := inUse
	plan.Retired = []Version{unknown, a, b}
	r := &retirer{plan: NewPlanStore(nil, inUse, "", slog.New(slog.DiscardHandler)), cfg: Config{Vectors: vectors}, instances: newInstances()}
	for number := range 9 {
		check.OK(t, r.dropClass(t.Context(), plan, number))
	}
	if !slices.Equal(dropped, []string{vectors.ClassOf(classOf(a))}) {
		t.Errorf("dropped %v, of which %s is of a model in use", dropped, vectors.ClassOf(classOf(b)))
	}
}

// The static model makes what arrives searchable while a model in the process embeds it.
func TestAModelInTheProcessFollowsTheStaticModel(t *testing.T) {
	for setting, want := range map[string]Plan{
		"onnx:minilm": First(Version{Setting: "static"}),
		"static:mine": {Schema: PlanSchema, Last: 1, Live: 1, Target: 1, Setting: "static:mine", Versions: []Version{{Number: 1, Setting: "static:mine"}}},
	} {
		if got := (Config{Settings: config.Config{Embedder: config.Embedder{Model: setting}}}).firstPlan(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", setting, got)
		}
	}
}
