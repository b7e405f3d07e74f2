package documents

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
)

const (
	card03 = `{"protocolVersion":"0.3.0","name":"Travel","description":"Books trips.","url":"https://travel.example/a2a","preferredTransport":"JSONRPC","version":"1",
		"capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
		"skills":[{"id":"book","name":"Book","description":"Books a flight.","tags":["air"]},{"id":"cancel","name":"Cancel","description":"Cancels it.","tags":[]}]}`
	card10 = `{"name":"Travel","description":"Books trips.","version":"2","capabilities":{"extendedAgentCard":false},
		"supportedInterfaces":[{"url":"https://travel.example/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
		"skills":[{"id":"book","name":"Book","description":"Books a flight.","tags":["air"]}]}`
)

func TestAnAgentIsReadByItsCard(t *testing.T) {
	for path, at := range map[string]string{"": wellKnown, "/": wellKnown, "/agents/travel.json": "/agents/travel.json"} {
		w := &web{etags: true, files: map[string]string{at: card03}}
		s := openAs(t, Card{}, w, path)
		l := list(t, s, true)
		if ids, raw := tools(t, l); ids != "shop, shop/book, shop/cancel" || !strings.Contains(raw, "Books a flight.") {
			t.Errorf("%q: %s", path, ids)
		}
		if string(l.Owner) != `{"description":"Books trips.","name":"Travel"}` {
			t.Errorf("%s", l.Owner)
		}
		if l = list(t, s, false); !l.Same {
			t.Errorf("the server says that nothing has changed: %+v", l)
		}
		w.files[at] = card10
		if ids, _ := tools(t, list(t, s, false)); ids != "shop, shop/book" {
			t.Errorf("%q after it moved to 1.0: %s", path, ids)
		}
	}
}

// An empty skill is three bytes: skills are counted before they are decoded.
func TestTheSkillsOfACardAreCounted(t *testing.T) {
	w := &web{files: map[string]string{wellKnown: `{"name":"Travel","skills":[` + strings.Repeat("{},", 1000) + `{}]}`}}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	for tools, want := range map[int]error{1000: source.ErrSize, 1001: nil} {
		s := check.Value(Card{}.Connect(t.Context(), source.Place{URL: server.URL, Client: server.Client(), Limits: source.Limits{Tools: tools, Bytes: 1 << 20}}, nil))(t)
		if _, err := s.List(t.Context(), true); !errors.Is(err, want) {
			t.Errorf("at most %d: %v", tools, err)
		}
	}
}

func TestWhatIsNoCard(t *testing.T) {
	for _, text := range []string{`<html>Sign in</html>`, `{"error":"gone"}`, `[]`, `{"name":"Travel"}`, ``} {
		s := openAs(t, Card{}, &web{files: map[string]string{wellKnown: text}}, "")
		if _, err := s.List(t.Context(), true); !errors.Is(err, errCard) {
			t.Errorf("%s: %v", text, err)
		}
	}
	var retry *source.RetryError
	if _, err := openAs(t, Card{}, &web{status: 503}, "").List(t.Context(), true); !errors.As(err, &retry) {
		t.Errorf("503: %v", err)
	}
}

// What a catalogue of Docker's names: servers elsewhere, images whose tools it describes,
// and what can be neither asked nor described.
const catalogue = `
version: 2
name: docker-mcp
registry:
  astro: {title: Astro Docs, description: Reads docs., type: remote, remote: {transport_type: streamable-http, url: "https://mcp.docs.example/mcp"}, tools: []}
  time:
    title: Time
    description: Tells the time.
    type: server
    image: mcp/time@sha256:aaaa
    tools:
      - {name: now, description: Tells the time now., arguments: [{name: zone, type: string, desc: Time zone}, {name: form, type: string, desc: Form, optional: true}]}
      - name: convert
  curl:
    description: Runs curl.
    type: poci
    tools: [{name: curl, description: Asks an address., container: {image: curl}, parameters: {type: object, properties: {url: {type: string, description: Address}}, required: [url]}}]
  notion: {description: Pages., type: remote, remote: {url: "https://mcp.notion.example/mcp"}, oauth: {providers: [{provider: notion}]}}
  bare: {description: Nothing., type: server, image: mcp/bare, tools: [{name: a}]}
  broken: [1, 2]
`

func TestACatalogueNamesSourcesAndDescribesTools(t *testing.T) {
	l := list(t, openAs(t, Catalog{}, &web{files: map[string]string{"/catalog.yaml": catalogue}}, "/catalog.yaml"), true)
	ids, raw := tools(t, l)
	if ids != "curl/curl, time/now" {
		t.Errorf("%s", ids)
	}
	for _, part := range []string{`"required":["zone"]`, `"required":["url"]`} {
		if !strings.Contains(raw, part) {
			t.Errorf("%s lacks %s", raw, part)
		}
	}
	var named []string
	for _, f := range l.Found {
		named = append(named, fmt.Sprint(f.Name, " ", f.Spec.URL, f.Problem))
	}
	want := "astro https://mcp.docs.example/mcp; bare " + source.NeedsCommand + "; broken its entry cannot be read; notion it needs a credential: add it by hand"
	if got := strings.Join(named, "; "); got != want {
		t.Errorf("%s", got)
	}
	if string(l.Found[0].Owner) != `{"description":"Reads docs.","name":"Astro Docs"}` {
		t.Errorf("%s", l.Found[0].Owner)
	}
}

// A small catalogue whose entries refer to one large part is no more than others may be.
func TestACatalogueThatUnfoldsIsTooLarge(t *testing.T) {
	var text strings.Builder
	text.WriteString("part: &part {type: object, description: \"" + strings.Repeat("x", 10<<10) + "\"}\nregistry:\n")
	for i := range 2000 {
		fmt.Fprintf(&text, "  s%d: {tools: [{name: a, description: b, parameters: *part}]}\n", i)
	}
	s := openAs(t, Catalog{}, &web{files: map[string]string{"/c": text.String()}}, "/c")
	if l, err := s.List(t.Context(), true); !errors.Is(err, source.ErrSize) {
		t.Errorf("%d documents, %v", len(l.Documents), err)
	}
}

func TestACatalogueIsBounded(t *testing.T) {
	w := &web{files: map[string]string{"/c": "registry: {}\n#" + strings.Repeat("x", maxCatalog)}}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	s := check.Value(Catalog{}.Connect(t.Context(), source.Place{URL: server.URL + "/c", Client: server.Client(), Limits: source.Limits{Bytes: 2 * maxCatalog}}, nil))(t)
	if _, err := s.List(t.Context(), true); !errors.Is(err, source.ErrSize) {
		t.Errorf("%v", err)
	}
}

func TestTheValuesOfACatalogueAreCounted(t *testing.T) {
	text := "registry: {a: {tools: [{name: a, description: b, parameters: {x: [" + strings.Repeat("1,", 510_000) + "]}}]}}"
	s := openAs(t, Catalog{}, &web{files: map[string]string{"/c": text}}, "/c")
	if l, err := s.List(t.Context(), true); !errors.Is(err, source.ErrSize) {
		t.Errorf("%d documents, %v", len(l.Documents), err)
	}
}

func TestWhatIsNoCatalogue(t *testing.T) {
	for _, text := range []string{`<html>Sign in</html>`, `{"error":"gone"}`, "registry: 1", "", "a: [", "registry:\n"} {
		if _, err := openAs(t, Catalog{}, &web{files: map[string]string{"/c": text}}, "/c").List(t.Context(), true); !errors.Is(err, errCatalog) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
