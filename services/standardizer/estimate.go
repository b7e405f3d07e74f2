package standardizer

import (
	"encoding/json"
	"slices"

	"github.com/toolstream/toolstream/services/standardizer/injection"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// Estimate is the cost of having a language model standardize tools for the first time,
// without repairs and retries.
type Estimate struct {
	Tools            int `json:"tools"`
	Calls            int `json:"calls"`             // one for each distinct document
	PromptTokens     int `json:"prompt_tokens"`     // of the prompts, counted by prompts.Tokens
	CompletionTokens int `json:"completion_tokens"` // expected
	Flagged          int `json:"flagged"`           // with instructions in their text: in quarantine, the model is not asked about them
}

// Estimator adds up an Estimate.
type Estimator struct {
	estimate Estimate
	seen     map[string]bool
}

// NewEstimator returns an empty estimator.
func NewEstimator() *Estimator { return &Estimator{seen: map[string]bool{}} }

// Add counts a tool. A tool that cannot be standardized costs nothing.
func (e *Estimator) Add(format, id string, raw json.RawMessage) {
	doc, err := rules.Standardize(format, id, raw)
	if err != nil {
		return
	}
	e.estimate.Tools++
	key := answerKey(wanted{}, format, doc.Name, raw)
	if e.seen[key] {
		return
	}
	e.seen[key] = true
	q := prompts.Question{Raw: raw, Format: format, Document: &doc, Stated: rules.StatedBy(format, raw, &doc)}
	cost := q.Cost()
	e.estimate.Calls++
	e.estimate.PromptTokens += cost.Prompt
	e.estimate.CompletionTokens += cost.Completion
	if slices.Contains(doc.Flags, injection.Flag) {
		e.estimate.Flagged++
	}
}

// Estimate returns the sum so far.
func (e *Estimator) Estimate() Estimate { return e.estimate }
