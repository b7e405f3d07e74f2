package paper

import (
	"context"
	"fmt"

	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Model embeds texts as unit vectors; any embedder.Model is one.
type Model interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Scorer holds the standardized tools of a data set, ready to be scored. It may
// be used concurrently if its model may.
type Scorer struct {
	tools       []dataset.Standardized
	fields      Fields
	description column
	parameters  column
	response    column
	examples    column
}

// Fields are the features that hold the four scores of a tool.
type Fields struct {
	Description, Parameters, Response, Examples fusion.Feature
}

// LexicalFields are those of BM25.
func LexicalFields() Fields {
	return Fields{fusion.NeedsLexicalDescription, fusion.NeedsLexicalParameters, fusion.NeedsLexicalResponse, fusion.NeedsLexicalExamples}
}

// DenseFields are those of an embedding model.
func DenseFields() Fields {
	return Fields{fusion.NeedsDenseDescription, fusion.NeedsDenseParameters, fusion.NeedsDenseResponse, fusion.NeedsDenseExamples}
}

// column is one field of all tools: its texts in the order of the tools, and
// where those of each tool begin. The last start is the number of texts.
type column struct {
	starts []int
	scores similarity
}

// New makes the texts of the tools searchable: by BM25, or, where a model is
// given, by the cosine of its embeddings.
func New(ctx context.Context, tools []dataset.Standardized, model Model) (*Scorer, error) {
	s := &Scorer{tools: tools, fields: LexicalFields()}
	if model != nil {
		s.fields = DenseFields()
	}
	for _, field := range []struct {
		column *column
		texts  func(*dataset.Standardized) ([]string, error)
	}{
		{&s.description, func(t *dataset.Standardized) ([]string, error) { return []string{t.Description}, nil }},
		{&s.response, func(t *dataset.Standardized) ([]string, error) { return []string{t.Response}, nil }},
		{&s.examples, func(t *dataset.Standardized) ([]string, error) { return t.Examples, nil }},
		{&s.parameters, parameterTexts},
	} {
		if err := field.column.fill(ctx, tools, field.texts, model); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (c *column) fill(ctx context.Context, tools []dataset.Standardized, of func(*dataset.Standardized) ([]string, error), model Model) error {
	var texts []string
	for i := range tools {
		c.starts = append(c.starts, len(texts))
		list, err := of(&tools[i])
		if err != nil {
			return fmt.Errorf("tool %s: %w", tools[i].ID, err)
		}
		texts = append(texts, list...)
	}
	c.starts = append(c.starts, len(texts))
	var err error
	c.scores, err = newSimilarity(ctx, texts, model)
	return err
}

// parameterTexts returns each parameter as the JSON of what is said of it, with
// its name as the last member.
func parameterTexts(t *dataset.Standardized) ([]string, error) {
	texts := make([]string, len(t.Parameters))
	for i, p := range t.Parameters {
		object, err := JSONText(p.Raw)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", p.Name, err)
		}
		named := separate([]byte(object[:len(object)-1]), '{')
		named = append(appendString(named, "name"), ": "...)
		texts[i] = string(append(appendString(named, p.Name), '}'))
	}
	return texts, nil
}

// Fields returns the features that Score sets.
func (s *Scorer) Fields() Fields { return s.fields }

// Tools returns the ids of the tools in the order of Score.
func (s *Scorer) Tools() []string {
	ids := make([]string, len(s.tools))
	for i := range s.tools {
		ids[i] = s.tools[i].ID
	}
	return ids
}

// Score returns the field scores of every tool for a rewritten query, in the
// order of the tools (arXiv 2602.05366, equations 1 to 3): of description and
// response that of the need that asks best, of examples that of the best need
// and example, of parameters the mean over the parameters of max(0, best
// argument). Matches holds the parameters for the penalty.
func (s *Scorer) Score(ctx context.Context, q *dataset.Rewritten) ([]fusion.Example, error) {
	out := make([]fusion.Example, len(s.tools))
	for _, field := range []struct {
		at     fusion.Feature
		column *column
		ask    func(schema.Need) string
	}{
		{s.fields.Description, &s.description, func(n schema.Need) string { return n.ToolDescription }},
		{s.fields.Response, &s.response, func(n schema.Need) string { return n.ExpectedResponse }},
		{s.fields.Examples, &s.examples, func(n schema.Need) string { return n.UserIntent }},
	} {
		asked := make([]string, len(q.Needs))
		for i, need := range q.Needs {
			asked[i] = field.ask(need)
		}
		best, err := field.column.best(ctx, asked)
		if err != nil {
			return nil, err
		}
		for i := range out {
			of := best[field.column.starts[i]:field.column.starts[i+1]]
			out[i].Features[field.at], _ = fusion.Best(len(of), func(j int) float64 { return of[j] })
		}
	}
	return out, s.scoreParameters(ctx, q, out)
}

// scoreParameters scores the parameters and what is missing. As in the authors'
// code a query without arguments misses every parameter; what serves has no
// penalty then.
func (s *Scorer) scoreParameters(ctx context.Context, q *dataset.Rewritten, out []fusion.Example) error {
	arguments := make([]string, len(q.Arguments))
	for i, a := range q.Arguments {
		arguments[i] = a.Name + ": " + a.Meaning
	}
	best, err := s.parameters.best(ctx, arguments)
	if err != nil {
		return err
	}
	for i := range out {
		of := best[s.parameters.starts[i]:s.parameters.starts[i+1]]
		matches := make([]schema.Match, len(of))
		for j, score := range of {
			of[j] = max(0, score)
			matches[j] = schema.Match{Score: of[j], Required: s.tools[i].Parameters[j].Required}
		}
		out[i].Features[s.fields.Parameters] = fusion.Mean(of)
		out[i].Matches = matches
	}
	return nil
}

// best returns for every text of the column the score of the question that fits
// it best.
func (c *column) best(ctx context.Context, questions []string) ([]float64, error) {
	scores, err := c.scores(ctx, questions)
	if err != nil {
		return nil, err
	}
	best := make([]float64, c.starts[len(c.starts)-1])
	for i := range best {
		best[i], _ = fusion.Best(len(scores), func(q int) float64 { return scores[q][i] })
	}
	return best, nil
}
