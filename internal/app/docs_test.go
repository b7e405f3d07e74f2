package app

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
)

// document returns the page that says what the API is.
func document(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// embedded opens everything in a folder of its own, without running it.
func embedded(t *testing.T) *Embedded {
	t.Helper()
	cfg, err := config.Load("", map[string]any{"data": t.TempDir(), "listen": "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := OpenEmbedded(t.Context(), cfg, slog.New(slog.DiscardHandler), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// served returns the calls of the served OpenAPI document, as "PUT /path",
// each with its query parameters.
func served(t *testing.T, e *Embedded) map[string][]string {
	t.Helper()
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, httptest.NewRequest("GET", local+"/openapi.json", nil))
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || len(doc.Paths) == 0 {
		t.Fatalf("%v: %d %s", err, w.Code, w.Body)
	}
	calls := map[string][]string{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			call := strings.ToUpper(method) + " " + path
			calls[call] = []string{}
			for _, p := range op.Parameters {
				if p.In == "query" {
					calls[call] = append(calls[call], p.Name)
				}
			}
		}
	}
	return calls
}

var documented = regexp.MustCompile("(?m)^\\| `((?:GET|PUT|POST|DELETE|OPTIONS) /[^`]*)` \\|(.*)$")

func TestEveryCallIsDocumentedAndServed(t *testing.T) {
	page := document(t)
	calls := served(t, embedded(t))
	operational := []string{"GET /healthz", "GET /readyz", "GET /metrics"} // outside the OpenAPI document
	known := slices.Concat(slices.Collect(maps.Keys(calls)), operational)
	var told []string
	for _, row := range documented.FindAllStringSubmatch(page, -1) {
		told = append(told, row[1])
	}
	slices.Sort(known)
	slices.Sort(told)
	if !slices.Equal(known, told) {
		t.Errorf("docs/api.md names the calls\n%q, served are\n%q", told, known)
	}
	for call, parameters := range calls {
		for _, name := range parameters {
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("docs/api.md does not name the parameter %q of %s", name, call)
			}
		}
	}
}

func TestWhatIsServedBesideTheAPIIsThere(t *testing.T) {
	e := embedded(t)
	for path, status := range map[string]int{"/healthz": 200, "/readyz": 503, "/metrics": 200, "/openapi.yaml": 200} {
		w := httptest.NewRecorder()
		e.handler.ServeHTTP(w, httptest.NewRequest("GET", local+path, nil))
		if w.Code != status {
			t.Errorf("%s: status %d, want %d", path, w.Code, status)
		}
	}
}

var setting = regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| `(TOOLSTREAM_[A-Z_]+)` \\| (\\S+) \\|")

func TestEverySettingIsDocumented(t *testing.T) {
	var told [][3]string
	for _, row := range setting.FindAllStringSubmatch(document(t), -1) {
		told = append(told, [3]string{row[1], row[2], strings.Trim(row[3], "`–")})
	}
	var known [][3]string
	for _, key := range config.Keys() {
		if key.Name == "data" {
			key.Default = "~/.local/share/toolstream" // of whoever is at home
		}
		known = append(known, [3]string{key.Name, key.Env(), key.Default})
	}
	if !slices.Equal(told, known) {
		t.Errorf("docs/api.md says\n%q, settings are\n%q", told, known)
	}
}
