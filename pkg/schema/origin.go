package schema

// Origin says how a document was made where a language model was to fill its
// fields. Names, types, required flags, defaults and enums that the source
// states are the source's in any case.
type Origin struct {
	Prompt     string   `json:"prompt"`               // number and content hash of the prompt
	Model      string   `json:"model"`                // that was to be asked
	Language   string   `json:"language,omitempty"`   // that the fields were to be in (BCP 47); empty: the source's own
	Fields     []string `json:"fields,omitempty"`     // what the model wrote: "description", "parameters/city/example"
	Missing    []string `json:"missing,omitempty"`    // fields that nobody could fill from the source
	Repaired   bool     `json:"repaired,omitempty"`   // the model was asked a second time
	Fallback   Fallback `json:"fallback,omitempty"`   // why the fields are the rules' alone; empty where they are not
	Violations []string `json:"violations,omitempty"` // what was wrong with the answer that was not taken
	Refused    string   `json:"refused,omitempty"`    // that answer, at most MaxRefused bytes of it
}

// Fallback says why a document was made by rules alone.
type Fallback string

// The reasons for making a document by rules alone. Those that are Temporary
// are to be made good later.
const (
	FallbackUnavailable Fallback = "unavailable" // the model was away, busy or wrongly set up
	FallbackExhausted   Fallback = "exhausted"   // the budget of the day was spent
	FallbackUngrounded  Fallback = "ungrounded"  // its answers said what the source does not
	FallbackMalformed   Fallback = "malformed"   // its answers did not have the shape that was asked for
	FallbackDeclined    Fallback = "declined"    // it, or its endpoint, would not take the document
	FallbackQuarantined Fallback = "quarantined" // the document was not shown to it
)

// Temporary reports whether a later attempt can succeed with the same prompt
// and model.
func (f Fallback) Temporary() bool { return f == FallbackUnavailable || f == FallbackExhausted }

// The limits of an origin, in bytes and counts.
const (
	MaxRefused    = 8 << 10
	MaxViolations = 32
	MaxViolation  = 512
)

// validate checks an origin against its limits; none at all is valid.
func (o *Origin) validate(path string) error {
	if o == nil {
		return nil
	}
	for _, text := range []struct {
		name, value string
		limit       int
	}{
		{"prompt", o.Prompt, MaxID},
		{"model", o.Model, MaxModel},
		{"language", o.Language, MaxID},
		{"fallback", string(o.Fallback), MaxID},
		{"refused", o.Refused, MaxRefused},
	} {
		if err := checkText(path+"/"+text.name, text.value, text.limit); err != nil {
			return err
		}
	}
	if err := checkList(path+"/fields", o.Fields, 3*MaxParameters, 2*MaxName); err != nil {
		return err
	}
	if err := checkList(path+"/missing", o.Missing, 3*MaxParameters, 2*MaxName); err != nil {
		return err
	}
	return checkList(path+"/violations", o.Violations, MaxViolations, MaxViolation)
}
