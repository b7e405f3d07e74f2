package flat

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/lexical"
	"github.com/toolstream/toolstream/internal/testing/adaptertest"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maker makes tools with random vectors, the same ones for the same seed.
type maker struct {
	rng        *rand.Rand
	dimensions int
	examples   int
	parameters int
	revision   uint64
}

func newMaker(seed uint64) *maker {
	return &maker{rng: rand.New(rand.NewPCG(seed, 7)), dimensions: 16, examples: 1, parameters: 2}
}

func (m *maker) unit() []float32 { return adaptertest.UnitVector(m.rng, m.dimensions) }

func (m *maker) units(n int) []events.Vector {
	out := make([]events.Vector, n)
	for i := range out {
		out[i] = m.unit()
	}
	return out
}

// word returns one of 2,000 words, the first ones more often.
func (m *maker) word() string {
	return fmt.Sprintf("w%d", int(2000*math.Pow(m.rng.Float64(), 3)))
}

func (m *maker) words(n int) string {
	s := m.word()
	for range n - 1 {
		s += " " + m.word()
	}
	return s
}

func (m *maker) tool(tenant, id string) events.Change {
	m.revision++
	doc := &schema.Document{Name: id, Description: m.words(12), Response: m.words(5), Tags: []string{m.word()}}
	for range m.examples {
		doc.Examples = append(doc.Examples, m.words(6))
	}
	for p := range m.parameters {
		doc.Parameters = append(doc.Parameters, schema.Parameter{Name: m.word(), Description: m.words(4), Required: p%2 == 0})
	}
	return events.Change{
		Schema: events.ChangeSchema, Ref: schema.Ref{Tenant: tenant, Kind: schema.KindTool, ID: id},
		Version: schema.Version{Revision: m.revision}, Op: events.OpUpsert, Provider: fmt.Sprintf("provider%d", m.rng.IntN(20)),
		Format: "json", Hash: fmt.Sprint(m.revision), Accepted: time.UnixMicro(int64(m.revision)).UTC(),
		Raw: json.RawMessage(fmt.Sprintf(`{"n":%d}`, m.revision)), Document: doc,
		Vectors: &events.Vectors{
			Model: "test", Dimensions: m.dimensions, Name: m.unit(), Flat: m.unit(), Description: m.unit(), Response: m.unit(),
			Examples: m.units(m.examples), Parameters: m.units(m.parameters),
		},
	}
}

func (m *maker) tools(tenant string, n int) []events.Change {
	out := make([]events.Change, n)
	for i := range out {
		out[i] = m.tool(tenant, fmt.Sprintf("tool-%06d", i))
	}
	return out
}

func (m *maker) remove(ref schema.Ref) events.Change {
	m.revision++
	return events.Change{
		Schema: events.ChangeSchema, Ref: ref, Version: schema.Version{Revision: m.revision}, Op: events.OpDelete,
		Accepted: time.UnixMicro(int64(m.revision)).UTC(),
	}
}

// probe returns a query with one need and one argument.
func (m *maker) probe() index.Probe {
	text := func() index.Text { return index.Text{Words: m.words(4), Vector: m.unit()} }
	return index.Probe{
		Query:     text(),
		Needs:     []index.Need{{Whole: text(), Description: text(), Response: text(), Examples: text()}},
		Arguments: []index.Argument{{Name: "a", Text: text()}},
	}
}

// apply applies changes as the message at an offset.
func apply(t testing.TB, i *Index, offset uint64, changes ...events.Change) {
	t.Helper()
	check.OK(t, i.Apply(t.Context(), changes, map[int]uint64{0: offset}))
}

// Words of the owner find what the tool does not say itself, and count once.
func TestToolsAreFoundByTheirOwner(t *testing.T) {
	texts := lexicalTexts(&schema.Document{Name: "create_card", Description: "Creates cards in a list."}, "@acme/trello-card-server")
	if want := "acme\ntrello\nserver"; !strings.HasSuffix(texts[lexical.Flat], "list.\n"+want) {
		t.Errorf("%q does not end with %q", texts[lexical.Flat], want)
	}
	if strings.Contains(texts[lexical.Name], "trello") {
		t.Errorf("the name has its owner: %q", texts[lexical.Name])
	}
}
