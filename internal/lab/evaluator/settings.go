package evaluator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/engine/relevance"
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
	Model     string `json:"model"`         // embedding model, empty if nothing was embedded
	LLM       string `json:"llm,omitempty"` // language model, empty if it was not used
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

// DefaultSettings returns the settings with the default of every switch.
func DefaultSettings() Settings {
	s := Settings{Weights: Builtin, Split: All}
	for _, c := range Choices() {
		*c.Value(&s) = c.Values[0]
	}
	return s
}

// Validate returns an error for a switch with an unknown value, or for two switches that
// contradict each other.
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
	Dataset  string            `json:"dataset"`
	Tools    int               `json:"tools"`   // that could be found
	Queries  int               `json:"queries"` // that were measured
	Settings Settings          `json:"settings"`
	Metrics  relevance.Metrics `json:"metrics"`
	Missing  int               `json:"missing_labels,omitempty"` // that name no tool of the set
	Whole    int               `json:"without_steps,omitempty"`  // queries, if steps are searched
}

// Run is a result with its details.
type Run struct {
	Result
	PerQuery []relevance.QueryResult
	Notes    []string // caveats for readers of the figures
}
