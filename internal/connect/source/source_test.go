package source

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestSpecsAreChecked(t *testing.T) {
	for text, wrong := range map[string]string{
		`{"kind":"mcp","url":"https://host/mcp","every":"5m"}`:             "",
		`{"kind":"mcp","command":["npx","server"],"deletes":"never"}`:      "",
		`{"kind":"folder","url":"/srv/specs"}`:                             "",
		`{"kind":"folder","url":"specs"}`:                                  "/url",
		`{"kind":"kubernetes"}`:                                            "",
		`{"kind":"kubernetes","namespaces":["shop"],"selector":"team=a"}`:  "",
		`{"kind":"kubernetes","namespaces":["shop/x"]}`:                    "/namespaces",
		`{"kind":"kubernetes","url":"https://host"}`:                       "/url",
		`{"kind":"kubernetes","auth":{"credential":"a"}}`:                  "/url",
		`{"kind":"caddy","url":"http://host:2019","document":"spec.json"}`: "",
		`{"kind":"traefik"}`:                                               "/url",
		`{"kind":"openapi","url":"https://host","document":"spec.json"}`:   "/document",
		`{"kind":"mcp","url":"https://host","selector":"team=a"}`:          "/namespaces",
		`{"kind":"mcp"}`: "/url",
		`{"kind":"mcp","url":"https://host","command":["npx"]}`:     "/command",
		`{"kind":"mcp","command":[""]}`:                             "/command",
		`{"kind":"openapi","command":["npx"]}`:                      "/command",
		`{"kind":"openapi","url":"file:///etc/passwd"}`:             "/url",
		`{"kind":"openapi","url":"https://me:secret@host/"}`:        "/url",
		`{"kind":"mcp","url":"https://host","every":"1s"}`:          "/every",
		`{"kind":"mcp","url":"https://host","deletes":"sometimes"}`: "/deletes",
		`{"kind":"mcp","url":"https://host","provider":" a"}`:       "/provider",
	} {
		var s Spec
		check.OK(t, json.Unmarshal([]byte(text), &s))
		err := s.Validate()
		var invalid *schema.Invalid
		switch {
		case wrong == "" && err != nil, wrong != "" && (!errors.As(err, &invalid) || invalid.Path != wrong):
			t.Errorf("%s: %v, want %q", text, err, wrong)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: the error has the password: %v", text, err)
		}
	}
}

func TestDurationsAreText(t *testing.T) {
	raw, err := json.Marshal(Spec{Kind: MCP, Every: Duration(90 * time.Second)})
	if err != nil || string(raw) != `{"kind":"mcp","every":"1m30s"}` {
		t.Errorf("%s, %v", raw, err)
	}
	var s Spec
	if err := json.Unmarshal([]byte(`{"every":"soon"}`), &s); err == nil {
		t.Error("soon is taken for a time")
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{"github": true, "A-1_b": true, "": false, "-a": false, "a.b": false, "a/b": false, strings.Repeat("a", 65): false} {
		if got := ValidateName(name) == nil; got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
