package weaviate

import (
	"testing"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
)

// Bare writes changes by a bare loop that checks nothing, to a class of its own,
// and says how long that took.
type Bare struct {
	client *Client
	index  *Index
}

// NewBare makes the class, under an alias that nobody searches.
func NewBare(b *testing.B, url, grpc string, m Model) *Bare {
	c, err := New(Config{URL: url, GRPC: grpc, Alias: aliasName()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
	})
	i := open(b, c, m)
	if err := i.tenants.add(b.Context(), someTenant); err != nil {
		b.Fatal(err)
	}
	return &Bare{client: c, index: i}
}

// Write writes the changes.
func (w *Bare) Write(b *testing.B, changes []events.Change) time.Duration {
	objects := encodeAll(b, w.index.class, changes)
	return timed(func() { writeBarely(b, w.client, objects) })
}

// MadeTools returns a source of tools like real ones, for a model.
func MadeTools(m Model) func(n int) []events.Change {
	_, tools := benchMaker(m.Name)
	return tools
}
