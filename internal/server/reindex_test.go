package server

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/server/reindex"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// A model that was replaced by another one under its name, as by an upgrade of the
// program, is searched by words until an index of what is there now is built; what
// came meanwhile is in that.
func TestAReplacedModelIsChangedTo(t *testing.T) {
	server := newFakeEndpoint(t)
	cfg := withEndpoint(t, server.URL, t.TempDir())
	e, stop := up(t, cfg)
	put(t, e, "tides", "Tells when the tide is low.")
	await(t, func() bool { return indexed(e, "tides") })
	stop()

	cfg.Embedder.DocumentPrefix = "passage: "
	e, stop = up(t, cfg)
	put(t, e, "parcels", "Tracks a parcel.")
	wantStatus(t, call(e, "", "POST", "/v1/reindex", `{"model":"http"}`), 202)
	await(t, func() bool { return theIndexes.get(e.Process).Live().Number == 2 && indexed(e, "parcels") })
	if resp := found(t, e, "track a parcel"); len(resp.Degraded) > 0 || len(resp.Results) != 2 {
		t.Errorf("%+v", resp)
	}
	stop()
	e, _ = up(t, cfg)
	if r := theIndexes.get(e.Process).Report(t.Context()); r.Live != 2 || r.Versions[1].Problem != "" {
		t.Errorf("after a restart: %+v", r)
	}
}

// A process without peers changes to the model of its settings, and back, when they change; a
// change by request holds until then.
func TestTheModelOfTheSettingsIsChangedTo(t *testing.T) {
	server := newFakeEndpoint(t)
	dir := t.TempDir()
	cfg := check.Value(config.Load("", map[string]any{"data": dir, "listen": "127.0.0.1:0"}))(t)
	e, stop := up(t, cfg)
	put(t, e, "tides", "Tells when the tide is low.")
	await(t, func() bool { return indexed(e, "tides") })
	stop()
	uses := func(number int) {
		t.Helper()
		await(t, func() bool { return theIndexes.get(e.Process).Live().Number == number && indexed(e, "tides") })
	}
	e, stop = up(t, withEndpoint(t, server.URL, dir))
	uses(2)
	wantStatus(t, call(e, "", "POST", "/v1/reindex", `{"back":true}`), 202)
	uses(1)
	stop()
	e, stop = up(t, withEndpoint(t, server.URL, dir))
	if r := theIndexes.get(e.Process).Report(t.Context()); r.Target != 1 {
		t.Errorf("the request does not hold: %+v", r)
	}
	stop()
	e, stop = up(t, cfg)
	uses(1)
	stop()
	e, stop = up(t, withEndpoint(t, server.URL, dir))
	uses(2)
	stop()

	cfg = withEndpoint(t, server.URL, dir)
	cfg.Embedder.Model = "onnx:absent"
	if _, err := OpenEmbedded(t.Context(), cfg, slog.New(slog.DiscardHandler), "test"); err == nil || !strings.Contains(err.Error(), "onnx:absent") {
		t.Errorf("a model that is not there: %v", err)
	}
}

// Whether a model may be had later is told apart from that somebody has to mend something.
func TestAModelBehindAnEndpointThatDoesNotAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch body, _ := io.ReadAll(r.Body); {
		case strings.Contains(string(body), "resting"):
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		case strings.Contains(string(body), "locked"):
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"data":[{"embedding":[1,0,1]}]}`)
		}
	}))
	t.Cleanup(server.Close)
	e, _ := up(t, withEndpoint(t, server.URL, t.TempDir()))
	for name, want := range map[string]int{"resting": 503, "locked": 422} {
		w := call(e, "", "POST", "/v1/reindex", `{"model":"http:`+name+`"}`)
		if w.Code != want || !strings.Contains(w.Body.String(), "embedding endpoint") || strings.Contains(w.Body.String(), "plan") {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, want)
		}
	}
}

// Only files in models.dir are read for a caller, and it is not told which others there
// are.
func TestAModelIsLoadedFromItsFolderAlone(t *testing.T) {
	cfg := emptyFolder(t)
	cfg.Models.Dir = t.TempDir()
	outside := filepath.Join(t.TempDir(), "other.static")
	for path, text := range map[string]string{outside: "no model", filepath.Join(cfg.Models.Dir, "damaged"): "no model"} {
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	check.OK(t, os.Mkdir(filepath.Join(cfg.Models.Dir, "folder"), 0o700))
	e, _ := up(t, cfg)
	said := ""
	for _, model := range []string{
		"static:/dev/zero", "static:" + outside, "static:/not/there", "static:../other.static", "static:..", "static:.",
		"static:absent", "static:damaged", "static:folder", "onnx:absent", "onnx:../x",
	} {
		w := call(e, "", "POST", "/v1/reindex", `{"model":"`+model+`"}`)
		if w.Code != 422 || said != "" && w.Body.String() != said {
			t.Errorf("%s: %d %s", model, w.Code, w.Body)
		}
		said = w.Body.String()
	}
}

// An index version that cannot be opened in this process says why, and hurts nothing.
func TestAModelThatIsNotHereHurtsNothing(t *testing.T) {
	cfg := check.Value(config.Load("", map[string]any{"data": t.TempDir(), "listen": "127.0.0.1:0"}))(t)
	e, _ := up(t, cfg)
	put(t, e, "tides", "Tells when the tide is low.")
	await(t, func() bool { return indexed(e, "tides") })
	for _, body := range []string{`{}`, `{"back":true,"finish":true}`, `{"model":"static","back":true}`} {
		if w := call(e, "", "POST", "/v1/reindex", body); w.Code != 422 {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	if w := call(e, "", "POST", "/v1/reindex", `{"model":"static"}`); w.Code != 409 {
		t.Errorf("the same model: %d %s", w.Code, w.Body)
	}

	// Another process could load it.
	if _, err := theIndexes.get(e.Process).Plan.Change(t.Context(), func(p reindex.Plan) (reindex.Plan, error) {
		return p.Next(reindex.Version{Setting: "static:/not/there", Model: "elsewhere", Dimensions: 3})
	}); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool {
		r := theIndexes.get(e.Process).Report(t.Context())
		return len(r.Versions) == 2 && strings.Contains(r.Versions[1].Problem, "/not/there") && r.Versions[1].State == reindex.StateBuilding
	})
	put(t, e, "parcels", "Tracks a parcel.")
	await(t, func() bool { return indexed(e, "parcels") })
	if resp := found(t, e, "track a parcel"); len(resp.Degraded) > 0 || resp.Results[0].ID != "parcels" {
		t.Errorf("%+v", resp)
	}
	if w := call(e, "", "POST", "/v1/reindex", `{"finish":true}`); w.Code != 409 {
		t.Errorf("gave up what is to be searched: %d %s", w.Code, w.Body)
	}
	if w := call(e, "", "POST", "/v1/reindex", `{"back":true}`); w.Code != 202 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := call(e, "", "POST", "/v1/reindex", `{"finish":true}`); w.Code != 202 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	await(t, func() bool { return len(theIndexes.get(e.Process).Report(t.Context()).Versions) == 1 })
}
