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
		for i := range d.Parameters {
			d.Parameters[i].check(&c, fmt.Sprintf("/parameters/%d", i))
		}
	}
	d.Standardized.check(&c, "/standardized")
	return c.err
}

func (p *Parameter) check(c *checks, path string) {
	c.must(p.Name != "", path+"/name", "", "must not be empty")
	c.text(path+"/name", p.Name, MaxName)
	c.text(path+"/type", p.Type, MaxName)
	c.text(path+"/description", p.Description, MaxParameterText)
	c.text(path+"/default", p.Default, MaxParameterText)
	c.text(path+"/example", p.Example, MaxParameterText)
	c.texts(path+"/enum", p.Enum, MaxEnum, MaxParameterText)
}

// Origin says how a document was made where a language model was to fill its
// fields. Names, types, required flags, defaults and enums that the source
// states are the source's in any case.
type Origin struct {
	Prompt     string   `json:"prompt"`               // number and content hash of the prompt
	Model      string   `json:"model"`                // that was to be asked
	Language   string   `json:"language,omitempty"`   // that the fields were to be in (BCP 47); empty: the source's own
	Fields     []string `json:"fields,omitempty"`     // what the model wrote: "description", "parameters/city/example"
	Missing    []string `json:"missing,omitempty"`    // fields that could not be filled from the source
	Repaired   bool     `json:"repaired,omitempty"`   // the model was asked a second time
	Fallback   Fallback `json:"fallback,omitempty"`   // why the fields are the rules' alone; empty where they are not
	Violations []string `json:"violations,omitempty"` // what was wrong with what was not taken of its answers
	Refused    string   `json:"refused,omitempty"`    // the last answer that was not taken whole, at most MaxRefused bytes of it
}

// Pending reports whether a document waits for a language model to fill its fields.
func (d *Document) Pending() bool {
	return d.Standardized != nil && d.Standardized.Fallback == FallbackPending
}

// maxUncovered is which share of its source a document may lack before it counts as
// covering little.
const maxUncovered = .1

// CoversLittle reports whether the fields had no room for much of the source.
func (d *Document) CoversLittle() bool { return d.Uncovered > maxUncovered }

// Fallback says why a document was made by rules alone.
type Fallback string

// The reasons for making a document by rules alone.
const (
	FallbackPending     Fallback = "pending"     // the model has not answered yet: its document follows
	FallbackUngrounded  Fallback = "ungrounded"  // its answers said what the source does not
	FallbackMalformed   Fallback = "malformed"   // its answers did not have the shape that was asked for
	FallbackDeclined    Fallback = "declined"    // it, or its endpoint, would not take the document
	FallbackQuarantined Fallback = "quarantined" // the document was not shown to it
)

// The limits of an origin, in bytes and counts.
const (
	MaxRefused    = 8 << 10
	MaxViolations = 32
	MaxViolation  = 512
)

// check checks an origin against its limits; none at all is valid.
func (o *Origin) check(c *checks, path string) {
	if o == nil {
		return
	}
	c.text(path+"/prompt", o.Prompt, MaxID)
	c.text(path+"/model", o.Model, MaxModel)
	c.text(path+"/language", o.Language, MaxID)
	c.text(path+"/fallback", string(o.Fallback), MaxID)
	c.text(path+"/refused", o.Refused, MaxRefused)
	c.texts(path+"/fields", o.Fields, 3*MaxParameters, 2*MaxName)
	c.texts(path+"/missing", o.Missing, 3*MaxParameters, 2*MaxName)
	c.texts(path+"/violations", o.Violations, MaxViolations, MaxViolation)
}
