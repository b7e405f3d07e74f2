package weaviate

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/testing/adaptertest"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestMain(m *testing.M) {
	code := servertest.Main(m)
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// server returns the server of all tests, which have aliases and classes of their own.
func server(t testing.TB) *servers.Server {
	t.Helper()
	return servertest.Shared(t, servers.WeaviateName)
}

// aliases counts the aliases that tests were given.
var aliases atomic.Int64

// aliasName returns an alias that no other test uses.
func aliasName() string { return fmt.Sprintf("T%dX%03d", os.Getpid(), aliases.Add(1)) }

func client(t testing.TB, s *servers.Server, alias string) *Client {
	t.Helper()
	c := check.Value(New(Config{URL: "http://" + s.Addr, GRPC: s.GRPC, Alias: alias}))(t)
	t.Cleanup(func() { check.OK(t, c.Close()) })
	return c
}

const dimensions = 32

func model(name string) Model { return Model{Name: name, Dimensions: dimensions} }

func open(t testing.TB, c *Client, m Model) *Index {
	t.Helper()
	return check.Value(OpenIndex(t.Context(), c, m))(t)
}

// maker makes tools; the same seed makes the same ones.
type maker struct {
	rng      *rand.Rand
	model    Model
	revision uint64
}

func newMaker(m Model, seed uint64) *maker {
	return &maker{rng: rand.New(rand.NewPCG(seed, seed)), model: m}
}

func (m *maker) unit() events.Vector { return adaptertest.UnitVector(m.rng, m.model.Dimensions) }

func (m *maker) units(n int) []events.Vector {
	var out []events.Vector
	for range n {
		out = append(out, m.unit())
	}
	return out
}

const someTenant = "acme"

// tool returns a new version of a tool.
func (m *maker) tool(id string) events.Change {
	m.revision++
	c := events.Change{
		Schema: events.ChangeSchema, Ref: schema.Ref{Tenant: someTenant, Kind: schema.KindTool, ID: id},
		Version: schema.Version{Revision: m.revision}, Op: events.OpUpsert, Provider: "owner", Format: "json",
		Hash: fmt.Sprint("hash ", m.revision), Accepted: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
	}
	c.Document = &schema.Document{Name: id, Description: m.words(8), Response: m.words(5), Tags: []string{m.words(1)}}
	for range 1 + m.rng.IntN(3) {
		c.Document.Examples = append(c.Document.Examples, m.words(6))
	}
	for n := range m.rng.IntN(4) {
		c.Document.Parameters = append(c.Document.Parameters, schema.Parameter{Name: fmt.Sprint("p", n), Required: n == 0})
	}
	c.Vectors = &events.Vectors{
		Model: m.model.Name, Dimensions: m.model.Dimensions, Name: m.unit(), Flat: m.unit(), Description: m.unit(), Response: m.unit(),
		Examples: m.units(len(c.Document.Examples)), Parameters: m.units(len(c.Document.Parameters)),
	}
	return c
}

func (m *maker) remove(id string) events.Change {
	m.revision++
	return events.Change{
		Schema: events.ChangeSchema, Ref: schema.Ref{Tenant: someTenant, Kind: schema.KindTool, ID: id},
		Version: schema.Version{Revision: m.revision}, Op: events.OpDelete, Accepted: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

// words returns words of a small vocabulary, so that tools share them.
func (m *maker) words(n int) string {
	vocabulary := strings.Fields("weather mail route price stock song flight hotel city user file report map image note event task team order coin")
	out := make([]string, n)
	for i := range out {
		out[i] = vocabulary[m.rng.IntN(len(vocabulary))]
	}
	return strings.Join(out, " ")
}

func (m *maker) tools(n int) []events.Change {
	var out []events.Change
	for i := range n {
		out = append(out, m.tool(fmt.Sprintf("tool%04d", i)))
	}
	return out
}
