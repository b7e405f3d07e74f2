package schema

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// pathOf returns the path of an Invalid, "ok" for no error.
func pathOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return "ok"
	}
	var bad *Invalid
	if !errors.As(err, &bad) {
		t.Fatalf("%v is no *Invalid", err)
	}
	return bad.Path
}

func TestValidateID(t *testing.T) {
	cases := []struct {
		name, id string
		ok       bool
	}{
		{"plain", "weather/get_forecast", true},
		{"anything visible", "GET /users/{id}?a=*&b=> ü 東京 🌦", true},
		{"the longest", strings.Repeat("x", 256), true},
		{"empty", "", false},
		{"too long", strings.Repeat("x", 257), false},
		{"too long in bytes", strings.Repeat("é", 129), false},
		{"leading space", " x", false},
		{"trailing wide space", "x\u3000", false},
		{"newline", "a\nb", false},
		{"NUL", "a\x00b", false},
		{"zero width", "a\u200bb", false},
		{"right-to-left override", "a\u202eb", false},
		{"tag character", "a\U000e0041b", false},
		{"decomposed", "e\u0301", false},
		{"composed", "é", true},
		{"not UTF-8", "a\xff", false},
		{"private use", "\ue000", true},
	}
	for _, c := range cases {
		if err := ValidateID(c.id); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		} else if got := pathOf(t, err); err != nil && got != "/id" {
			t.Errorf("%s: path %s", c.name, got)
		}
	}
}

func TestValidateTenant(t *testing.T) {
	for tenant, ok := range map[string]bool{
		"default": true, "a": true, "0-_": true, strings.Repeat("t", 63): true,
		"": false, "-a": false, "A": false, "a/b": false, "a.b": false, "a\n": false, strings.Repeat("t", 64): false,
	} {
		if err := ValidateTenant(tenant); (err == nil) != ok {
			t.Errorf("%q: %v", tenant, err)
		}
	}
}

func TestNormalize(t *testing.T) {
	one := []Need{{UserIntent: "weather"}}
	cases := []struct {
		name string
		req  SearchRequest
		path string
	}{
		{"plain", SearchRequest{Query: "weather"}, "ok"},
		{"empty", SearchRequest{}, "/query"},
		{"blank", SearchRequest{Query: " \t\u200b"}, "/query"},
		{"needs instead of a query", SearchRequest{Needs: one}, "ok"},
		{"an empty need", SearchRequest{Query: "q", Needs: []Need{{}}}, "/needs/0"},
		{"too long", SearchRequest{Query: strings.Repeat("x", MaxQuery+1)}, "/query"},
		{"not UTF-8", SearchRequest{Query: "a\xffb"}, "/query"},
		{"long need", SearchRequest{Needs: []Need{{ToolDescription: strings.Repeat("x", MaxNeedText+1)}}}, "/needs/0/tool_description"},
		{"an empty step", SearchRequest{Query: "q", Steps: []string{"a", " "}}, "/steps/1"},
		{"a long step", SearchRequest{Steps: []string{strings.Repeat("x", MaxNeedText+1)}}, "/steps/0"},
		{"many steps", SearchRequest{Query: "q", Steps: make([]string, MaxNeeds+1)}, "/steps"},
		{"steps and needs", SearchRequest{Steps: []string{"a"}, Needs: []Need{{UserIntent: "a"}}}, "/steps"},
		{"many needs", SearchRequest{Query: "q", Needs: make([]Need, MaxNeeds+1)}, "/needs"},
		{"negative k", SearchRequest{Query: "q", K: -1}, "/k"},
		{"unknown rank", SearchRequest{Query: "q", Rank: "cats"}, "/rank"},
		{"rewrite that only an answer has", SearchRequest{Query: "q", Rewrite: RewriteLLM}, "/rewrite"},
		{"nameless argument", SearchRequest{Query: "q", Arguments: map[string]string{" ": "x"}}, "/arguments/ "},
		{"escaped path", SearchRequest{Query: "q", Arguments: map[string]string{"a/b~c": "\xff"}}, "/arguments/a~1b~0c"},
		{"invisible path", SearchRequest{Query: "q", Arguments: map[string]string{"a\nb": "\xff"}}, "/arguments/a\ufffdb"},
		{"unknown kind", SearchRequest{Query: "q", Filters: Filters{Kinds: []Kind{"tool", "cat"}}}, "/filters/kinds/1"},
		{"many terms", SearchRequest{Query: "q", Filters: Filters{Tags: make([]string, MaxFilters+1)}}, "/filters/tags"},
	}
	for _, c := range cases {
		_, err := c.req.Normalize()
		if got := pathOf(t, err); got != c.path {
			t.Errorf("%s: %s (%v)", c.name, got, err)
		}
	}
}

func TestNormalizeFillsDefaults(t *testing.T) {
	r := SearchRequest{Query: "q"}
	if capped, err := r.Normalize(); capped || err != nil {
		t.Fatal(capped, err)
	}
	if r.K != 10 || r.Rank != RankTools || r.Rewrite != RewriteAuto {
		t.Fatalf("%+v", r)
	}
	r.K = 1_000_000_000
	if capped, err := r.Normalize(); !capped || err != nil || r.K != MaxK {
		t.Fatal(capped, err, r.K)
	}
}

func TestFeedbackValidate(t *testing.T) {
	good := Feedback{SearchID: "s", ToolID: "t", Event: Called}
	cases := []struct {
		name  string
		spoil func(*Feedback)
		path  string
	}{
		{"good", func(*Feedback) {}, "ok"},
		{"no search", func(f *Feedback) { f.SearchID = "" }, "/search_id"},
		{"bad tool", func(f *Feedback) { f.ToolID = "a\x00" }, "/tool_id"},
		{"unknown event", func(f *Feedback) { f.Event = "liked" }, "/event"},
		{"long id", func(f *Feedback) { f.ID = strings.Repeat("x", MaxFeedbackID+1) }, "/id"},
		{"bad tenant", func(f *Feedback) { f.Tenant = "A/B" }, "/tenant"},
	}
	for _, c := range cases {
		f := good
		c.spoil(&f)
		if got := pathOf(t, f.Validate()); got != c.path {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	if good.Identity() != "s/t/called" {
		t.Error(good.Identity())
	}
	good.ID = "mine"
	if good.Identity() != "mine" {
		t.Error(good.Identity())
	}
}

func TestDocumentValidate(t *testing.T) {
	good := func() Document {
		return Document{Name: "n", Description: "d", Tags: []string{"t"}, Parameters: []Parameter{{Name: "p"}}, Examples: []string{"e"}, Quality: QualityLow}
	}
	cases := []struct {
		name  string
		spoil func(*Document)
		path  string
	}{
		{"good", func(*Document) {}, "ok"},
		{"no name", func(d *Document) { d.Name = " " }, "/name"},
		{"long description", func(d *Document) { d.Description = strings.Repeat("x", MaxDescription+1) }, "/description"},
		{"quality", func(d *Document) { d.Quality = "best" }, "/quality"},
		{"tag", func(d *Document) { d.Tags[0] = "\xff" }, "/tags/0"},
		{"examples", func(d *Document) { d.Examples = make([]string, MaxExamples+1) }, "/examples"},
		{"flags", func(d *Document) { d.Flags = []string{strings.Repeat("x", 300)} }, "/flags/0"},
		{"parameters", func(d *Document) { d.Parameters = make([]Parameter, MaxParameters+1) }, "/parameters"},
		{"parameter name", func(d *Document) { d.Parameters[0].Name = "" }, "/parameters/0/name"},
		{"default", func(d *Document) { d.Parameters[0].Default = strings.Repeat("x", MaxParameterText+1) }, "/parameters/0/default"},
		{"refused answer", func(d *Document) { d.Standardized = &Origin{Refused: strings.Repeat("x", MaxRefused+1)} }, "/standardized/refused"},
		{"violations", func(d *Document) { d.Standardized = &Origin{Violations: make([]string, MaxViolations+1)} }, "/standardized/violations"},
		{"enum", func(d *Document) { d.Parameters[0].Enum = []string{"a", "\xff"} }, "/parameters/0/enum/1"},
	}
	for _, c := range cases {
		d := good()
		c.spoil(&d)
		if got := pathOf(t, d.Validate()); got != c.path {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

func TestUsageValidate(t *testing.T) {
	good := func() Usage {
		return Usage{Schema: 1, Tenant: "default", Prior: map[string]float64{"a": 1}, CoUse: map[string]map[string]float64{"a": {"b": 2}}}
	}
	cases := []struct {
		name  string
		spoil func(*Usage)
		path  string
	}{
		{"good", func(*Usage) {}, "ok"},
		{"schema", func(u *Usage) { u.Schema = 9 }, "/schema"},
		{"tenant", func(u *Usage) { u.Tenant = "" }, "/tenant"},
		{"no count", func(u *Usage) { u.CoUse["a"]["b"] = 800 }, "/co_use/a/b"},
		{"NaN", func(u *Usage) { u.Prior["a/b"] = math.NaN() }, "/prior/a~1b"},
		{"negative", func(u *Usage) { u.CoUse["a"]["b"] = -1 }, "/co_use/a/b"},
		{"infinite", func(u *Usage) { u.CoUse["a"]["b"] = math.Inf(1) }, "/co_use/a/b"},
		{"a long name", func(u *Usage) { u.Model = strings.Repeat("m", MaxModel+1) }, "/model"},
		{"directions of one length", func(u *Usage) { u.Asked = map[string][]Direction{"a": {{1, 2}}, "b": nil, "c": {{3, 4}}} }, "ok"},
		{"directions of two lengths", func(u *Usage) { u.Asked = map[string][]Direction{"a": {{1, 2}}, "b": {{1, 2, 3}}} }, "/asked/b"},
		{"an empty direction", func(u *Usage) { u.Asked = map[string][]Direction{"a": {{}}} }, "/asked/a"},
		{"zeros", func(u *Usage) { u.Asked = map[string][]Direction{"a": {{0, 0}}} }, "/asked/a"},
		{"too many directions", func(u *Usage) {
			u.Asked = map[string][]Direction{"a/b": slices.Repeat([]Direction{{1, 2}}, MaxAsked+1)}
		}, "/asked/a~1b"},
		{"an outcome of two lengths", func(u *Usage) { u.Came = []Outcome{{Query: Direction{1, 2}}, {Query: Direction{1}}} }, "/came/1/query"},
		{"an outcome that is not finite", func(u *Usage) { u.Came = []Outcome{{Query: Direction{1}, Tools: map[string]float64{"a": math.NaN()}}} }, "/came/0/tools/a"},
	}
	for _, c := range cases {
		u := good()
		c.spoil(&u)
		if got := pathOf(t, u.Validate()); got != c.path {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

func TestErrorsQuoteAtMost200Characters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "value")
		s = strings.Repeat(s, rapid.IntRange(1, 100).Draw(t, "times"))
		got := Quote(s)
		if n := utf8.RuneCountInString(got); n > maxQuoted {
			t.Fatalf("%d characters", n)
		}
		if strings.ContainsFunc(got, isInvisible) {
			t.Fatalf("invisible characters in %q", got)
		}
	})
	if err := ValidateID(strings.Repeat("x", 1000)); len(err.Error()) > 300 {
		t.Fatal(err)
	}
}

func TestErrorsQuoteObjectsAsJSON(t *testing.T) {
	for want, v := range map[string]any{
		`{"a":[1,null,"<b>"]}`:   map[string]any{"a": []any{1.0, nil, "<b>"}},
		`[{"a\u202e":"\u00e9"}]`: []any{map[string]any{"a\u202e": "é"}},
		"[]":                     []any{},
	} {
		if got := Quote(v); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := Quote([]any{strings.Repeat("x", 1000)}); utf8.RuneCountInString(got) > maxQuoted {
		t.Error(got)
	}
}

func TestVersionNewer(t *testing.T) {
	for _, c := range []struct {
		v, old Version
		want   bool
	}{
		{Version{Revision: 2}, Version{Revision: 1}, true},
		{Version{Revision: 1}, Version{Revision: 1}, false},
		{Version{Revision: 1, Source: 7}, Version{Revision: 2, Source: 6}, true},
		{Version{Revision: 3, Source: 6}, Version{Revision: 2, Source: 7}, false},
		{Version{Revision: 3, Source: 7}, Version{Revision: 2, Source: 7}, true},
		{Version{Revision: 3}, Version{Revision: 2, Source: 7}, true},
		{Version{Revision: 7, Edition: 4}, Version{Revision: 7, Edition: 3}, true},
		{Version{Revision: 7, Edition: 1}, Version{Revision: 7}, true},
		{Version{Revision: 7, Edition: 9}, Version{Revision: 8}, false},
		{Version{Revision: 9, Source: 1, Edition: 9}, Version{Revision: 8, Source: 2}, false},
		{Version{Revision: 7, Source: 2, Edition: 2}, Version{Revision: 7, Source: 2, Edition: 1}, true},
	} {
		if got := c.v.Newer(c.old); got != c.want || got && c.old.Newer(c.v) {
			t.Errorf("%v newer than %v: %v", c.v, c.old, got)
		}
	}
}
