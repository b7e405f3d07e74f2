package dataset

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

const anExport = `{"part":"tenant","value":{"tenant":"acme"}}
{"id":"sea","kind":"provider","document":{"name":"Harbour","description":"Ships."}}
{"id":"sea/ferry","provider":"sea","kind":"tool","document":{"name":"ferry"}}
{"id":"sea/berth","provider":"sea","kind":"tool","document":{"name":"berth"}}
{"id":"bay/ferry","provider":"bay","kind":"tool","document":{"name":"ferry"}}
{"id":"sea/tide","provider":"sea","kind":"tool","document":"prose"}
{"part":"value","value":{"bucket":"weights","key":"k","value":{}}}
{"part":"search","value":{"search_id":"s2","query":"Cross the  BAY","time":"2026-01-02T00:00:00Z","shown":[{"id":"sea/berth"}]}}
{"part":"search","value":{"search_id":"s1","query":"cross the bay","time":"2026-01-01T00:00:00Z","shown":[{"id":"sea/ferry","features":[1],"also":[{"id":"bay/ferry"}]}]}}
{"part":"search","value":{"search_id":"s3","query":"when is the flood","time":"2026-01-03T00:00:00Z","shown":[{"id":"sea/tide"}]}}
{"part":"search","value":{"search_id":"s4","query":"moor","time":"2026-01-04T00:00:00Z","shown":[{"id":"sea/berth"}]}}
{"part":"feedback","value":{"search_id":"s1","tool_id":"sea/ferry","event":"called","time":"2026-01-01T00:00:01Z"}}
{"part":"feedback","value":{"search_id":"s1","tool_id":"bay/ferry","event":"selected","time":"2026-01-01T00:00:01Z"}}
{"part":"feedback","value":{"search_id":"s2","tool_id":"sea/ferry","event":"succeeded","time":"2026-01-02T00:00:01Z"}}
{"part":"feedback","value":{"search_id":"s3","tool_id":"sea/tide","event":"called","time":"2026-01-03T00:00:01Z"}}
{"part":"feedback","value":{"search_id":"s3","tool_id":"sea/tide","event":"failed","time":"2026-01-03T00:00:02Z"}}
{"part":"feedback","value":{"search_id":"s4","tool_id":"sea/berth","event":"selected","time":"2026-01-04T00:00:01Z"}}
{"part":"feedback","value":{"search_id":"s4","tool_id":"sea/gone","event":"called","time":"2026-01-04T00:00:01Z"}}
{"part":"feedback","value":{"search_id":"unknown","tool_id":"sea/berth","event":"called","time":"2026-01-04T00:00:01Z"}}
`

func TestAnExportBecomesQuestions(t *testing.T) {
	var ids []string
	e := check.Value(ReadExport(strings.NewReader(anExport), func(tool Tool) error {
		ids = append(ids, tool.Provider+":"+tool.ID)
		return nil
	}))(t)
	if got := strings.Join(ids, " "); got != "sea:sea/ferry sea:sea/berth bay:bay/ferry sea:sea/tide" {
		t.Errorf("the tools are %s", got)
	}
	if len(e.Providers) != 1 || e.Providers[0] != (Provider{ID: "sea", Name: "Harbour", Description: "Ships."}) {
		t.Errorf("the providers are %+v", e.Providers)
	}
	labelled, open, gone := e.Questions()
	text, err := json.Marshal(map[string]any{"labelled": labelled, "open": open, "gone": gone})
	const want = `{"gone":1,"labelled":[` +
		`{"id":"s1","query":"cross the bay","labels":[{"id":"sea/ferry","relevance":1,"alternatives":["bay/ferry"]}]},` +
		`{"id":"s4","query":"moor","labels":[{"id":"sea/berth","relevance":1}]}],` +
		`"open":[{"id":"s3","query":"when is the flood","labels":[]}]}`
	if err != nil || string(text) != want {
		t.Errorf("the questions are\n%s, want\n%s (%v)", text, want, err)
	}
}

func TestAnExportThatBrokeOffIsAnError(t *testing.T) {
	none := func(Tool) error { return nil }
	if _, err := ReadExport(strings.NewReader(anExport[:len(anExport)-20]), none); err == nil || !strings.Contains(err.Error(), "export:19") {
		t.Errorf("half a line: %v", err)
	}
	full := errors.New("the disk is full")
	if _, err := ReadExport(strings.NewReader(anExport), func(Tool) error { return full }); !errors.Is(err, full) {
		t.Errorf("a tool is not written: %v", err)
	}
}
