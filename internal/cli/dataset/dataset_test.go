package dataset

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// write makes a data set of the given files; names ending in .gz are packed.
func write(t *testing.T, files map[string]string) *Set {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "small")
	check.OK(t, os.Mkdir(dir, 0o700))
	if _, ok := files[toolsFile]; !ok {
		files[toolsFile] = `{"id":"t1","documentation":"sends mail"}`
	}
	for name, text := range files {
		data := []byte(text)
		if strings.HasSuffix(name, ".gz") {
			data = pack(t, data)
		}
		check.OK(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return check.Value(Open(dir))(t)
}

func pack(t *testing.T, data []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	check.Value(w.Write(data))(t)
	check.OK(t, w.Close())
	return packed.Bytes()
}

func tools(s *Set) (list []Tool, err error) {
	for tool, err := range s.Tools() {
		if err != nil {
			return list, err
		}
		list = append(list, tool)
	}
	return list, nil
}

func TestOpen(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), toolsFile) {
		t.Error(err)
	}
	if s := write(t, map[string]string{}); s.Name != "small" {
		t.Error(s.Name)
	}
}

func TestTools(t *testing.T) {
	s := write(t, map[string]string{toolsFile + ".gz": "", toolsFile: "\ufeff" + `{"id":"t1","provider":"a","documentation":{"name": "x"}}` + "\n\n" +
		`{"id":"t2","documentation":"prose"}` + "\r\n"})
	got, err := tools(s)
	want := []Tool{{ID: "t1", Provider: "a", Documentation: []byte(`{"name": "x"}`)}, {ID: "t2", Documentation: []byte(`"prose"`)}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v %q", err, got)
	}
}

// Published sets say "agent" for provider.
func TestReadsAgents(t *testing.T) {
	s := write(t, map[string]string{
		toolsFile:  `{"id":"t1","agent":"a","documentation":"prose"}`,
		agentsFile: `{"id":"a","name":"Mail"}`,
	})
	for tool, err := range s.Tools() {
		if err != nil || tool.Provider != "a" {
			t.Errorf("%+v %v", tool, err)
		}
	}
	if got, err := s.Providers(); err != nil || len(got) != 1 || got[0].ID != "a" {
		t.Errorf("%v %v", got, err)
	}
}

func TestReadsGzip(t *testing.T) {
	s := write(t, map[string]string{providersFile + ".gz": `{"id":"a","name":"Mail","category":"office"}`})
	got, err := s.Providers()
	if want := []Provider{{ID: "a", Name: "Mail", Category: "office"}}; err != nil || !slices.Equal(got, want) {
		t.Fatalf("%v %v", got, err)
	}
}

func TestQueries(t *testing.T) {
	s := write(t, map[string]string{queriesFile: `{"id":"q1","query":"mail it","split":"dev","steps":["write","send"],
"labels":[{"id":"t1","relevance":2},{"id":"t2","alternatives":["t3"]}],
"rewritten_query":{"tool_needs":[{"user_intent":"send"}],"extracted_arguments":{"to":"who gets it","count":3,"a":"first"}}}`})
	path := filepath.Join(s.Dir, queriesFile)
	raw := check.Value(os.ReadFile(path))(t)
	check.OK(t, os.WriteFile(path, bytes.ReplaceAll(raw, []byte("\n"), nil), 0o600))
	got, err := s.Queries()
	want := []Query{{
		ID: "q1", Text: "mail it", Split: "dev", Steps: []string{"write", "send"},
		Labels: []relevance.Label{{ID: "t1", Relevance: 2}, {ID: "t2", Relevance: 1, Alternatives: []string{"t3"}}},
		Rewritten: &Rewritten{
			Needs:     []schema.Need{{UserIntent: "send"}},
			Arguments: []Argument{{"to", "who gets it"}, {"count", "3"}, {"a", "first"}},
		},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v\n%+v", err, got)
	}
}

func TestStandardized(t *testing.T) {
	s := write(t, map[string]string{standardizedFile: `{"id":"t1","description":"Sends.","parameters":{"z":{"type":"string","description":"whom","example":"me","default":null},"a":{"required":false}},"response":{"ok":true},"examples":[{"user_intent":"send it","tool_call":{}}]}`})
	got, err := s.Standardized()
	want := []Standardized{{
		ID: "t1", Description: "Sends.", Response: `{"ok":true}`, Examples: []string{"send it"},
		Parameters: []Parameter{
			{Name: "z", Type: "string", Description: "whom", Required: true, Example: []byte(`"me"`), Raw: []byte(`{"type":"string","description":"whom","example":"me","default":null}`)},
			{Name: "a", Raw: []byte(`{"required":false}`)},
		},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v\n%+v", err, got)
	}
}

const fourQueries = `{"id":"q1","query":"a"}
{"id":"q2","query":"b"}
{"id":"q3","query":"c"}
{"id":"q4","query":"d"}`

func TestFolds(t *testing.T) {
	s := write(t, map[string]string{queriesFile: fourQueries, foldsFile: `{"fold":1,"test":["q2","q4"]}` + "\n" + `{"fold":0,"test":["q3","q1"]}`})
	got, err := s.Folds(5)
	if want := [][]string{{"q3", "q1"}, {"q2", "q4"}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v %v", got, err)
	}
}

func TestFoldsByHash(t *testing.T) {
	s := write(t, map[string]string{queriesFile: fourQueries})
	got := check.Value(s.Folds(3))(t)
	// The first 8 bytes of the SHA-256 of each id, modulo 3.
	if want := [][]string{nil, {"q1", "q3"}, {"q2", "q4"}}; !reflect.DeepEqual(got, want) {
		t.Fatal(got)
	}
	if _, err := s.Folds(1); err == nil {
		t.Fatal("one fold was accepted")
	}
}

func TestReferenceWeights(t *testing.T) {
	s := write(t, map[string]string{weightsFile: `{"retriever":"bm25","fold":2,"base_weight":[[1,2,3,4]],"base_bias":[-1],"tau":0.5,"w_req":1,"w_opt":2,"alpha":15}`})
	got, err := s.ReferenceWeights()
	want := []ReferenceWeights{{Retriever: "bm25", Fold: 2, Base: [][]float64{{1, 2, 3, 4}}, Bias: []float64{-1}, Tau: .5, Required: 1, Optional: 2, Alpha: 15}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v %v", got, err)
	}
}

func TestSearches(t *testing.T) {
	s := write(t, map[string]string{
		searchesFile: `{"search_id":"s1","tenant":"default","shown":[{"id":"t1","features":[1,2]}]}
{"search_id":"s1","tenant":"other","shown":[]}
{"search_id":"s1","tenant":"default","shown":[]}
{"search_id":"s2","shown":[]}`,
		feedbackFile: `{"search_id":"s1","tenant":"default","tool_id":"t1","event":"called"}
{"search_id":"s1","tool_id":"t1","event":"called"}
{"search_id":"s2","tenant":"default","tool_id":"t1","event":"failed"}
{"id":"e","search_id":"s1","tenant":"other","tool_id":"t2","event":"called"}
{"id":"e","search_id":"s1","tenant":"default","tool_id":"t3","event":"called"}
{"id":"e","search_id":"s1","tenant":"default","tool_id":"t4","event":"called"}`,
	})
	again := check.Value(OpenSearches(s.Dir))(t)
	searches := check.Value(again.Searches())(t)
	var got []string
	for _, search := range searches {
		line := search.Tenant + "/" + search.SearchID
		for _, f := range search.Feedback {
			line += " " + f.ToolID
		}
		got = append(got, line)
	}
	if want := []string{"default/s1 t1 t3", "other/s1 t2", "/s2 t1"}; !slices.Equal(got, want) || searches[0].Shown[0].Features[1] != 2 {
		t.Fatalf("%q of %+v, want %q", got, searches, want)
	}
	if _, err := OpenSearches(t.TempDir()); !errors.Is(err, ErrAbsent) {
		t.Error(err)
	}
	bad := write(t, map[string]string{searchesFile: "", feedbackFile: `{"search_id":"s1","tool_id":"t1","event":"ate"}`})
	if _, err := bad.Searches(); err == nil || !strings.Contains(err.Error(), "small/feedback.jsonl:1") {
		t.Error(err)
	}
}

func TestErrorsNameFileAndLine(t *testing.T) {
	toolsErr := func(s *Set) error { _, err := tools(s); return err }
	queriesErr := func(s *Set) error { _, err := s.Queries(); return err }
	foldsErr := func(s *Set) error { _, err := s.Folds(5); return err }
	standardizedErr := func(s *Set) error { _, err := s.Standardized(); return err }
	cases := []struct {
		name, file, text, want string
		read                   func(*Set) error
	}{
		{"not JSON", toolsFile, "{\"id\":\"t\",\"documentation\":1}\n{", "small/tools.jsonl:2", toolsErr},
		{"twice", toolsFile, "{\"id\":\"t\",\"documentation\":1}\n\n{\"id\":\"t\",\"documentation\":1}", "small/tools.jsonl:3: tool t stands twice", toolsErr},
		{"no document", toolsFile, `{"id":"t"}`, "small/tools.jsonl:1: tool t has no documentation", toolsErr},
		{"bad id", toolsFile, `{"id":" t","documentation":1}`, "small/tools.jsonl:1", toolsErr},
		{"query twice", queriesFile, fourQueries + "\n" + `{"id":"q1","query":"a"}`, "small/queries.jsonl:5: query q1 stands twice", queriesErr},
		{"empty query", queriesFile, `{"id":"q"}`, "small/queries.jsonl:1: query q is empty", queriesErr},
		{"label without id", queriesFile, `{"id":"q","query":"a","labels":[{"relevance":1}]}`, "small/queries.jsonl:1: label without an id", queriesErr},
		{"arguments in a list", queriesFile, `{"id":"q","query":"a","rewritten_query":{"extracted_arguments":[]}}`, "small/queries.jsonl:1: an object is wanted", queriesErr},
		{"parameter", standardizedFile, `{"id":"t","parameters":{"p":3}}`, "small/standardized.jsonl:1: tool t: parameter p", standardizedErr},
		{"unknown query", foldsFile, `{"fold":0,"test":["q9"]}`, "small/folds.jsonl:1: query q9", foldsErr},
		{"missing query", foldsFile, `{"fold":0,"test":["q1"]}`, "query q2 is in no fold", foldsErr},
	}
	for _, c := range cases {
		s := write(t, map[string]string{queriesFile: fourQueries, c.file: c.text})
		if err := c.read(s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestAbsentFiles(t *testing.T) {
	s := write(t, map[string]string{})
	if providers, err := s.Providers(); providers != nil || err != nil {
		t.Error(providers, err)
	}
	for name, read := range map[string]func() error{
		queriesFile:      func() error { _, err := s.Queries(); return err },
		standardizedFile: func() error { _, err := s.Standardized(); return err },
		weightsFile:      func() error { _, err := s.ReferenceWeights(); return err },
	} {
		if err := read(); !errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRealSets(t *testing.T) {
	root := os.Getenv("TOOLSTREAM_DATA")
	if root == "" {
		t.Skip("TOOLSTREAM_DATA names no folder of data sets")
	}
	for _, c := range []struct {
		name           string
		tools, queries int
	}{{"apibank", 101, 101}, {"toolink", 1804, 497}, {"toolbench", 3973, 269}} {
		s := check.Value(Open(filepath.Join(root, c.name)))(t)
		list, err := tools(s)
		if err != nil || len(list) != c.tools {
			t.Errorf("%s: %d tools, %v", c.name, len(list), err)
		}
		queries, err := s.Queries()
		if err != nil || len(queries) != c.queries {
			t.Errorf("%s: %d queries, %v", c.name, len(queries), err)
		}
		folds, err := s.Folds(5)
		if err != nil || len(folds) != 5 || len(slices.Concat(folds...)) != c.queries {
			t.Errorf("%s: folds: %v", c.name, err)
		}
	}
}
