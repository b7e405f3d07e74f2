// Package crash kills a running toolstream at random moments of an import and
// checks that nothing that was accepted is lost, doubled, or goes back.
package crash

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
)

const (
	seed  = 20260214
	kills = 20
	known = 6000 // tools, so many that every kill strikes some hundred changes
)

func TestNothingAcceptedIsLostByKills(t *testing.T) {
	level.Campaign(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	tools, ids := realTools(t)
	steps := script(rng, tools, ids[:min(known, len(ids))])
	f := newFleet(t, process.Up(t, process.Build(t)))
	for k := range kills {
		f.importUntilKilled(take(&steps, len(steps)/(kills-k)), blow{{"the process"}}, rng)
	}
	f.check()
	t.Log("restart once more, gracefully: the same has to be there")
	f.d.Restart(t)
	f.check()
}

func take(steps *[]step, n int) []step {
	part := (*steps)[:n]
	*steps = (*steps)[n:]
	return part
}

type row struct {
	ID          string `json:"id"`
	Revision    uint64 `json:"revision"`
	Description string `json:"description"`
}

func list(t *testing.T, p *process.Process) []row {
	t.Helper()
	var all []row
	query := url.Values{"limit": {"500"}}
	for {
		var page struct {
			Tools  []row  `json:"tools"`
			Cursor string `json:"cursor"`
		}
		check.OK(t, p.Client.Get(t.Context(), "/v1/tools", query, &page))
		all = append(all, page.Tools...)
		if page.Cursor == "" {
			return all
		}
		query.Set("cursor", page.Cursor)
	}
}

func editionOf(description string) int {
	n := 0
	if _, text, ok := strings.Cut(description, "This is edition "); ok {
		if _, err := fmt.Sscanf(text, "%d.", &n); err != nil {
			return 0
		}
	}
	return n
}
