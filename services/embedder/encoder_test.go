package embedder

import (
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/pkg/schema"
)

func newEncoder(t *testing.T, m Model) *Encoder {
	t.Helper()
	e, err := NewEncoder(Config{}, m, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEncoderMakesTheVectorsOfTheStage(t *testing.T) {
	doc := weather()
	s := start(t, &model{}, nil)
	s.put(t, upsert("a", 1, doc))
	want := s.embedded(t, "a").Vectors
	got, err := newEncoder(t, &model{}).Documents(t.Context(), []*schema.Document{&doc, {Name: "other"}})
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	for _, pair := range [][2][]float32{
		{want.Name, got[0].Name}, {want.Flat, got[0].Flat}, {want.Response, got[0].Response},
		{want.Examples[1], got[0].Examples[1]}, {want.Parameters[1], got[0].Parameters[1]},
	} {
		for i := range pair[0] {
			if pair[0][i] != pair[1][i] {
				t.Errorf("the stage makes %v, the encoder %v", pair[0], pair[1])
				break
			}
		}
	}
	if got[0].Model != want.Model || got[0].Dimensions != want.Dimensions || got[1].Response != nil {
		t.Errorf("%+v", got)
	}
}

func TestEncoderEmbedsATextOnce(t *testing.T) {
	m := &model{}
	e, doc := newEncoder(t, m), weather()
	for range 2 {
		if _, err := e.Documents(t.Context(), []*schema.Document{&doc, &doc}); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for _, text := range m.texts() {
		if seen[text] {
			t.Errorf("%q is embedded twice", text)
		}
		seen[text] = true
	}
}

func TestEncoderEmbedsQueriesAsTheModelWantsThem(t *testing.T) {
	got, err := newEncoder(t, &prefixed{}).Embed(t.Context(), []string{"weather"})
	if err != nil || cosineOf(got[0], "query: weather") < 0.999999 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestEncoderFailsWithItsModel(t *testing.T) {
	broken := errors.New("out of order")
	doc := weather()
	e := newEncoder(t, &model{fault: func([]string) ([][]float32, error) { return nil, broken }})
	if _, err := e.Documents(t.Context(), []*schema.Document{&doc}); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := NewEncoder(Config{}, nil, prometheus.NewRegistry()); err == nil {
		t.Error("an encoder without a model")
	}
}
