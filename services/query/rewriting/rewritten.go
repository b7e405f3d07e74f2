package rewriting

import (
	"maps"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Rewritten is the needs and arguments in a query. It is shared and never changed.
type Rewritten struct {
	Needs     []schema.Need
	Arguments map[string]string // name to meaning
	Cached    bool              // known from before
}

// Argument is something that a query can provide, without its value.
type Argument struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
}

// Of returns needs and arguments as a search takes them: empty needs and arguments
// without a name are left out, and of two arguments of one name the later one counts.
// Answers of a language model reach a search through it, now and from records.
func Of(needs []schema.Need, arguments []Argument) Rewritten {
	r := Rewritten{Arguments: make(map[string]string, len(arguments))}
	for _, n := range needs {
		if strings.TrimSpace(n.UserIntent+n.ToolDescription+n.ExpectedResponse) != "" {
			r.Needs = append(r.Needs, n)
		}
	}
	for _, a := range arguments {
		if strings.TrimSpace(a.Name) != "" {
			r.Arguments[a.Name] = a.Meaning
		}
	}
	return r
}

// Into puts the needs and arguments into a request, as if its caller had given
// them.
func (r Rewritten) Into(req *schema.SearchRequest) {
	req.Needs, req.Arguments = slices.Clone(r.Needs), maps.Clone(r.Arguments)
}
