package e2e

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/events"
)

// endpoint is an embedding endpoint that may be broken: then it answers texts
// with the word "sealed" with a vector of no length, which no retry mends.
type endpoint struct {
	broken atomic.Bool
	server *httptest.Server

	left atomic.Int64  // texts that are answered before requests wait; of a held endpoint
	held chan struct{} // receives when a request has to wait
	open chan struct{} // closed: no request waits any more
}

// hold lets requests wait once n texts were answered.
func (e *endpoint) hold(n int64) {
	e.left.Store(n)
	e.held, e.open = make(chan struct{}, 1), make(chan struct{})
}

const endpointDimensions = 32

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct{ Input []string }
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if e.held != nil && e.left.Add(-int64(len(request.Input))) < 0 {
		select {
		case e.held <- struct{}{}:
		default:
		}
		select {
		case <-e.open:
		case <-r.Context().Done():
			return
		}
	}
	type vector struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	answer := struct {
		Data []vector `json:"data"`
	}{}
	for i, text := range request.Input {
		v := words(text)
		if e.broken.Load() && strings.Contains(text, "sealed") {
			clear(v)
		}
		answer.Data = append(answer.Data, vector{i, v})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // a client that is gone asks again
}

// words counts the words of a text in the components of a unit vector.
func words(text string) []float32 {
	v := make([]float32, endpointDimensions)
	v[0] = 0.1 // a text without words has a direction too
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		h := fnv.New32a()
		h.Write([]byte(word))
		v[h.Sum32()%endpointDimensions]++
	}
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// newEndpoint starts an endpoint.
func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{}
	e.server = httptest.NewServer(e)
	t.Cleanup(e.server.Close)
	return e
}

// settings is the environment of a deployment that embeds with the endpoint.
func (e *endpoint) settings() []string {
	return []string{"TOOLSTREAM_EMBEDDER_MODEL=http", "TOOLSTREAM_EMBEDDER_URL=" + e.server.URL, "TOOLSTREAM_EMBEDDER_NAME=words", "TOOLSTREAM_EMBEDDER_DIMENSIONS=32"}
}

// deadLetter is a letter as the command line prints it.
type deadLetter struct {
	ID, State, Stage, Topic, Key, Reason, Detail, Text string
	Revision                                           uint64
	Attempts                                           int
	Failed                                             time.Time
	Headers                                            map[string]string
	Original                                           []byte
	Kind, Entity, Provider, Format, Document           string
	Location                                           struct {
		Pointer      string
		Line, Column int
	}
}

// letters lists the dead letters in a state, the ids of their tools sorted.
func letters(t *testing.T, p *process.Process, state string) (list []deadLetter, tools []string) {
	t.Helper()
	var page struct {
		Letters []deadLetter
		Total   int
		Reasons []struct {
			Reason, Stage string
			Open          int
		}
	}
	at(t, p, "dlq", "list", "--state", state, "--json").decode(t, &page)
	for _, l := range page.Letters {
		tools = append(tools, strings.TrimPrefix(l.Key, "default/"))
	}
	slices.Sort(tools)
	open := 0
	for _, r := range page.Reasons {
		open += r.Open
	}
	if state == "open" && open != page.Total {
		t.Errorf("%d letters are open, by reason %+v", page.Total, page.Reasons)
	}
	return page.Letters, tools
}

// Of what is imported one line is rejected and three documents cannot be
// processed. One is corrected and imported again, one is edited in its letter, the last
// one is processed again once the cause is mended; nothing stays open.
func TestDeadLettersAreMended(t *testing.T) {
	t.Parallel()
	model := newEndpoint(t)
	everywhere(t, func(t *testing.T, d process.Deployment) { deadLettersAreMended(t, d, model) }, model.settings()...)
}

func deadLettersAreMended(t *testing.T, d process.Deployment, model *endpoint) {
	model.broken.Store(true)
	p := d.Front()
	const (
		vault  = `{"name":"open_vault","description":"Opens the sealed vault.","inputSchema":{"type":"object"}}`
		crypt  = `{"name":"open_crypt","description":"Opens the sealed crypt.","inputSchema":{"type":"object"}}`
		chest  = `{"name":"open_chest","description":"Opens the sealed chest.","inputSchema":{"type":"object"}}`
		mended = `{"name":"open_vault","description":"Opens the locked vault.","inputSchema":{"type":"object"}}`
	)
	file := writeFile(t, "tools.jsonl", strings.Join([]string{ferry, vault, `{"name":`, crypt, chest, bread}, "\n"))
	s := load(t, p, file, "--provider", "museum")
	if s.Accepted != 5 || s.Rejected != 1 || *s.Indexed != 2 || *s.DeadLettered != 3 {
		t.Fatalf("%+v", s)
	}
	open, tools := letters(t, p, "open")
	if !slices.Equal(tools, []string{"museum/open_chest", "museum/open_crypt", "museum/open_vault"}) {
		t.Fatalf("open letters of %q", tools)
	}
	for _, l := range open {
		holdsWhatWasImported(t, p, l, map[string]string{"default/museum/open_vault": vault, "default/museum/open_crypt": crypt, "default/museum/open_chest": chest})
		if l.Key == "default/museum/open_chest" {
			isEdited(t, p, l.ID)
		}
	}
	shows(t, d, "museum/open_chest", "open_chest")

	fixed := load(t, p, writeFile(t, "fixed.jsonl", mended+"\n"), "--provider", "museum")
	if fixed.Accepted != 1 || *fixed.Indexed != 1 {
		t.Fatalf("corrected: %+v", fixed)
	}
	model.broken.Store(false)
	o := at(t, p, "dlq", "replay", "--all", "--json")
	if want := `{"done":2,"failed":0}`; o.code != 0 || compact(t, o.out) != want {
		t.Fatalf("replay: %+v, want %s", o, want)
	}
	shows(t, d, "museum/open_crypt", "open_crypt")
	if _, left := letters(t, p, "open"); len(left) != 0 {
		t.Errorf("letters of %q are still open", left)
	}
	if _, old := letters(t, p, "superseded"); !slices.Equal(old, []string{"museum/open_vault"}) {
		t.Errorf("letters of %q gave way to something newer", old)
	}
	if got := agree(t, d); len(got) != 5 {
		t.Errorf("%d tools are there: %v", len(got), got)
	}
	for _, p := range d.Fronts() {
		if e, _ := get(t, p, "museum/open_vault"); e.Document.Description != "Opens the locked vault." {
			t.Errorf("after the replay the corrected document is %q", e.Document.Description)
		}
		if got := found(t, p, "open the sealed crypt", 1); len(got) != 1 || got[0] != "museum/open_crypt" {
			t.Errorf("found %q", got)
		}
	}
	d.Restart(t)
	if list, left := letters(t, d.Front(), "all"); len(list) != 3 || slices.ContainsFunc(list, func(l deadLetter) bool { return l.State == "open" }) {
		t.Errorf("after a restart there are letters %+v of %q", list, left)
	}
}

// isEdited edits the document of a letter until it is accepted.
func isEdited(t *testing.T, p *process.Process, id string) {
	t.Helper()
	edit := func(document string) outcome {
		return at(t, p, "dlq", "replay", id, "--document", writeFile(t, "edited.json", document), "--json")
	}
	if o := edit(`{"name":"open_chest","inputSchema":"none"}`); o.code == 0 || !strings.Contains(o.errOut, "wrong type") {
		t.Errorf("a document that is none: %+v", o)
	}
	o := at(t, p, "dlq", "show", id, "--document")
	edited := strings.Replace(o.out, "sealed chest", "old chest", 1)
	if edited == o.out || strings.Count(o.out, "\n") < 4 {
		t.Fatalf("the document is shown as %+v", o)
	}
	var d struct {
		ID, State, Kind, Entity string
		Revision                uint64
	}
	edit(edited).decode(t, &d)
	if d.State != "replayed" || d.Kind != "tool" || d.Entity != "museum/open_chest" || d.Revision == 0 {
		t.Errorf("edited: %+v", d)
	}
	if o := edit(edited); o.code == 0 || !strings.Contains(o.errOut, "replayed already") {
		t.Errorf("edited again: %+v", o)
	}
}

// holdsWhatWasImported looks into a letter: the record that failed, untouched, and where.
func holdsWhatWasImported(t *testing.T, p *process.Process, l deadLetter, documents map[string]string) {
	t.Helper()
	var whole deadLetter
	at(t, p, "dlq", "show", l.ID, "--json").decode(t, &whole)
	if l.Stage != "embedder" || l.Reason != "bad_vector" || len(l.Original) != 0 {
		t.Errorf("listed as %+v", l)
	}
	c, err := events.Decode[events.Change](whole.Original)
	if err != nil || events.Key(c.Ref) != l.Key || c.Revision != l.Revision || whole.Headers[events.HeaderHash] != c.Hash {
		t.Errorf("%s of %s at %d holds %v: %+v", l.ID, l.Key, l.Revision, err, whole)
	}
	if compact(t, string(c.Raw)) != compact(t, documents[l.Key]) || compact(t, whole.Document) != compact(t, documents[l.Key]) || whole.Location.Pointer != "/description" {
		t.Errorf("%s holds %+v", l.ID, whole)
	}
}

// compact is JSON with sorted members and without spaces.
func compact(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	out := check.Value(json.Marshal(v))(t)
	return string(out)
}
