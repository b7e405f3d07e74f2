package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/lab/commands"
	"github.com/toolstream/toolstream/internal/server/reindex"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
)

// distilled makes a second embedding model, of the sample registry's texts, for deployments
// with env in their environment.
func distilled(t *testing.T) (name, env string) {
	t.Helper()
	dir := t.TempDir()
	args := []string{"distill", "--texts", registry, "--teacher", "static", "--out", filepath.Join(dir, "second.static"), "--name", "second", "--cache", t.TempDir(),
		"--dims", "64", "--words", "3000", "--epochs", "2"}
	var errOut strings.Builder
	if code := commands.Run(t.Context(), args, nil, io.Discard, &errOut); code != 0 {
		t.Fatalf("distill: exit code %d: %s", code, errOut.String())
	}
	return "static:second.static", "TOOLSTREAM_MODELS_DIR=" + dir
}

func reindexReport(t *testing.T, p *process.Process) reindex.Report {
	t.Helper()
	var r reindex.Report
	check.OK(t, p.Client.Get(t.Context(), "/v1/reindex", nil, &r))
	return r
}

// switched waits until every process that answers searches uses a model, and
// says so.
func switched(t *testing.T, d process.Deployment, setting string) {
	t.Helper()
	for _, p := range d.Fronts() {
		var r reindex.Report
		err := until(t, func() (bool, error) {
			r = reindexReport(t, p)
			return slices.ContainsFunc(r.Versions, func(g reindex.State) bool {
				return g.Setting == setting && g.State == reindex.StateLive && g.Number == r.Target
			}), nil
		})
		if err != nil {
			t.Fatalf("%s is not searched: %+v, %v", setting, r, err)
		}
		var status struct {
			Model string `json:"model"`
		}
		check.OK(t, p.Client.Get(t.Context(), "/v1/status", nil, &status))
		if i := slices.IndexFunc(r.Versions, func(g reindex.State) bool { return g.Number == r.Live }); r.Versions[i].Model != status.Model {
			t.Errorf("status says %s, the plan %+v", status.Model, r.Versions[i])
		}
	}
}

// beacon is a tool that its own query has to find, whatever else there is.
func beacon(i int) (id, document, query string) {
	word := fmt.Sprintf("zarquon%d", i)
	return fmt.Sprintf("beacon/%d", i), fmt.Sprintf(`{"name":"light_%s","description":"Light the beacon of %s."}`, word, word), "light the beacon of " + word
}

const beacons = 20

// undegraded waits until answers lack nothing.
func undegraded(t *testing.T, d process.Deployment) {
	t.Helper()
	for _, p := range d.Fronts() {
		process.Await(t, "answers still lack something", func() (bool, error) {
			answer, err := ask(t.Context(), p.Client, "weather")
			return len(answer.Degraded) == 0, err
		})
	}
}

// watchers search every front until stop, and want of every search an answer that
// lacks nothing and has the beacon among the best three.
type watchers struct {
	stop     context.CancelFunc
	group    sync.WaitGroup
	searches atomic.Int64
	failed   atomic.Pointer[string]
}

func watchSearches(t *testing.T, d process.Deployment) *watchers {
	ctx, cancel := context.WithCancel(t.Context())
	w := &watchers{stop: cancel}
	for _, p := range d.Fronts() {
		w.group.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id, _, query := beacon(i % beacons)
				var answer schema.SearchResponse
				err := p.Client.Post(ctx, "/v1/search", schema.SearchRequest{Query: query, K: 3}, &answer)
				if ctx.Err() != nil {
					return
				}
				right := slices.ContainsFunc(answer.Results, func(r schema.Result) bool { return r.ID == id })
				if err != nil || len(answer.Degraded) > 0 || !right {
					text := fmt.Sprintf("search %d for %s: %v, degraded %q, found %+v", w.searches.Load(), id, err, answer.Degraded, answer.Results)
					w.failed.CompareAndSwap(nil, &text)
					return
				}
				w.searches.Add(1)
			}
		})
	}
	return w
}

// end stops the searches, once there are some, none of which may have failed.
func (w *watchers) end(t *testing.T) {
	t.Helper()
	check.OK(t, until(t, func() (bool, error) { return w.searches.Load() > 0 || w.failed.Load() != nil, nil }))
	w.stop()
	w.group.Wait()
	if failed := w.failed.Load(); failed != nil {
		t.Error(*failed)
	}
	if w.searches.Load() == 0 {
		t.Error("nothing was searched")
	}
	t.Logf("%d searches were answered", w.searches.Load())
}

// changes streams updates, deletes and additions in until stop, and knows what was
// accepted.
type changes struct {
	stop     context.CancelFunc
	done     chan error
	accepted map[string]uint64 // to be read after end
	sent     int
	count    atomic.Int64 // of sent, for others
}

func streamChanges(t *testing.T, d process.Deployment, accepted map[string]uint64) *changes {
	ctx, cancel := context.WithCancel(t.Context())
	c := &changes{stop: cancel, done: make(chan error, 1), accepted: maps.Clone(accepted)}
	front := d.Front().Client
	go func() {
		for ctx.Err() == nil {
			if err := c.change(context.WithoutCancel(ctx), front); err != nil {
				c.done <- err
				return
			}
			c.sent++
			c.count.Add(1)
		}
		c.done <- nil
	}()
	return c
}

// change makes the next change: of every ten, six update, two add and two delete.
func (c *changes) change(ctx context.Context, front client.Client) error {
	n := c.sent
	id := fmt.Sprintf("moving/%d", n%40)
	switch n % 10 {
	case 3, 7:
		id = fmt.Sprintf("added/%d", n)
	case 5, 9:
		var a struct {
			Revision uint64 `json:"revision"`
		}
		if _, there := c.accepted[id]; !there {
			return nil
		}
		delete(c.accepted, id)
		return front.Delete(ctx, client.Path("/v1/tools", id), &a)
	}
	document := fmt.Sprintf(`{"name":"turn_%d","description":"Turn number %d of the wheel by %d degrees."}`, n%40, n, n%360)
	body, _, err := front.Send(ctx, http.MethodPut, client.Path("/v1/tools", id), nil, "application/json", strings.NewReader(document))
	if err != nil {
		return err
	}
	defer body.Close()
	var a struct {
		Revision uint64 `json:"revision"`
	}
	err = json.NewDecoder(body).Decode(&a)
	c.accepted[id] = a.Revision
	return err
}

// leastChanges is how many come in while a model changes.
const leastChanges = 100

// end stops the changes, once there are enough, and returns what is there.
func (c *changes) end(t *testing.T) map[string]uint64 {
	t.Helper()
	for c.count.Load() < leastChanges && len(c.done) == 0 {
		<-time.After(10 * time.Millisecond)
	}
	c.stop()
	if err := <-c.done; err != nil {
		t.Fatalf("after %d changes: %v", c.sent, err)
	}
	t.Logf("%d changes were accepted", c.sent)
	return c.accepted
}

// holds waits until every process that answers searches shows exactly this.
func holds(t *testing.T, d process.Deployment, want map[string]uint64) {
	t.Helper()
	for n, p := range d.Fronts() {
		var got map[string]uint64
		err := until(t, func() (bool, error) {
			got = revisions(t, p, "")
			return maps.Equal(got, want), nil
		})
		if err != nil {
			t.Fatalf("replica %d shows %d tools, want %d: %s", n+1, len(got), len(want), firstDifference(got, want))
		}
	}
}

// firstDifference names one tool that two lists have not in common.
func firstDifference(got, want map[string]uint64) string {
	for id, revision := range want {
		if got[id] != revision {
			return fmt.Sprintf("%s in revision %d, want %d", id, got[id], revision)
		}
	}
	for id := range got {
		if _, there := want[id]; !there {
			return id + " should not be there"
		}
	}
	return "none"
}

// The embedding model is upgraded while everybody searches and writes, then one
// step back, and then for good.
func TestTheModelChangesUnderLoad(t *testing.T) {
	level.Campaign(t)
	second, env := distilled(t)
	everywhere(t, func(t *testing.T, d process.Deployment) {
		load(t, d.Front(), registry)
		for i := range beacons {
			id, document, _ := beacon(i)
			put(t, d.Front(), id, document)
		}
		accepted := agree(t, d)
		for _, step := range []struct {
			args  []string
			model string
		}{{[]string{"--model", second}, second}, {[]string{"--back"}, "static"}, {[]string{"--model", second}, second}} {
			searching, changing := watchSearches(t, d), streamChanges(t, d, accepted)
			if o := at(t, d.Front(), append([]string{"reindex"}, step.args...)...); o.code != 0 {
				t.Errorf("reindex %v: %+v", step.args, o)
			}
			r := reindexReport(t, d.Front())
			if apart, ok := d.(*process.Distributed); !r.Switched() || ok && len(r.Replicas) != len(apart.Fronts())+2 {
				t.Errorf("reindex has returned, and not all have changed over: %+v", r)
			}
			switched(t, d, step.model)
			accepted = changing.end(t)
			searching.end(t)
			holds(t, d, accepted)
		}
		d.Restart(t)
		switched(t, d, second)
		holds(t, d, accepted)
		if apart, ok := d.(*process.Distributed); ok { // the plan is known without its store
			outage(t, cluster.NATS, func() {
				apart.Crash(t, "query-1")
				switched(t, d, second)
				holds(t, d, accepted)
			})
			undegraded(t, d)
		}
		if o := at(t, d.Front(), "reindex", "--finish"); o.code != 0 {
			t.Errorf("finish: %+v", o)
		}
		if o := at(t, d.Front(), "reindex", "--back"); o.code != 1 || !strings.Contains(o.errOut, "no other index version") {
			t.Errorf("back to what was given up: %+v", o)
		}
		searching := watchSearches(t, d)
		put(t, d.Front(), "boat", ferry)
		searching.end(t)
		for _, p := range d.Fronts() {
			err := until(t, func() (bool, error) { _, there := get(t, p, "boat"); return there, nil })
			if r := reindexReport(t, p); err != nil || len(r.Versions) != 1 || r.Versions[0].Setting != second {
				t.Errorf("%v, %+v", err, r)
			}
		}
		if apart, ok := d.(*process.Distributed); ok {
			var classes []string
			err := until(t, func() (bool, error) {
				classes = classesOf(t, cluster.Weaviate.Addr, apart.Alias)
				return len(classes) == 1, nil
			})
			if err != nil {
				t.Errorf("the retired class stays: %q", classes)
			}
		}
	}, env)
}

// classesOf lists what Weaviate holds of a deployment.
func classesOf(t *testing.T, addr, alias string) []string {
	t.Helper()
	var schema struct{ Classes []struct{ Class string } }
	check.OK(t, (&client.Client{Server: "http://" + addr, HTTP: http.DefaultClient}).Get(t.Context(), "/v1/schema", nil, &schema))
	var names []string
	for _, c := range schema.Classes {
		if strings.HasPrefix(c.Class, alias+"_") {
			names = append(names, c.Class)
		}
	}
	return names
}

// most returns the highest value that a feature has among the results of the queries. Learned
// weights may move what was used for a single query out of its results.
func most(t *testing.T, p *process.Process, queries []string, feature string) (x float64) {
	t.Helper()
	for _, q := range queries {
		for _, r := range search(t, p, schema.SearchRequest{Query: q, K: deep, Explain: true}).Results {
			x = max(x, r.Explanation.Features[feature])
		}
	}
	return x
}

// What was learned with a model, weights and the queries that tools were used for,
// serves its searches alone, and serves them again after a step back.
func TestWhatWasLearnedBelongsToItsModel(t *testing.T) {
	t.Parallel()
	second, env := distilled(t)
	p := process.Up(t, process.Binary(), append(hurry(), env)...).Front()
	load(t, p, registry)
	queries, _ := labelled(t)
	s := &session{t: t, p: p, wanted: favourites(t, p, queries)} // weights go live where they gain
	s.learn(queries)
	similar := func() bool { return most(t, p, queries, "usage.similar") > 0 }
	learned := "" // the live version then
	process.Await(t, "what was asked before does not show", func() (bool, error) {
		s.round(queries) // it takes three sessions, and weights may be live before, and others after
		list, _ := listWeights(t, p)
		learned = list.Live
		return ranksBy(t, p) == learned && similar(), nil
	})
	to := func(version string, args ...string) {
		t.Helper()
		if o := at(t, p, append([]string{"reindex"}, args...)...); o.code != 0 {
			t.Fatalf("reindex %v: %+v", args, o)
		}
		if v := ranksBy(t, p); v != version {
			t.Errorf("after reindex %v it ranks by %s, want %s", args, v, version)
		}
	}
	waitUntilShown := func(version string) {
		t.Helper()
		process.Await(t, "the trainer does not come to show "+version, func() (bool, error) {
			list, _ := listWeights(t, p)
			return list.Live == version, nil
		})
	}
	to("builtin", "--model", second)
	if similar() {
		t.Error("the next model ranks by what was asked by the one before")
	}
	if most(t, p, queries, "usage.prior") == 0 {
		t.Error("uses are of no model, and do not count")
	}
	waitUntilShown("builtin")
	to(learned, "--back")
	// The trainer publishes the use of the model that is searched.
	process.Await(t, "what was asked before does not show again", func() (bool, error) { return similar(), nil })
	waitUntilShown(learned)
}

// A new model's index goes on being built after its builders were killed, and what
// the model cannot embed keeps the old one in use until somebody decides.
func TestBuildingOutlivesCrashesAndWaitsForDeadLetters(t *testing.T) {
	level.Campaign(t)
	model := newEndpoint(t)
	model.broken.Store(true)
	model.hold(40)
	t.Setenv("TOOLSTREAM_EMBEDDER_URL", model.server.URL+"/v1")
	d := process.Serve(t, &cluster, process.Binary())
	put(t, d.Front(), "oven", `{"name":"bake_bread","description":"Bake a loaf in the sealed oven."}`)
	for i := range beacons {
		id, document, _ := beacon(i)
		put(t, d.Front(), id, document)
	}
	before := agree(t, d)
	if o := at(t, d.Front(), "reindex", "--model", "onnx:absent"); o.code != 1 || !strings.Contains(o.errOut, "cannot be loaded") {
		t.Errorf("a model that is not there: %+v", o)
	}
	if o := at(t, d.Front(), "reindex", "--model", "http:slow", "--wait=false", "--json"); o.code != 0 {
		t.Fatalf("reindex: %+v", o)
	}
	<-model.held
	d.Crash(t, "embedder-1", "query-1")
	for _, p := range d.Fronts() {
		if r := reindexReport(t, p); r.Live != 1 || r.Target != 2 {
			t.Errorf("in the middle: %+v", r)
		}
	}
	holds(t, d, before)
	close(model.open)

	o := at(t, d.Front(), "reindex", "--back", "--wait=false")
	if o = at(t, d.Front(), "reindex", "--model", "http:slow"); o.code != 1 || !strings.Contains(o.errOut, "dlq list --stage embedder-2") {
		t.Fatalf("one document cannot be embedded: %+v", o)
	}
	for _, p := range d.Fronts() {
		if r := reindexReport(t, p); r.Live != 1 {
			t.Errorf("a document is lacking, and searches changed over: %+v", r)
		}
	}
	if o = at(t, d.Front(), "dlq", "drop", "--all", "--stage", "embedder-2"); o.code != 0 {
		t.Fatalf("drop: %+v", o)
	}
	switched(t, d, "http:slow")
	delete(before, "oven")
	holds(t, d, before)
	put(t, d.Front(), "boat", ferry)
}
