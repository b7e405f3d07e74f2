package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/tests/process"
)

// The tools of two agents, and what each is asked for.
const (
	crossing  = "book a ferry across the strait"
	departing = "look up when the next ferry leaves the harbour"
	baking    = "bake a loaf of rye bread"
)

func twoAgents(t *testing.T, p *process.Process) {
	t.Helper()
	var lines []string
	for _, tool := range [][3]string{
		{"book", "harbour", "Books a ferry across the strait for a passenger or a car."},
		{"departures", "harbour", "Looks up when the next ferry leaves the harbour."},
		{"oven", "bakery", "Bakes a loaf of rye or wheat bread."},
		{"mill", "bakery", "Grinds grain into flour."},
	} {
		lines = append(lines, fmt.Sprintf(`{"id":%q,"agent":%q,"document":{"name":%q,"description":%q}}`, tool[0], tool[1], tool[0], tool[2]))
	}
	a := send(t, p, http.MethodPost, "/v1/tools:batch", "application/x-ndjson", strings.Join(lines, "\n"))
	if a.status != http.StatusOK || strings.Count(string(a.body), `"state":"accepted"`) != len(lines) {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	err := process.Until(t.Context(), func() (bool, error) {
		return len(revisions(t, p, "")) == len(lines), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The steps of a task take turns, agents come with the tools that brought them,
// and a search that is to choose returns one agent where it can do everything.
func TestStepsAgentsAndTheChoiceBetweenThem(t *testing.T) {
	everywhere(t, func(t *testing.T, d process.Deployment) {
		twoAgents(t, d.Front())
		agree(t, d)
		for _, p := range d.Fronts() {
			stepsTakeTurns(t, p)
			agentsAreBrought(t, p)
			oneAgentWhereItCovers(t, p)
		}
		o := at(t, d.Front(), "search", "--step", crossing, "--step", baking, "--rank", "agents", "--json")
		var answer schema.SearchResponse
		o.decode(t, &answer)
		if got := ids(answer); o.code != 0 || got != "bakery harbour" {
			t.Errorf("exit code %d: %s\n%s", o.code, got, o.errOut)
		}
	})
}

// ids returns what an answer holds, in the order of the ids: which step's best
// comes first is a matter of scores.
func ids(a schema.SearchResponse) string {
	var out []string
	for _, r := range a.Results {
		out = append(out, r.ID)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func stepsTakeTurns(t *testing.T, p *process.Process) {
	t.Helper()
	a := search(t, p, schema.SearchRequest{Steps: []string{baking, departing}, K: 2})
	if ids(a) != "departures oven" {
		t.Fatalf("steps: %+v", a.Results)
	}
	for _, r := range a.Results {
		if want := map[string]int{"oven": 1, "departures": 2}[r.ID]; r.Step != want {
			t.Errorf("%s is of step %d, want %d", r.ID, r.Step, want)
		}
	}
}

func agentsAreBrought(t *testing.T, p *process.Process) {
	t.Helper()
	a := search(t, p, schema.SearchRequest{Query: crossing, Rank: schema.RankAgents, K: 2})
	if len(a.Results) != 2 || a.Results[0].ID != "harbour" {
		t.Fatalf("agents: %+v", a.Results)
	}
	by := a.Results[0].BroughtBy
	if a.Results[0].Kind != schema.KindAgent || len(by) == 0 || by[0].ID != "book" || by[0].Rank != 1 {
		t.Errorf("it was brought by %+v", by)
	}
}

func oneAgentWhereItCovers(t *testing.T, p *process.Process) {
	t.Helper()
	one := search(t, p, schema.SearchRequest{Steps: []string{crossing, departing}, Rank: schema.RankAuto, K: 2})
	if one.Chosen == nil || one.Chosen.Rank != schema.RankAgents || one.Chosen.Agent != "harbour" || one.Results[0].ID != "harbour" {
		t.Errorf("one agent does it all: %+v, %s", one.Chosen, ids(one))
	}
	several := search(t, p, schema.SearchRequest{Steps: []string{crossing, baking}, Rank: schema.RankAuto, K: 2})
	if several.Chosen == nil || several.Chosen.Rank != schema.RankTools || ids(several) != "book oven" {
		t.Errorf("no agent does it all: %+v, %s", several.Chosen, ids(several))
	}
}
