// Package evaluation measures rankings: metrics as trec_eval defines them,
// intervals by bootstrap, and comparisons of two runs query by query.
// It is pure; package evaluator makes the rankings with the code that serves.
//
// # Metrics
//
// NDCG@k has linear gains and the discount 1/log2(1 + rank). Recall@k is the
// share of a query's labels found in the first k places, complete@k is 1 where
// that is all of them. MRR is 1/rank of the first label found, MAP the mean
// over the labels of the precision at their ranks, 0 for those not found. Of a
// set of queries each is the mean.
//
// # Ties
//
// Equal scores are ordered by id, descending in string order, as trec_eval
// does and as the product does when it serves.
//
// # Labels with alternatives
//
// An alternative counts in place of its label, once: what finds a label a
// second time takes up a place and gains nothing.
package evaluation

import (
	"fmt"
	"slices"
	"strings"
)

// Settings are the switches of an evaluation. A switch with a fixed list of
// values names them in Choices.
type Settings struct {
	Documents string `json:"documents"`
	Queries   string `json:"queries"`
	Retrieval string `json:"retrieval"`
	Weights   string `json:"weights"` // one of Choices, or a file
	Usage     string `json:"usage"`
	Rank      string `json:"rank"`
	Steps     string `json:"steps"`
	Rerank    string `json:"rerank"`
	Tasks     string `json:"tasks"` // how many queries a task is made of
	Split     string `json:"split"` // all, or a value of the queries' split
	Baseline  string `json:"baseline"`
	Model     string `json:"model"`         // embedding model, empty where nothing was embedded
	LLM       string `json:"llm,omitempty"` // language model, empty where none was asked
}

// The values of the switches.
const (
	Off = "off"
	On  = "on"
	All = "all"

	Rules    = "rules"
	Raw      = "raw"
	Recorded = "recorded"
	LLM      = "llm"

	Hybrid  = "hybrid"
	Lexical = "lexical"
	Dense   = "dense"

	Builtin   = "builtin"
	Learned   = "learned"
	Reference = "reference"

	Tools     = "tools"
	Providers = "providers"

	FullDocument = "fulldoc"

	Auto   = "auto"
	Single = "single"
	Multi  = "multi"
)

// Choice is a switch with a fixed list of values, the default first.
type Choice struct {
	Name   string
	Values []string
	Value  func(*Settings) *string
}

// Choices lists the switches that have a fixed list of values.
func Choices() []Choice {
	return []Choice{
		{"documents", []string{Rules, Recorded, LLM}, func(s *Settings) *string { return &s.Documents }},
		{"queries", []string{Raw, Recorded, LLM}, func(s *Settings) *string { return &s.Queries }},
		{"retrieval", []string{Hybrid, Lexical, Dense}, func(s *Settings) *string { return &s.Retrieval }},
		{"usage", []string{Off, On}, func(s *Settings) *string { return &s.Usage }},
		{"rank", []string{Tools, Providers, Auto}, func(s *Settings) *string { return &s.Rank }},
		{"steps", []string{Off, On}, func(s *Settings) *string { return &s.Steps }},
		{"rerank", []string{Off, Auto, Single, Multi}, func(s *Settings) *string { return &s.Rerank }},
		{"tasks", []string{"1", "2", "3"}, func(s *Settings) *string { return &s.Tasks }},
		{"baseline", []string{Off, FullDocument}, func(s *Settings) *string { return &s.Baseline }},
	}
}

// DefaultSettings returns the settings in which every switch has its default.
func DefaultSettings() Settings {
	s := Settings{Weights: Builtin, Split: All}
	for _, c := range Choices() {
		*c.Value(&s) = c.Values[0]
	}
	return s
}

// Validate says which switch has a value that it does not know, or which two
// do not go together.
func (s *Settings) Validate() error {
	for _, c := range Choices() {
		if v := *c.Value(s); !slices.Contains(c.Values, v) {
			return fmt.Errorf("--%s is %s, not %q", c.Name, orList(c.Values), v)
		}
	}
	switch {
	case s.Usage == On && s.Weights != Learned:
		return fmt.Errorf("--usage on goes with --weights learned: uses are counted in the queries that are learned from")
	case s.Tasks != "1" && (s.Queries != Raw || s.Weights == Learned || s.Weights == Reference):
		return fmt.Errorf("--tasks %s goes with --queries raw and --weights %s or a file", s.Tasks, Builtin)
	case s.Steps == On && s.Queries != Raw:
		return fmt.Errorf("--steps on goes with --queries raw: what was rewritten is the whole query")
	case s.Rank == Auto && (s.Weights == Learned || s.Weights == Reference):
		return fmt.Errorf("--rank auto goes with --weights builtin or a file")
	case s.Baseline != Off && s.Rank != Tools:
		return fmt.Errorf("--baseline %s ranks tools", s.Baseline)
	case s.Rerank != Off && (s.Rank != Tools || s.Baseline != Off || s.Weights == Reference):
		return fmt.Errorf("--rerank %s goes with tools that the product ranks", s.Rerank)
	case s.Weights == "":
		return fmt.Errorf("--weights is %s, %s, %s or a file", Builtin, Learned, Reference)
	}
	return nil
}

func orList(values []string) string {
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// Result is the outcome of one evaluation.
type Result struct {
	Dataset  string   `json:"dataset"`
	Tools    int      `json:"tools"`   // that could be found
	Queries  int      `json:"queries"` // that were measured
	Settings Settings `json:"settings"`
	Metrics  Metrics  `json:"metrics"`
	Missing  int      `json:"missing_labels,omitempty"` // that name no tool of the set
	Whole    int      `json:"without_steps,omitempty"`  // queries, where steps are searched
}

// Run is a result with what it is made of.
type Run struct {
	Result
	PerQuery []QueryResult
	Notes    []string // what a reader of the figures should know
}

// QueryResult is the ranking of one query and what it is worth.
type QueryResult struct {
	ID       string   `json:"id"`
	Relevant int      `json:"relevant"` // labels that could be found
	Hits     []int    `json:"hits"`     // ranks from 1 at which they were; never null
	Metrics  Metrics  `json:"metrics"`
	Ranking  []Ranked `json:"ranking"` // best first, at most MaxRanking
}

// MaxRanking is the depth to which rankings are judged.
const MaxRanking = 1000

// Judge returns the result of one query. The ranking is in order.
func Judge(id string, j *Judgments, ranking []Ranked) QueryResult {
	q := j.Score(ranking)
	q.ID = id
	return q
}

// MeanOf returns the mean of every metric over queries, zero of none.
func MeanOf(queries []QueryResult) Metrics {
	var mean Metrics
	for i := range queries {
		for j, x := range queries[i].Metrics {
			mean[j] += x / float64(len(queries))
		}
	}
	return mean
}
