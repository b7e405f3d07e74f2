package standardizer

import (
	"slices"
	"testing"
)

func TestBoilerplateIsLeftOutAndFlagged(t *testing.T) {
	const terms, more = "By using it you agree to our terms.", "Ask us for a trial."
	for name, c := range map[string]struct {
		raw, description, response string
		left                       []string
	}{
		"beside others":     {`{"name": "book", "description": "Books a room. ` + terms + ` ` + more + `"}`, "Books a room.", "", []string{terms, more}},
		"in the response":   {`{"name": "book", "description": "Books a room.", "returns": "` + terms + `"}`, "Books a room.", "", []string{terms}},
		"nothing else":      {`{"name": "book", "description": "` + terms + ` ` + more + `"}`, terms, "", []string{more}},
		"nothing of it":     {`{"name": "book", "description": "Books a room.", "returns": "A number of it."}`, "Books a room.", "A number of it.", nil},
		"one, nothing else": {`{"name": "book", "description": "` + terms + `"}`, terms, "", nil},
	} {
		change := upsert("a", "mcp", c.raw)
		change.Boilerplate = []string{terms, more}
		d := made(t, Config{}, nil, nil, change)["a"].Document
		if d.Description != c.description || d.Response != c.response || !slices.Equal(d.Boilerplate, c.left) || slices.Contains(d.Flags, FlagBoilerplate) != (c.left != nil) {
			t.Errorf("%s: %q, %q, left out %q, flags %q", name, d.Description, d.Response, d.Boilerplate, d.Flags)
		}
	}
}
