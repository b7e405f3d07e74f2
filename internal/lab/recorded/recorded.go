// Package recorded gives what a language model once said of the documents of a
// data set in the form in which the standardizer takes it.
package recorded

import (
	"github.com/toolstream/toolstream/internal/lab/dataset"
	"github.com/toolstream/toolstream/services/standardizer/answer"
)

// Answer returns a recorded document as the answer that would have said it.
func Answer(s *dataset.Standardized) *answer.Answer {
	a := &answer.Answer{Description: s.Description, Response: s.Response, Examples: s.Examples, Parameters: []answer.Parameter{}}
	for i := range s.Parameters {
		p := &s.Parameters[i]
		a.Parameters = append(a.Parameters, answer.Parameter{
			Name: p.Name, Type: p.Type, Required: &p.Required, Description: p.Description, Example: string(p.Example),
		})
	}
	return a
}
