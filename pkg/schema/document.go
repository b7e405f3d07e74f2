package schema

import (
	"fmt"
)

// The limits of a standardized document, in bytes and counts. They bound what
// one document can cost; standardizing stays well below them.
const (
	MaxName          = 1 << 10
	MaxDescription   = 16 << 10
	MaxTags          = 64
	MaxParameters    = 1024
	MaxParameterText = 4 << 10
	MaxEnum          = 256
	MaxExamples      = 32
	MaxExample       = 4 << 10
	MaxFlags         = 64
)

// Validate checks a document against its limits. The error is an *Invalid.
func (d *Document) Validate() error {
	var c checks
	c.must(!isBlank(d.Name), "/name", d.Name, "must not be empty")
	c.text("/name", d.Name, MaxName)
	c.text("/title", d.Title, MaxName)
	c.text("/description", d.Description, MaxDescription)
	c.text("/response", d.Response, MaxDescription)
	c.text("/language", d.Language, MaxID)
	c.must(d.Quality == QualityGood || d.Quality == QualityLow, "/quality", string(d.Quality), "must be absent or %q", QualityLow)
	c.must(d.Uncovered >= 0 && d.Uncovered <= 1, "/uncovered", fmt.Sprint(d.Uncovered), "must be from 0 to 1")
	c.texts("/tags", d.Tags, MaxTags, MaxName)
	c.texts("/examples", d.Examples, MaxExamples, MaxExample)
	c.texts("/flags", d.Flags, MaxFlags, MaxID)
	if c.count("/parameters", len(d.Parameters), MaxParameters) {
		for i, p := range d.Parameters {
			path := fmt.Sprintf("/parameters/%d", i)
			c.must(p.Name != "", path+"/name", "", "must not be empty")
			c.text(path+"/name", p.Name, MaxName)
			c.text(path+"/type", p.Type, MaxName)
			c.text(path+"/description", p.Description, MaxParameterText)
			c.text(path+"/default", p.Default, MaxParameterText)
			c.text(path+"/example", p.Example, MaxParameterText)
			c.texts(path+"/enum", p.Enum, MaxEnum, MaxParameterText)
		}
	}
	if o := d.Standardized; o != nil {
		c.text("/standardized/prompt", o.Prompt, MaxID)
		c.text("/standardized/model", o.Model, MaxModel)
		c.text("/standardized/language", o.Language, MaxID)
		c.text("/standardized/fallback", string(o.Fallback), MaxID)
		c.text("/standardized/refused", o.Refused, MaxRefused)
		c.texts("/standardized/fields", o.Fields, 3*MaxParameters, 2*MaxName)
		c.texts("/standardized/missing", o.Missing, 3*MaxParameters, 2*MaxName)
		c.texts("/standardized/violations", o.Violations, MaxViolations, MaxViolation)
	}
	return c.err
}

// Origin says how a language model took part in a document. Names, types, required flags,
// defaults and enums that the source states always come from the source.
type Origin struct {
	Prompt     string   `json:"prompt"`               // The number and the content hash of the prompt.
	Model      string   `json:"model"`                // The language model.
	Language   string   `json:"language,omitempty"`   // The requested language of the fields (BCP 47); empty for the language of the source.
	Fields     []string `json:"fields,omitempty"`     // The fields that the model wrote: "description", "parameters/city/example".
	Missing    []string `json:"missing,omitempty"`    // The fields that the source leaves empty.
	Repaired   bool     `json:"repaired,omitempty"`   // Whether the model was asked a second time.
	Fallback   Fallback `json:"fallback,omitempty"`   // The reason why rules alone made the document; empty if the model contributed.
	Violations []string `json:"violations,omitempty"` // The reasons why parts of the answers were not used.
	Refused    string   `json:"refused,omitempty"`    // The beginning of the last answer with an unusable part.
}

// Pending reports whether a document waits for a language model to fill its fields.
func (d *Document) Pending() bool {
	return d.Standardized != nil && d.Standardized.Fallback == FallbackPending
}

// maxUncovered is the share of its source that a document may lack before it counts as covering
// little.
const maxUncovered = .1

// CoversLittle reports whether much of the source did not fit into the fields.
func (d *Document) CoversLittle() bool { return d.Uncovered > maxUncovered }

// Fallback says why a document was made by rules alone.
type Fallback string

// The reasons for making a document by rules alone.
const (
	FallbackPending     Fallback = "pending"     // the model has not answered yet, and its document will follow
	FallbackUngrounded  Fallback = "ungrounded"  // its answers are not grounded in the source
	FallbackMalformed   Fallback = "malformed"   // its answers do not have the requested shape
	FallbackDeclined    Fallback = "declined"    // the model or its endpoint refused the document
	FallbackQuarantined Fallback = "quarantined" // the model did not see the document
)

// The limits of an origin, in bytes and counts.
const (
	MaxRefused    = 8 << 10
	MaxViolations = 32
	MaxViolation  = 512
)
