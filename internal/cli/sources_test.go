package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
)

func TestSourcesAreAddedShownAndRemoved(t *testing.T) {
	var asked []string
	looks := 0
	source := func() string {
		looks++
		return fmt.Sprintf(`{"name":"shop","kind":"mcp","url":"https://shop.example/mcp","state":"held","tools":3,"last_look":"2026-01-01T00:00:%02dZ",
			"last_success":"2026-01-01T00:00:00Z","last_change":"2026-01-01T00:00:00Z","changed":{"added":3,"changed":0,"removed":0},"last_changes":{"added":["shop/a","shop/b","shop/c"],"changed":[],"removed":[]},
			"held":{"missing":2,"some":["shop/a","shop/b"],"digest":"d"}}`, min(looks, 3))
	}
	s := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, strings.TrimSpace(r.Method+" "+r.URL.String()+" "+string(body)))
		switch {
		case r.URL.Path == "/v1/sources":
			io.WriteString(w, `{"sources":[`+source()+`]}`)
		case r.URL.Path == "/v1/sources/cold":
			io.WriteString(w, `{"name":"cold","kind":"openapi","state":"paused","tools":1,"found":2}`)
		case strings.HasSuffix(r.URL.Path, ":test"):
			io.WriteString(w, `{"tools":1,"names":["shop/a"],"live":true,"took_ms":12,"problems":["shop/b: invalid"],"changed":{"added":1,"changed":0,"removed":21},"changes":{"added":["shop/a"],"changed":[],"removed":["shop/x"]}}`)
		default:
			io.WriteString(w, source())
		}
	})
	t.Setenv("TOOLSTREAM_SERVER", s)
	for _, tc := range []struct {
		args  string
		asks  string
		shows string
		code  int
	}{
		{"add shop --url https://shop.example/mcp --auth token --every 1m --wait", `PUT /v1/sources/shop {"kind":"mcp","url":"https://shop.example/mcp","auth":{"credential":"token"},"every":"1m0s","deletes":"guarded"}`, "shop is held, with 3 tools", program.Done},
		{"add files -- npx -y server", `PUT /v1/sources/files {"kind":"mcp","command":["npx","-y","server"],"deletes":"guarded"}`, "with 3 tools", program.Done},
		{"add shop --url ftp://x", "", "--url: must be an address", program.Usage},
		{"add shop --kind openapi -- npx", "", "COMMAND: is for the kind mcp alone", program.Usage},
		{"add shop --kind events --url https://x", "", "--mapping: is for the kind events, which needs it", program.Usage},
		{"add a.b --url https://x", "", "NAME is", program.Usage},
		{"list", "GET /v1/sources", "held   3", program.Done},
		{"list -o name", "GET /v1/sources", "shop\n", program.Done},
		{"show shop", "GET /v1/sources/shop", "toolstream sources sync shop --confirm", program.Done},
		{"show shop", "GET /v1/sources/shop", "ago: 3 added: shop/a, shop/b, shop/c\n", program.Done},
		{"test shop", "POST /v1/sources/shop:test", "1 tools in 12 ms; it says itself when they change\n  shop/a\n1 added: shop/a\n21 removed: shop/x, …\nnot taken: shop/b: invalid", program.Done},
		{"add shop --url https://shop.example/mcp --dry-run", `POST /v1/sources:test {"kind":"mcp","url":"https://shop.example/mcp","deletes":"guarded","name":"shop"}`, "1 added: shop/a", program.Done},
		{"sync shop", "POST /v1/sources/shop:sync", "shop is held", program.Done},
		{"sync shop --confirm", "POST /v1/sources/shop:confirm", "shop is held", program.Done},
		{"pause shop", "POST /v1/sources/shop:pause", "shop is held", program.Done},
		{"resume shop", "POST /v1/sources/shop:resume", "shop is held", program.Done},
		{"remove shop --keep-tools", "DELETE /v1/sources/shop?keep_tools=true", "shop is being removed", program.Done},
	} {
		asked, looks = nil, 0
		code, out, errOut := called(t, append([]string{"sources"}, strings.Fields(tc.args)...)...)
		if code != tc.code || !strings.Contains(out+errOut, tc.shows) || tc.asks != "" && !slices.Contains(asked, tc.asks) || tc.asks == "" && len(asked) > 0 {
			t.Errorf("%s: code %d, asked %q\n%s%s", tc.args, code, asked, out, errOut)
		}
		if strings.Contains(tc.args, "--wait") && len(asked) != 2 {
			t.Errorf("%s: asked %q", tc.args, asked)
		}
	}
	if code, out, errOut := called(t, "sources", "add", "cold", "--kind", "openapi", "--url", "https://cold.example", "--wait"); code != program.Done || out != "cold is paused, with 1 tools and 2 sources\n" {
		t.Errorf("a look at a paused source is waited for: code %d\n%s%s", code, out, errOut)
	}
	code, out, _ := called(t, "sources", "list", "--json")
	var list struct{ Sources []struct{ Name string } }
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != program.Done || len(list.Sources) != 1 || list.Sources[0].Name != "shop" {
		t.Errorf("%d %s %v", code, out, err)
	}
}

// A look that is over before the source is answered is the one that was waited for.
func TestAFastLookIsWaitedForOnce(t *testing.T) {
	var asked []string
	s := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method)
		if len(asked) == 1 && r.Method == http.MethodGet {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"name":"a","kind":"mcp","state":"refused","last_look":"2026-01-01T00:00:%02dZ","last_error":"not allowed"}`, len(asked))
	})
	t.Setenv("TOOLSTREAM_SERVER", s)
	if code, _, _ := called(t, "sources", "add", "a", "--url", "https://a.example/mcp", "--wait"); code == program.Done || !slices.Equal(asked, []string{"GET", "PUT"}) {
		t.Errorf("code %d, asked %q", code, asked)
	}
}
