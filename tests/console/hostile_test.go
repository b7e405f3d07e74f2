package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// hostiles are texts that a page which takes texts for markup would run or show as such. What
// runs sets the member ran of the window; what comes to be an element has the attribute
// data-hostile, or the address evil.invalid or one of javascript.
func hostiles() []string {
	return []string{
		`<script data-hostile>window.ran=1</script>`,
		`<img data-hostile src=x onerror="window.ran=1">`,
		`"><svg data-hostile onload=window.ran=1>`,
		`'><iframe data-hostile srcdoc="<script>parent.ran=1</script>">`,
		`<style data-hostile>*{display:none!important}</style>`,
		`</textarea></title><b data-hostile>bold</b>`,
		`javascript:window.ran=1`,
		`[click](javascript:window.ran=1) ![x](http://evil.invalid/x.png)`,
		`{{constructor.constructor('window.ran=1')()}} ${window.ran=1} {@html "<b data-hostile>"}`,
	}
}

// hostile brings such texts to wherever texts of others are shown, and returns what the
// script is told.
func (s *site) hostile(t *testing.T) about {
	t.Helper()
	texts := hostiles()
	var ids []string
	for n, text := range texts {
		id := "evil" + text + "/tool " + text
		ids = append(ids, id)
		s.submit(t, id, document(t, text, fmt.Sprint("Ferries sheep ", n, " ")+text))
		s.submit(t, id, document(t, text, fmt.Sprint("Ferries goats ", n, " ")+text))
		spec := source.Spec{Kind: source.MCP, URL: away + "/?q=" + text}
		if n%2 == 0 {
			spec.URL = refuses(t, text)
		}
		s.source(t, fmt.Sprint("evil-", n), spec)
	}
	grants := []policy.Grant{{Effect: policy.Allow, Action: policy.Find, On: "*", To: "*"}}
	for _, text := range texts {
		grants = append(grants, policy.Grant{Effect: policy.Allow, Action: policy.Call, On: "tag:" + text, To: "group:" + text})
	}
	s.grants(t, grants...)
	s.await(t, "hostile documents", func(st status.Status) bool {
		return st.Tools+st.Quarantined >= len(texts) && st.DeadLetters == len(texts)
	})
	for _, text := range texts {
		answer := check.Value(s.Client.Search(t.Context(), schema.SearchRequest{Query: "ferry goats " + text, K: 10}))(t)
		for _, r := range answer.Results {
			feedback(t, s.Client, answer.SearchID, r.ID)
		}
	}
	return s.about().with("texts", texts).with("ids", ids)
}

// hostileStrays are dead letters that hold such texts.
func hostileStrays(t *testing.T) (all []stray) {
	for _, text := range hostiles() {
		all = append(all, stray{"lost/" + text, document(t, text, text)})
	}
	return all
}

// document is one with a text in every part of it.
func document(t *testing.T, text, description string) string {
	t.Helper()
	raw := check.Value(json.Marshal(map[string]any{
		"name": text, "title": text, "description": description,
		"inputSchema": map[string]any{
			"type": "object", "required": []string{text},
			"properties": map[string]any{text: map[string]any{"type": "string", "description": text, "default": text, "examples": []string{text}}},
		},
		"annotations": map[string]any{"title": text}, "tags": []string{text}, text: text,
	}))(t)
	return string(raw)
}

// refuses is the address of a server that refuses everything with a text as the reason.
func refuses(t *testing.T, text string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "error": map[string]any{"code": -32000, "message": text}})
	}))
	t.Cleanup(server.Close)
	return server.URL
}
