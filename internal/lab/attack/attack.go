// Package attack makes tools whose texts are meant to reach agents that do not want them. The
// texts are made of agents' requests, of words that are common in these, and of other tools.
// It needs no language model: the forms "keywords", "answers" and "cluster" replace the texts
// that ToolFlood (arXiv 2603.13950) has a language model write.
package attack

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/toolstream/toolstream/pkg/schema"
)

// The kinds of attack.
const (
	Flood   = "flood"   // texts are the requests that are targeted
	Stuff   = "stuff"   // texts are the words that are commonest in them
	Copy    = "copy"    // near copies of the tools that answer them
	Imitate = "imitate" // the names of these tools, and praise
)

// Kinds returns the kinds of attack.
func Kinds() []string { return []string{Flood, Stuff, Copy, Imitate} }

// Target is a request that an attacker knows, with a tool that answers it.
type Target struct {
	Query string
	Tool  schema.Document
}

// Form is a way to make the texts of a tool.
type Form struct {
	Name    string
	Kind    string
	Repeats int // how many tools are made for the same targets
	// document makes the texts of a tool of as many targets as it has room for, from
	// the first on. nth counts the tools for the same targets.
	document func(targets []Target, nth int) Document
}

// Document is a tool in the form of MCP, with the requests that it claims to answer.
type Document struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Schema      any      `json:"inputSchema,omitempty"`
	Examples    []string `json:"examples,omitempty"`
}

// Forms returns the forms of a kind of attack.
func Forms(kind string) []Form {
	return slices.DeleteFunc(slices.Clone(forms), func(f Form) bool { return f.Kind != kind })
}

// Tools returns n tools of the form, and the targets that their texts begin with. If there are
// enough targets, each tool begins with another target. The same arguments return the same
// tools.
func (f Form) Tools(rng *rand.Rand, targets []Target, n int) (out []Document, meant []Target, err error) {
	if len(targets) == 0 || n < 1 {
		return nil, nil, fmt.Errorf("%d tools of %d targets", n, len(targets))
	}
	targets = slices.Clone(targets)
	rng.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	groups := (n + f.Repeats - 1) / f.Repeats
	for i := range n {
		first := i / f.Repeats * len(targets) / groups
		out = append(out, f.document(slices.Concat(targets[first:], targets[:first]), i%f.Repeats))
		if i%f.Repeats == 0 {
			meant = append(meant, targets[first])
		}
	}
	return out, meant, nil
}
