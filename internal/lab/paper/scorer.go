// Package paper scores exactly as the authors of Multi-Field Tool Retrieval do (arXiv
// 2602.05366), on recorded standardized tools and recorded rewritten queries, so that figures
// can be compared with theirs.
//
// It does not serve searches: the texts of its fields, its BM25 and its one score per field
// follow the paper, not internal/engine/index. The fusion and the penalty are pkg/fusion, as
// everywhere.
package paper

import (
	"context"
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/kit/vector"
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
	tools   []dataset.Standardized
	fields  Fields
	columns [4]column
}

// Fields are the features that hold the four scores of a tool, in the order of the paper:
// description, parameters, response, examples.
type Fields [4]fusion.Feature

const parameters = 1 // the place of the parameters in Fields

// LexicalFields are the fields that BM25 scores.
func LexicalFields() Fields {
	return Fields{fusion.NeedsLexicalDescription, fusion.NeedsLexicalParameters, fusion.NeedsLexicalResponse, fusion.NeedsLexicalExamples}
}

// DenseFields are the fields that an embedding model scores.
func DenseFields() Fields {
	return Fields{fusion.NeedsDenseDescription, fusion.NeedsDenseParameters, fusion.NeedsDenseResponse, fusion.NeedsDenseExamples}
}

// column is one field of all tools: its texts in the order of the tools, and the index of each
// tool's first text. The last start is the number of texts.
type column struct {
	starts  []int
	corpus  *Corpus // if no model is given
	model   Model
	vectors [][]float32
}

// New makes the texts of the tools searchable: by the cosine of the model's embeddings, or by
// BM25 if model is nil.
func New(ctx context.Context, tools []dataset.Standardized, model Model) (*Scorer, error) {
	s := &Scorer{tools: tools, fields: LexicalFields()}
	if model != nil {
		s.fields = DenseFields()
	}
	for i, texts := range [4]func(*dataset.Standardized) ([]string, error){
		func(t *dataset.Standardized) ([]string, error) { return []string{t.Description}, nil },
		parameterTexts,
		func(t *dataset.Standardized) ([]string, error) { return []string{t.Response}, nil },
		func(t *dataset.Standardized) ([]string, error) { return t.Examples, nil },
	} {
		if err := s.columns[i].fill(ctx, tools, texts, model); err != nil {
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
	if model == nil {
		c.corpus = NewCorpus(texts)
		return nil
	}
	var err error
	c.model = model
	c.vectors, err = embed(ctx, texts, model)
	return err
}

// parameterTexts returns each parameter's description as JSON, with its name as the last
// member.
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

// Score returns the field scores of every tool for a rewritten query, in the order of the
// tools (arXiv 2602.05366, equations 1 to 3). Description and response have the score of the
// best need, examples the score of the best pair of need and example. Parameters have the mean
// over the parameters of max(0, best argument). Matches holds the parameters for the penalty.
func (s *Scorer) Score(ctx context.Context, q *dataset.Rewritten) ([]fusion.Example, error) {
	out := make([]fusion.Example, len(s.tools))
	for at, ask := range [4]func(schema.Need) string{
		func(n schema.Need) string { return n.ToolDescription },
		nil, // parameters are asked by arguments
		func(n schema.Need) string { return n.ExpectedResponse },
		func(n schema.Need) string { return n.UserIntent },
	} {
		if ask == nil {
			continue
		}
		asked := make([]string, len(q.Needs))
		for i, need := range q.Needs {
			asked[i] = ask(need)
		}
		column := &s.columns[at]
		best, err := column.best(ctx, asked)
		if err != nil {
			return nil, err
		}
		for i := range out {
			of := best[column.starts[i]:column.starts[i+1]]
			out[i].Features[s.fields[at]], _ = fusion.Best(len(of), func(j int) float64 { return of[j] })
		}
	}
	return out, s.scoreParameters(ctx, q, out)
}

// scoreParameters scores the parameters and fills the matches for the penalty. As in the
// authors' code, a query without arguments misses every parameter; the serving code has no
// penalty then.
func (s *Scorer) scoreParameters(ctx context.Context, q *dataset.Rewritten, out []fusion.Example) error {
	arguments := make([]string, len(q.Arguments))
	for i, a := range q.Arguments {
		arguments[i] = a.Name + ": " + a.Meaning
	}
	column := &s.columns[parameters]
	best, err := column.best(ctx, arguments)
	if err != nil {
		return err
	}
	for i := range out {
		of := best[column.starts[i]:column.starts[i+1]]
		matches := make([]schema.Match, len(of))
		for j, score := range of {
			of[j] = max(0, score)
			matches[j] = schema.Match{Score: of[j], Required: s.tools[i].Parameters[j].Required}
		}
		out[i].Features[s.fields[parameters]] = fusion.Mean(of)
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

// scores returns for each question the score of every text.
func (c *column) scores(ctx context.Context, questions []string) ([][]float64, error) {
	scores := make([][]float64, len(questions))
	if c.corpus != nil {
		for i, q := range questions {
			scores[i] = c.corpus.Scores(q)
		}
		return scores, nil
	}
	vectors, err := embed(ctx, questions, c.model)
	if err != nil {
		return nil, err
	}
	for i, q := range vectors {
		scores[i] = make([]float64, len(c.vectors))
		for j, d := range c.vectors {
			if len(q) == len(d) { // a text without words has no vector
				scores[i][j] = float64(vector.Dot(q, d))
			}
		}
	}
	return scores, nil
}

// portion is how many texts are embedded in one call. It fits every model's request.
const portion = 64

func embed(ctx context.Context, texts []string, model Model) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for part := range slices.Chunk(texts, portion) {
		got, err := model.Embed(ctx, part)
		if err != nil {
			return nil, fmt.Errorf("embed: %w", err)
		}
		if len(got) != len(part) {
			return nil, fmt.Errorf("embed: %d vectors for %d texts", len(got), len(part))
		}
		vectors = append(vectors, got...)
	}
	return vectors, nil
}
