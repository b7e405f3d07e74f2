package crash

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// step is one change that the driver sends: edition n of a tool, or its
// deletion.
type step struct {
	id      string
	edition int // 0 deletes
	body    json.RawMessage
}

func (s step) line() []byte {
	if s.edition == 0 {
		return fmt.Appendf(nil, `{"id":%s,"op":"delete"}`+"\n", quote(s.id))
	}
	return fmt.Appendf(nil, `{"id":%s,"provider":"crash","document":%s}`+"\n", quote(s.id), s.body)
}

func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always encodes
	}
	return b
}

// document is a tool in the form of MCP.
type document struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// mark tells the editions of a tool apart.
func mark(edition int) string { return fmt.Sprintf("This is edition %d.", edition) }

func (d document) edition(n int) json.RawMessage {
	d.Description = mark(n) + " " + d.Description
	b, err := json.Marshal(d)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return b
}

// script returns the changes to send: every tool once, a fifth of them again,
// and a tenth deleted, some of those made anew, interleaved by chance.
func script(rng *rand.Rand, tools map[string]document, ids []string) []step {
	var steps []step
	edition := map[string]int{}
	put := func(id string) {
		edition[id]++
		steps = append(steps, step{id, edition[id], tools[id].edition(edition[id])})
	}
	for i, id := range ids {
		put(id)
		earlier := ids[rng.IntN(i+1)]
		switch p := rng.Float64(); {
		case p < 0.1:
			steps = append(steps, step{id: earlier})
		case p < 0.3:
			put(earlier)
		}
	}
	return steps
}

// realTools reads the MCP tools of TOOLSTREAM_DATA; without it, tools are made.
func realTools(t *testing.T) (map[string]document, []string) {
	t.Helper()
	dir := os.Getenv("TOOLSTREAM_DATA")
	if dir == "" || testing.Short() {
		t.Log("TOOLSTREAM_DATA is not set, or -short: made tools instead of real ones")
		return madeTools(2000)
	}
	f := check.Value(os.Open(filepath.Join(dir, "mcp", "tools.jsonl.gz")))(t)
	defer f.Close()
	unzipped := check.Value(gzip.NewReader(f))(t)
	tools, ids := map[string]document{}, []string{}
	lines := bufio.NewScanner(unzipped)
	for lines.Buffer(nil, 4<<20); lines.Scan(); {
		var row struct {
			ID            string   `json:"id"`
			Documentation document `json:"documentation"`
		}
		check.OK(t, json.Unmarshal(lines.Bytes(), &row))
		tools[row.ID] = row.Documentation
		ids = append(ids, row.ID)
	}
	return tools, ids
}

func madeTools(n int) (map[string]document, []string) {
	tools, ids := map[string]document{}, []string{}
	for i := range n {
		id := fmt.Sprintf("crash/tool %d", i)
		ids = append(ids, id)
		tools[id] = document{
			Name:        fmt.Sprintf("tool_%d", i),
			Description: fmt.Sprintf("Does the work number %d of the workshop.", i),
			InputSchema: json.RawMessage(`{"type":"object","properties":{"amount":{"type":"integer"}},"required":["amount"]}`),
		}
	}
	return tools, ids
}
