package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// values is a bucket, a Store of fences and a Log in memory.
type values struct {
	mu    sync.Mutex
	kept  map[string]string
	notes []string // keys whose deletion is remembered
}

func (v *values) Put(_ context.Context, key string, value []byte) (uint64, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.kept[key] = string(value)
	return uint64(len(v.kept)), nil
}

func (v *values) Get(_ context.Context, key string) (stream.Entry, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return stream.Entry{Key: key, Value: []byte(v.kept[key]), Revision: 7}, nil
}

func (v *values) Keys(_ context.Context, prefix string) (keys []string, _ error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(v.kept)) {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

func (v *values) Erase(_ context.Context, match func(string) bool) (n int, _ error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.kept, func(key, _ string) bool {
		if match(key) {
			v.notes = append(v.notes, key)
			n++
			return true
		}
		return false
	})
	return n, nil
}

func (v *values) ForgetErased(_ context.Context, match func(string) bool) error {
	v.notes = slices.DeleteFunc(v.notes, match)
	return nil
}

// Watch delivers what is there and waits.
func (v *values) Watch(ctx context.Context, prefix string, fn func(stream.Entry) error) error {
	keys, _ := v.Keys(ctx, prefix)
	for _, key := range keys {
		e, _ := v.Get(ctx, key)
		if err := fn(e); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

type revisions struct{ *values }

func (r revisions) All(ctx context.Context, prefix string, fn func(string, []byte) error) error {
	keys, _ := r.Keys(ctx, prefix)
	for _, key := range keys {
		if err := fn(key, []byte(r.kept[key])); err != nil {
			return err
		}
	}
	return nil
}

func (r revisions) Erase(ctx context.Context, prefix string) (int, error) {
	return r.values.Erase(ctx, func(key string) bool { return strings.HasPrefix(key, prefix) })
}

// holder is a bus that keeps one record of every erased topic for a while.
type holder struct {
	server
	erased []string // topic and number of records that matched
	fails  error
}

func (h *holder) Versions(context.Context) ([]int, error) { return []int{2}, nil }

func (h *holder) Erase(_ context.Context, last stream.Message, match func(stream.Message) bool) (int, error) {
	n := 0
	for _, m := range h.Messages(last.Topic) {
		if match(m) {
			n++
		}
	}
	h.erased = append(h.erased, fmt.Sprintf("%s %d %s@%s", last.Topic, n, last.Key, last.Headers[events.HeaderRevision]))
	return min(n, 1), h.fails
}

// house is a service with two tenants, acme and other.
type house struct {
	*Service
	t      *testing.T
	bus    *holder
	bucket *values
	log    *values
	store  *values
	done   []string // what else was erased, in order
}

func newHouse(t *testing.T, change func(*Deps)) *house {
	t.Helper()
	h := &house{
		t: t, bus: &holder{server: server{streamtest.NewBus()}}, store: &values{kept: map[string]string{}},
		bucket: &values{kept: map[string]string{"acme.source": `{"url":"x"}`, "acme.word": "text", "other.source": "{}", "deployment": "{}"}},
		log:    &values{kept: map[string]string{}},
	}
	for _, key := range []string{"acme/a", "acme/b", "other/a"} {
		h.change(key, 5)
	}
	h.change("acme/a", 6)
	letter := check.Value(events.Encode(&events.DeadLetter{ID: "l", Key: "acme/b"}))(t)
	h.publish(stream.Message{Topic: events.Searches, Key: "acme/s", Value: []byte(`{"query":"q"}`)},
		stream.Message{Topic: events.FeedbackTopic, Key: "acme/s", Value: []byte("not JSON")},
		stream.Message{Topic: events.DLQ, Key: "l", Value: letter})
	d := Deps{
		Server: h.bus, Fences: openFences(t, t.TempDir()), Store: h.store, Log: revisions{h.log}, Logger: slog.New(slog.DiscardHandler),
		Buckets: []Bucket{
			{Name: "weights", Values: h.bucket, TenantOf: func(key string) (string, bool) {
				tenant, _, of := strings.Cut(key, ".")
				if !of {
					return "", true
				}
				return tenant, true
			}},
			{Name: "answers", Cache: true, Values: &values{kept: map[string]string{"acme.answer": "{}"}}, TenantOf: func(string) (string, bool) { return "acme", true }},
		},
		Revision: func(context.Context) (uint64, error) { return 9, nil },
		Newest:   func(key string, revision uint64) bool { return key != "acme/a" || revision == 6 },
		Entities: func(context.Context) (map[string]int, error) { return map[string]int{"acme": 2, "other": 1}, nil },
		Declared: func(tenant string) []string {
			if tenant == "declared" {
				return []string{"shop"}
			}
			return nil
		},
		Vectors: func(_ context.Context, tenant string) error {
			h.done = append(h.done, "vectors of "+tenant)
			return nil
		},
	}
	if change != nil {
		change(&d)
	}
	h.Service = New(d)
	return h
}

func (h *house) publish(msgs ...stream.Message) {
	h.t.Helper()
	check.OK(h.t, h.bus.Publish(h.t.Context(), msgs...))
}

// start runs a service until nothing moves. The returned function stops it.
func start(t *testing.T, run func(context.Context) error) (stop func()) {
	stop = check.Run(t, run)
	synctest.Wait()
	return stop
}

// change publishes a revision of a tool, and keeps it in the log.
func (h *house) change(key string, revision uint64) {
	h.t.Helper()
	ref := check.Value(events.ParseKey(key))(h.t)
	c := events.Change{
		Ref: ref, Op: events.OpUpsert, Version: schema.Version{Revision: revision, Source: revision - 5}, Raw: []byte(fmt.Sprintf(`{"name":"%s%d"}`, ref.ID, revision)),
	}
	value := check.Value(events.Encode(&c))(h.t)
	h.publish(stream.Message{Topic: events.ToolsRaw, Key: key, Value: value, Headers: events.Headers(&c)})
	h.log.kept[fmt.Sprint(ref.Tenant, ".", ref.ID, revision)] = string(value)
}

// fence returns the fence of acme in the store.
func (h *house) fence() (f Fence) {
	h.t.Helper()
	check.OK(h.t, json.Unmarshal([]byte(h.store.kept[KeyPrefix+"acme"]), &f))
	return f
}

func TestErasingRemovesTheTenantEverywhere(t *testing.T) {
	h := newHouse(t, nil)
	out := check.Value(h.Erase(t.Context(), "acme"))(t)
	if want := map[string]int{"weights": 2, "answers": 1, "revisions": 3}; !maps.Equal(out.Values, want) || out.Tenant != "acme" {
		t.Errorf("erased %+v, want the values %v", out, want)
	}
	if want := []string{
		"tools.raw 2 acme/@9", "tools.standardized 0 acme/@9", "tools.embedded 0 acme/@9", "searches 1 acme/@9", "feedback 1 acme/@9", "dlq 1 acme/@9", "tools.embedded-2 0 acme/@9",
	}; !slices.Equal(h.bus.erased, want) {
		t.Errorf("erased on the bus: %q", h.bus.erased)
	}
	remains := strings.Join(out.Remains, "\n")
	for _, want := range []string{"1 records of tools.raw", "until Kafka compacts", "1 records of searches", "as old as the topic keeps records", "audit log"} {
		if !strings.Contains(remains, want) {
			t.Errorf("the answer does not tell that %q remain:\n%s", want, remains)
		}
	}
	if want := []string{"vectors of acme"}; !slices.Equal(h.done, want) {
		t.Errorf("erased %q", h.done)
	}
	left, _ := h.bucket.Keys(t.Context(), "")
	if logged, _ := h.log.Keys(t.Context(), ""); !slices.Equal(left, []string{"deployment", "other.source"}) || !slices.Equal(logged, []string{"other.a5"}) || len(h.bucket.notes) > 0 {
		t.Errorf("left are %q and %q, deletions are noted of %q", left, logged, h.bucket.notes)
	}
	f := h.fence()
	if f.Erasing || f.Revision != 9 || f.Ends[events.Searches][0] != 1 || !f.At.Equal(out.At) {
		t.Errorf("the fence is %+v", f)
	}
	if fences := h.deps.Fences; fences.Through("acme") != 9 || fences.Through("other") != 0 || !fences.Since("acme", out.At.Add(-1)) || fences.Since("acme", out.At) {
		t.Errorf("the process knows the fence as %+v", fences.All()["acme"])
	}
	again, err := h.Erase(t.Context(), "acme")
	if err != nil || !again.At.After(out.At) {
		t.Errorf("erased again at %s after %s: %v", again.At, out.At, err)
	}
}

// What is interrupted stays behind the fence, and Run completes it.
func TestAnInterruptedErasureIsCompleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.bus.fails = errors.New("the bus is away")
		if _, err := h.Erase(t.Context(), "acme"); !errors.Is(err, h.bus.fails) {
			t.Fatalf("%v", err)
		}
		if f := h.fence(); !f.Erasing || !h.deps.Fences.Erasing("acme") || h.deps.Fences.Through("acme") != events.MaxRevision {
			t.Errorf("the fence is %+v", f)
		}
		stop := start(t, h.Run)
		if !h.fence().Erasing {
			t.Error("erased although the bus is away")
		}
		h.bus.fails = nil
		time.Sleep(resumeEvery)
		synctest.Wait()
		if h.fence().Erasing || len(h.done) != 1 {
			t.Errorf("after the bus came back: %+v, %q", h.fence(), h.done)
		}
		stop()
	})
}

// Erasing waits for the other processes, and leaves their fences alone for a while.
func TestErasingWaitsForOtherProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := 3
		h := newHouse(t, func(d *Deps) {
			d.Waiting = func(context.Context, Fence) ([]string, error) {
				if slow--; slow > 0 {
					return []string{"query-1"}, nil
				}
				return nil, nil
			}
		})
		if _, err := h.Erase(t.Context(), "acme"); err != nil || slow > 0 {
			t.Errorf("erased with %d refusals left: %v", slow, err)
		}
		slow = 1 << 20
		if _, err := h.Erase(t.Context(), "other"); !errors.Is(err, errWaiting) || !strings.Contains(err.Error(), "query-1") {
			t.Errorf("%v", err)
		}
		h.done, slow = nil, 0
		stop := start(t, h.Run)
		time.Sleep(ownTime + resumeEvery)
		synctest.Wait()
		if !slices.Contains(h.done, "vectors of other") {
			t.Errorf("not completed: %q", h.done)
		}
		stop()
	})
}

func TestAnExportHasTheTenantAlone(t *testing.T) {
	h := newHouse(t, nil)
	var out strings.Builder
	check.OK(t, h.Export(t.Context(), "acme", &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	first := lines[0]
	if !strings.HasPrefix(first, `{"part":"tenant","value":{"exported":`) {
		t.Errorf("it begins with %s", first)
	}
	var got []string
	for _, line := range lines[1:] {
		var l struct {
			ID, Part string
			Version  string `json:"source_version"`
			Value    json.RawMessage
		}
		check.OK(t, json.Unmarshal([]byte(line), &l))
		if l.Part == partRevision || l.Part == partDeadLetters {
			l.Value = nil
		}
		got = append(got, strings.TrimSpace(fmt.Sprint(l.Part, l.ID, l.Version, " ", string(l.Value))))
	}
	want := []string{
		"b", "a1", // documents, the newest revision of each
		`value {"bucket":"weights","key":"acme.source","value":{"url":"x"}}`, `value {"bucket":"weights","key":"acme.word","value":"text"}`,
		"dead_letter", `search {"query":"q"}`, `feedback "not JSON"`, "revision", "revision", "revision",
	}
	if !slices.Equal(got, want) {
		t.Errorf("exported\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	fence := Fence{Tenant: "acme", Revision: 5, Ends: map[events.Topic]map[int]uint64{events.Searches: {0: 1}, events.FeedbackTopic: {0: 1}, events.DLQ: {0: 1}}}
	check.OK(t, h.deps.Fences.Take(t.Context(), fence))
	out.Reset()
	if err := h.Export(t.Context(), "acme", &out); err != nil || strings.Count(out.String(), `"document"`) != 1 || strings.Count(out.String(), `"revision","value"`) != 1 || strings.Contains(out.String(), "dead_letter") {
		t.Errorf("behind a fence: %v\n%s", err, out.String())
	}
	if err := h.Export(t.Context(), "acme", broken{}); !errors.Is(err, errBroken) {
		t.Errorf("into a broken pipe: %v", err)
	}
}

// An export whose client does not read holds up the erasing of its own tenant alone, and then ends.
func TestAStalledExportHoldsUpNoOtherTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		client := &stalled{reads: make(chan struct{})}
		ended := make(chan error, 1)
		go func() { ended <- h.Export(t.Context(), "acme", client) }()
		synctest.Wait()
		if _, err := h.Erase(t.Context(), "other"); err != nil {
			t.Errorf("another tenant: %v", err)
		}
		erased := make(chan error, 1)
		go func() {
			_, err := h.Erase(t.Context(), "acme")
			erased <- err
		}()
		synctest.Wait()
		if len(erased) > 0 {
			t.Error("a tenant is erased while its records are under way")
		}
		close(client.reads)
		if err := <-ended; !errors.Is(err, errErased) {
			t.Errorf("the export ends with %v", err)
		}
		check.OK(t, <-erased)
		if client.documents != 1 {
			t.Errorf("%d documents were exported", client.documents)
		}
	})
}

// stalled reads a document when it may.
type stalled struct {
	reads     chan struct{}
	documents int
}

func (s *stalled) Write(p []byte) (int, error) {
	if strings.Contains(string(p), `"document"`) {
		<-s.reads
		s.documents++
	}
	return len(p), nil
}

var errBroken = errors.New("broken pipe")

// broken takes the first line alone.
type broken struct{}

func (broken) Write(p []byte) (int, error) {
	if strings.Contains(string(p), partTenant) {
		return len(p), nil
	}
	return 0, errBroken
}

func TestRoutesAreForOperatorsAndTheTenant(t *testing.T) {
	h := newHouse(t, nil)
	mux := http.NewServeMux()
	Routes(humago.New(mux, huma.DefaultConfig("test", "1")), h.Service)
	operator, admin := identity.Caller{Tenant: identity.DefaultTenant, Role: identity.Operator}, identity.Caller{Tenant: "acme", Role: identity.Admin}
	reader, foreign := identity.Caller{Tenant: "acme", Role: identity.Reader}, identity.Caller{Tenant: "other", Role: identity.Admin}
	call := func(c identity.Caller, method, path string) (int, string) {
		rec := httptest.NewRecorder()
		mux.ServeHTTP(rec, httptest.NewRequest(method, Path+path, nil).WithContext(identity.With(t.Context(), c)))
		return rec.Code, rec.Body.String()
	}
	for _, c := range []struct {
		caller       identity.Caller
		method, path string
		status       int
		says         string
	}{
		{operator, "GET", "", 200, `{"name":"acme","values":3,"tools":2,"state":"active"},{"name":"other"`},
		{admin, "GET", "", 200, `"tenants":[{"name":"acme","values":3,"tools":2,"state":"active"}]`},
		{operator, "GET", "/acme/export", 200, `{"id":"b","kind":"tool","document":{"name":"b5"}}`},
		{foreign, "GET", "/acme/export", 403, "admin of the tenant"},
		{reader, "DELETE", "/acme?confirm=acme", 403, "admin of the tenant"},
		{admin, "DELETE", "/acme?confirm=other", 422, "confirm is not the name"},
		{admin, "DELETE", "/acme", 422, ""},
		{operator, "DELETE", "/a.b?confirm=a.b", 422, ""},
		{operator, "DELETE", "/declared?confirm=declared", 409, "shop"},
		{admin, "DELETE", "/acme?confirm=acme", 200, `"weights":2`},
		{operator, "GET", "", 200, `"erased":`},
	} {
		if status, body := call(c.caller, c.method, c.path); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %s of %s: %d %s", c.method, c.path, c.caller, status, body)
		}
	}
	memory := inflight.New(inflight.Config{Bytes: inflight.Export, MaxWait: time.Millisecond}, prometheus.NewRegistry()).Open("")
	rec := httptest.NewRecorder()
	mux.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, Path+"/acme/export", nil).WithContext(inflight.With(identity.With(t.Context(), operator), memory)))
	if rec.Code != http.StatusRequestEntityTooLarge || strings.Contains(rec.Body.String(), "exported") {
		t.Errorf("an export without memory: %d %s", rec.Code, rec.Body)
	}
	h.bus.fails = errors.New("away")
	if status, body := call(operator, "DELETE", "/other?confirm=other"); status != 503 || !strings.Contains(body, "goes on") {
		t.Errorf("with the bus away: %d %s", status, body)
	}
	if _, body := call(operator, "GET", ""); !strings.Contains(body, `"state":"erasing"`) {
		t.Errorf("listed: %s", body)
	}
	h.deps.Entities = func(context.Context) (map[string]int, error) { return nil, errors.New("away") }
	if status, _ := call(operator, "GET", ""); status != 503 {
		t.Errorf("without a count: %d", status)
	}
}

// A process obeys the fences of the store from its first read, and its parts forget the
// tenant once it follows the store.
func TestAProcessFollowsTheFencesOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &values{kept: map[string]string{
			KeyPrefix + "acme": `{"tenant":"acme","at":"2025-03-01T12:00:00Z","erasing":true}`, KeyPrefix + "other": `{"tenant":"acme"}`, KeyPrefix + "bad": "{",
		}}
		f := openFences(t, t.TempDir())
		if err := f.Read(t.Context(), store); err != nil || !f.Erasing("acme") || f.Unfinished() == nil || len(f.All()) != 1 {
			t.Errorf("read %+v: %v", f.All(), err)
		}
		var forgot []Fence
		f.OnErase(func(_ context.Context, fence Fence) error { forgot = append(forgot, fence); return nil })
		stop := start(t, func(ctx context.Context) error { return f.Run(ctx, store) })
		if len(forgot) != 1 || forgot[0].Stored != 7 || f.Unfinished() != nil {
			t.Errorf("forgot %+v, unfinished: %v", forgot, f.Unfinished())
		}
		stop()
	})
}
