package e2e

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/schema"
)

// An agent that searches and calls, and reports nothing, teaches what it calls: the next
// search has first what it used.
func TestCallsTeachWithoutFeedback(t *testing.T) {
	t.Parallel()
	shop := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	for _, name := range []string{"rent_boat", "hire_boat"} {
		shopTool(shop, name, "Gives you a boat for a day.")
	}
	p := process.Up(t, process.Binary(), "TOOLSTREAM_TRAINER_PUBLISH=100ms").Front()
	addSource(t, p, "shop", source.Spec{Kind: source.MCP, URL: serveMCP(t, shop)})
	comeTo(t, p, "shop/hire_boat", "shop/rent_boat")
	first := func() schema.SearchResponse {
		var found schema.SearchResponse
		check.OK(t, p.Client.Post(t.Context(), "/v1/search", schema.SearchRequest{Query: "a boat for a day"}, &found))
		if len(found.Results) != 2 {
			t.Fatalf("found %+v", found.Results)
		}
		return found
	}
	before := first()
	used := before.Results[1].ID // the second best
	rounds := 0
	err := until(t, func() (bool, error) {
		found := first()
		if found.Results[0].ID == used {
			return true, nil
		}
		rounds++
		r, err := callTool(t, p, used, `{}`)
		if err == nil && r.SearchID != found.SearchID {
			t.Errorf("the call is of the search %q, not of %q", r.SearchID, found.SearchID)
		}
		return false, err
	})
	if err != nil {
		t.Fatalf("%v after %d calls of %s", err, rounds, used)
	}
	t.Logf("%s stands first after %d calls", used, rounds)
}
