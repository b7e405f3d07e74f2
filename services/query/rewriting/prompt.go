package rewriting

import (
	"crypto/sha256"
	_ "embed" // the prompt is files
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/pkg/schema"
)

//go:embed instructions.txt
var instructions string

//go:embed answer.json
var answerSchema []byte

// promptNumber counts the prompts that differ in intent; the hash next to it distinguishes
// prompts that differ at all.
const promptNumber = 2

// Prompt returns the version of the prompt: its number, and the beginning of
// the hash of its files.
func Prompt() string {
	sum := sha256.Sum256(append([]byte(instructions), answerSchema...))
	return fmt.Sprintf("%d-%x", promptNumber, sum[:6])
}

// What the model is shown at most. Lengths are in bytes.
const (
	maxDescriptions = 20
	maxDocuments    = 3

	maxQuery       = 8 << 10
	maxDescription = 600
	maxParameters  = 30
	maxMeaning     = 200
	maxExamples    = 3
	maxAnswer      = 1500 // tokens
)

// message is the data that the model sees. JSON keeps each text
// within its quotes, whatever it holds.
type message struct {
	Query        string   `json:"query"`
	Descriptions []string `json:"descriptions"`
	Documents    []tool   `json:"documents"`
}

type tool struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Parameters  []parameter `json:"parameters"`
	Response    string      `json:"response,omitempty"`
	Examples    []string    `json:"examples,omitempty"`
}

type parameter struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"`
	Required    bool   `json:"required"`
	Description string `json:"description,omitempty"`
}

// question is a message on its way.
type question struct {
	query string // in order
	shown string // the descriptions, one a line
	llm.Request
}

// ask makes the question of a query and the tools that it is near, the nearest
// first.
func ask(q Query, near []schema.Entity) (question, error) {
	near = slices.DeleteFunc(near, func(e schema.Entity) bool { return suspected(&e.Document) })
	near = near[:min(len(near), maxDescriptions)]
	m := message{Query: inOrder(q.Text), Descriptions: []string{}, Documents: []tool{}}
	for _, e := range byID(near[:min(len(near), maxDocuments)]) {
		m.Documents = append(m.Documents, toolOf(&e.Document))
	}
	for _, e := range byID(near) {
		m.Descriptions = append(m.Descriptions, text.Truncate(e.Document.Description, maxDescription))
	}
	user, err := encode(m)
	return question{
		query: m.Query, shown: strings.Join(m.Descriptions, "\n"),
		Request: llm.Request{
			Stage: llm.StageRewrite, Tenant: q.Tenant, System: instructions, User: user, MaxTokens: maxAnswer,
			Schema: llm.Schema{Name: "rewritten_query", JSON: answerSchema},
		},
	}, err
}

// keyOf returns the tenant and a hash of everything that determines the answer to a query.
func keyOf(prompt, model string, q Query) (string, error) {
	var scope []byte // its key is not text
	if q.Scope != nil {
		scope = []byte(q.Scope.Key)
	}
	sorted := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
	decides, err := encode(struct {
		Tenant, Prompt, Model, Query string
		Scope                        []byte
		Filters                      schema.Filters
	}{q.Tenant, prompt, model, inOrder(q.Text), scope, schema.Filters{
		Providers: sorted(q.Filters.Providers), Tags: sorted(q.Filters.Tags), IDs: sorted(q.Filters.IDs),
		Kinds: slices.Compact(slices.Sorted(slices.Values(q.Filters.Kinds))),
	}})
	return fmt.Sprintf("%s.%x", q.Tenant, sha256.Sum256([]byte(decides))), err
}

// suspected reports whether a document is not to be shown to a model: texts
// that speak to it, or that hide something from human readers.
func suspected(d *schema.Document) bool {
	return d.Quarantined || slices.ContainsFunc(d.Flags, func(flag string) bool {
		return flag == "instructions-in-text" || flag == text.FlagTags || flag == text.FlagInvisible || flag == text.FlagBidi
	})
}

// inOrder returns a query in a canonical form: NFC, every
// white space one space, none at the ends, nothing that no reader sees, and not
// too long.
func inOrder(query string) string { return text.Truncate(text.Line(query), maxQuery) }

func byID(list []schema.Entity) []schema.Entity {
	return slices.SortedFunc(slices.Values(list), func(a, b schema.Entity) int { return strings.Compare(a.ID, b.ID) })
}

func toolOf(d *schema.Document) tool {
	t := tool{
		Name: d.Name, Description: text.Truncate(d.Description, maxDescription), Parameters: []parameter{},
		Response: text.Truncate(d.Response, maxDescription),
	}
	for _, p := range d.Parameters[:min(len(d.Parameters), maxParameters)] {
		t.Parameters = append(t.Parameters, parameter{p.Name, p.Type, p.Required, text.Truncate(p.Description, maxMeaning)})
	}
	for _, example := range d.Examples[:min(len(d.Examples), maxExamples)] {
		t.Examples = append(t.Examples, text.Truncate(example, maxMeaning))
	}
	return t
}

// encode returns JSON that leaves <, > and & as they are: escaped, they cost
// tokens.
func encode(v any) (string, error) {
	out, err := jsondoc.Plain(v)
	if err != nil {
		return "", fmt.Errorf("rewriting: %w", err)
	}
	return string(out), nil
}
