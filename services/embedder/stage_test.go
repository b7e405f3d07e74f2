package embedder

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestEveryFieldGetsItsVector(t *testing.T) {
	s := start(t, &model{}, nil)
	c := upsert("weather", 1, weather())
	s.put(t, c)
	got := s.embedded(t, "weather")
	v := got.Vectors
	if v.Model != "fake-4" || v.Dimensions != 4 || string(got.Raw) != `{"raw":true}` || got.Revision != 1 {
		t.Fatalf("got %+v", got)
	}
	all := slices.Concat([]events.Vector{v.Name, v.Flat, v.Description, v.Response}, v.Examples, v.Parameters)
	for i, slot := range slots(c.Document, &events.Vectors{}) {
		if x := cosineOf(all[i], slot.text); !(x >= 0.999999) { // NaN is not
			t.Errorf("vector %d has cosine %v to %q", i, x, slot.text)
		}
	}
	if len(v.Examples) != 2 || len(v.Parameters) != 2 {
		t.Errorf("%d examples, %d parameters", len(v.Examples), len(v.Parameters))
	}
}

func TestAbsentFieldsHaveNoVector(t *testing.T) {
	s := start(t, &model{}, nil)
	s.put(t, upsert("bare", 1, schema.Document{Name: "bare"}))
	v := s.embedded(t, "bare").Vectors
	if len(v.Name) != 4 || v.Description != nil || v.Response != nil || v.Examples != nil || v.Parameters != nil {
		t.Errorf("got %+v", v)
	}
}

func TestLargeDocumentsAreCut(t *testing.T) {
	doc := schema.Document{Name: "large"}
	for i := range 100 {
		doc.Parameters = append(doc.Parameters, schema.Parameter{Name: fmt.Sprintf("p%d", i)})
	}
	for i := range schema.MaxExamples {
		doc.Examples = append(doc.Examples, fmt.Sprintf("example %d", i))
	}
	s := start(t, &model{}, nil)
	s.put(t, upsert("large", 1, doc))
	got := s.embedded(t, "large")
	if len(got.Vectors.Parameters) != MaxParameters || len(got.Vectors.Examples) != MaxExamples {
		t.Errorf("%d parameters and %d examples embedded", len(got.Vectors.Parameters), len(got.Vectors.Examples))
	}
	if len(got.Document.Parameters) != 100 {
		t.Errorf("the document was cut to %d parameters", len(got.Document.Parameters))
	}
	if n := metricOf(t, s.reg, "toolstream_embedder_cut_fields_total"); n != 2 {
		t.Errorf("%v cuts counted", n)
	}
}

func TestDeletePassesUnchanged(t *testing.T) {
	s := start(t, &model{}, nil)
	c := upsert("gone", 7, schema.Document{})
	c.Op, c.Document, c.Raw = events.OpDelete, nil, nil
	s.put(t, c)
	if got := s.embedded(t, "gone"); got.Op != events.OpDelete || got.Revision != 7 || got.Vectors != nil {
		t.Errorf("got %+v", got)
	}
	if n := len(s.model.texts()); n != 0 {
		t.Errorf("%d texts embedded for a delete", n)
	}
}

func TestNullRecordsPass(t *testing.T) {
	s := start(t, &model{}, nil)
	null := stream.Message{Topic: events.ToolsStandardized, Key: "default/gone", Headers: map[string]string{events.HeaderRevision: "9"}}
	unversioned := stream.Message{Topic: events.ToolsStandardized, Key: "default/lost"}
	check.OK(t, s.bus.Publish(deadline(t), null, unversioned))
	check.OK(t, s.bus.Await(deadline(t), func() bool { return s.done() == 2 }))
	out := s.bus.Published(events.ToolsEmbedded)
	if len(out) != 1 || out[0].Key != null.Key || len(out[0].Value) != 0 || out[0].Headers[events.HeaderRevision] != "9" {
		t.Errorf("got %+v", out)
	}
	s.wantLetter(t, "default/lost", ReasonBadKey)
}

func TestNothingIsEmbeddedTwice(t *testing.T) {
	s := start(t, &model{}, nil)
	s.put(t, upsert("a", 1, weather()), upsert("b", 2, weather()))
	s.put(t, upsert("a", 3, weather()))
	seen := map[string]bool{}
	for _, text := range s.model.texts() {
		if seen[text] {
			t.Errorf("%q embedded twice", text)
		}
		seen[text] = true
	}
	if hits := metricOf(t, s.reg, "toolstream_embedder_cache_hits_total"); hits != 16 {
		t.Errorf("%v hits, want two documents of 8 texts", hits)
	}
}

func TestAfterARestartOnlyWhatChangedIsEmbedded(t *testing.T) {
	before := start(t, &model{}, nil)
	before.put(t, upsert("weather", 1, weather()))
	held := before.embedded(t, "weather")

	s := start(t, &model{}, stored{held.Ref: held})
	s.put(t, upsert("weather", 2, weather()))
	if texts := s.model.texts(); len(texts) != 0 {
		t.Errorf("an unchanged document cost %q", texts)
	}
	changed := weather()
	changed.Parameters[1].Description = "for how long"
	s.put(t, upsert("weather", 3, changed))
	var vectors events.Vectors
	all := slots(&changed, &vectors)
	want := []string{all[1].text, all[7].text} // the whole document, the parameter
	if texts := s.model.texts(); !slices.Equal(slices.Sorted(slices.Values(texts)), slices.Sorted(slices.Values(want))) {
		t.Errorf("embedded %q, want %q", texts, want)
	}
	if got := s.embedded(t, "weather").Vectors; cosineOf(got.Parameters[0], all[6].text) < 0.999999 || cosineOf(got.Parameters[1], all[7].text) < 0.999999 {
		t.Error("vectors are not in their places")
	}
}

func TestVectorsOfAnotherModelAreNotUsed(t *testing.T) {
	c := upsert("weather", 1, weather())
	c.Vectors = &events.Vectors{Model: "older", Dimensions: 4, Name: events.Vector{1, 0, 0, 0}}
	s := start(t, &model{}, stored{c.Ref: c})
	s.put(t, upsert("weather", 2, weather()))
	if n := len(s.model.texts()); n != 8 {
		t.Errorf("%d texts embedded, want 8", n)
	}
}

// poisoned is a model that returns v for texts with poison in them.
func poisoned(v []float32) *model {
	return &model{fault: func(texts []string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for i, text := range texts {
			if out[i] = vectorOf(text); strings.Contains(text, "poison") {
				out[i] = v
			}
		}
		return out, nil
	}}
}

func TestBadVectorsKillTheirDocumentAlone(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	tests := map[string][]float32{
		"not a number":      {1, nan, 0, 0},
		"infinite":          {inf, 0, 0, 0},
		"zero":              {0, 0, 0, 0},
		"too short":         {1, 0, 0},
		"too long":          {1, 0, 0, 0, 0},
		"vanishingly small": {1e-30, 0, 0, 0},
	}
	for name, v := range tests {
		t.Run(name, func(t *testing.T) {
			s := start(t, poisoned(v), nil)
			s.put(t, upsert("a", 1, weather()), upsert("bad", 2, schema.Document{Name: "poison"}), upsert("b", 3, weather()))
			s.embedded(t, "a")
			s.embedded(t, "b")
			s.wantLetter(t, "default/bad", ReasonBadVector)
			if n := len(s.bus.Published(events.DLQ)); n != 1 {
				t.Errorf("%d dead letters", n)
			}
		})
	}
}

// A letter points to the one text that the model has no vector for, though the texts that are
// made of several lack theirs, too.
func TestALetterPointsToTheTextThatIsToBlame(t *testing.T) {
	s := start(t, poisoned(make([]float32, 4)), nil)
	for want, doc := range map[string]schema.Document{
		"":                       {Name: "poison"},
		"/document/description":  {Name: "a", Description: "It is poison.", Examples: []string{"poison"}},
		"/document/response":     {Name: "a", Response: "All poison."},
		"/document/examples/1":   {Name: "a", Examples: []string{"Fine.", "Give me poison."}},
		"/document/parameters/1": {Name: "a", Parameters: []schema.Parameter{{Name: "b"}, {Name: "c", Description: "Which poison."}}},
	} {
		id := strings.ReplaceAll("of"+want, "/", "-")
		s.put(t, upsert(id, 1, doc), upsert("after"+id, 2, weather()))
		s.embedded(t, "after"+id)
		l := s.letter(t, "default/"+id)
		if l.Path != want || l.Reason != ReasonBadVector || !strings.Contains(l.Detail, "length 0") {
			t.Errorf("%+v, want it to point to %q", l, want)
		}
	}
}

func TestAWrongCountIsBlamedOnTheTextsThatCauseIt(t *testing.T) {
	m := &model{fault: func(texts []string) ([][]float32, error) {
		if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "poison") }) {
			return make([][]float32, len(texts)+1), nil
		}
		return nil, nil
	}}
	s := start(t, m, nil)
	s.put(t, upsert("a", 1, weather()), upsert("bad", 2, schema.Document{Name: "poison"}))
	s.embedded(t, "a")
	s.wantLetter(t, "default/bad", ReasonBadVector)
}

func TestTextWithNothingToEmbedIsNoError(t *testing.T) {
	m := &model{fault: func(texts []string) ([][]float32, error) { return make([][]float32, len(texts)), nil }}
	s := start(t, m, nil)
	s.put(t, upsert("a", 1, schema.Document{Name: "!!!"}))
	if v := s.embedded(t, "a").Vectors; len(v.Name) != 0 {
		t.Errorf("got %v", v.Name)
	}
}

// The cache is emptied once no document has come for a while, and not between the
// batches of a slow import.
func TestTheCacheIsEmptiedWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEncoder(t, &model{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go e.purgeWhenIdle(ctx)
		doc := weather()
		for range 5 {
			check.Value(e.Documents(t.Context(), []*schema.Document{&doc}))(t)
			time.Sleep(50 * time.Second)
			if e.cache.Len() == 0 {
				t.Fatal("it was emptied while documents came")
			}
		}
		time.Sleep(3 * time.Minute)
		if n := e.cache.Len(); n != 0 {
			t.Errorf("%d texts after three idle minutes", n)
		}
	})
}

func TestDecodeRefuses(t *testing.T) {
	good := message(t, events.ToolsStandardized, upsert("a", 1, weather()))
	future := upsert("a", 1, weather())
	future.Schema = events.ChangeSchema + 1
	tests := map[string]struct {
		message stream.Message
		reason  string
	}{
		"no key":       {stream.Message{Value: good.Value}, ReasonBadKey},
		"no value":     {stream.Message{Key: good.Key}, ReasonBadKey},
		"other's key":  {stream.Message{Key: "default/b", Value: good.Value}, ReasonBadKey},
		"not JSON":     {stream.Message{Key: good.Key, Value: []byte("{")}, stream.ReasonUndecodable},
		"newer schema": {message(t, events.ToolsStandardized, future), events.ReasonUnknownSchema},
		"no entity":    {stream.Message{Key: good.Key, Value: []byte(`{}`)}, ReasonInvalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := decode(tt.message); stream.Reason(err) != tt.reason {
				t.Errorf("got %v, want %s", err, tt.reason)
			}
		})
	}
	s := start(t, &model{}, nil)
	bare := upsert("bare", 1, weather())
	bare.Document = nil
	s.put(t, bare)
	s.wantLetter(t, "default/bare", ReasonBadDocument)
}

func FuzzDecode(f *testing.F) {
	m := message(f, events.ToolsEmbedded, upsert("a", 1, weather()))
	f.Add(m.Key, m.Value)
	f.Add("", []byte("{}"))
	f.Add("default/a", []byte(`{"schema":1,"tenant":"default","kind":"tool","id":"a","vectors":{"name":"AAAA"}}`))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		c, err := decode(stream.Message{Key: key, Value: value})
		if err == nil && events.Key(c.Ref) != key {
			t.Fatalf("key %q passed for %+v", key, c.Ref)
		}
		if _, permanent := stream.AsPermanent(err); err != nil && !permanent {
			t.Fatalf("the same bytes will always fail: %v", err)
		}
	})
}
