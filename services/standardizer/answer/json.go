package answer

import "encoding/json"

// JSON returns the answer as a model gives it: with type and required of each
// parameter where typed, else without.
func (a *Answer) JSON(typed bool) (json.RawMessage, error) {
	type described struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Example     string `json:"example"`
	}
	type found struct {
		Name        string `json:"name"`
		Type        string `json:"type"`
		Required    bool   `json:"required"`
		Description string `json:"description"`
		Example     string `json:"example"`
	}
	parameters := make([]any, len(a.Parameters))
	for i, p := range a.Parameters {
		if parameters[i] = (described{p.Name, p.Description, p.Example}); typed {
			parameters[i] = found{p.Name, p.Type, p.Required == nil || *p.Required, p.Description, p.Example}
		}
	}
	return json.Marshal(map[string]any{
		"description": a.Description, "parameters": parameters, "response": a.Response, "examples": append([]string{}, a.Examples...),
	})
}
