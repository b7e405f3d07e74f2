package trainer

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/toolstream/toolstream/pkg/schema"
)

// BenchmarkUsage makes the table of a tenant whose memory is full.
func BenchmarkUsage(b *testing.B) {
	cfg := Config{}.withDefaults()
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	rng := rand.New(rand.NewPCG(1, 2))
	t := newAccount("default")
	for i := range cfg.Questions {
		q := &question{id: fmt.Sprint(i), Model: "m", Vector: make(schema.Direction, 256)}
		for j := range q.Vector {
			q.Vector[j] = int8(rng.IntN(255) - 127)
		}
		for j := range 20 {
			q.Tools = append(q.Tools, shownTool{ID: fmt.Sprint("tool-", (7*i+j)%3000)})
		}
		for j := range maxObservations {
			o := observation{Search: fmt.Sprint(i, "-", j), At: now, Client: fmt.Sprint("client-", rng.IntN(500))}
			for k := range 10 {
				o.Shown = append(o.Shown, (k+j)%20)
			}
			if j%2 == 0 {
				o.Used, o.Called = o.Shown[:1], o.Shown[:1]
			}
			q.Seen = append(q.Seen, o)
		}
		t.questions[q.id] = q
	}
	s := &Service{cfg: cfg}
	m := &memory{changes: map[string][]byte{}}
	b.ReportAllocs()
	for b.Loop() {
		s.usage(m, t, now)
	}
}
