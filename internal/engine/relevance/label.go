package relevance

import (
	"encoding/json"
	"errors"
	"slices"
)

// Label is one judged tool.
type Label struct {
	ID           string   `json:"id"`
	Relevance    float64  `json:"relevance"`              // above 0 is relevant; 1 if the file does not say
	Alternatives []string `json:"alternatives,omitempty"` // ids of tools that count in its place, once
}

// UnmarshalJSON reads a label and refuses one without an id.
func (l *Label) UnmarshalJSON(raw []byte) error {
	type plain Label
	read := plain{Relevance: 1}
	if err := json.Unmarshal(raw, &read); err != nil {
		return err
	}
	if *l = Label(read); l.ID == "" || slices.Contains(l.Alternatives, "") {
		return errors.New("label without an id")
	}
	return nil
}
