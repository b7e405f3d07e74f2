package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// member is one name and value of an object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf reads an object in the order in which it is written. Nothing and
// null are an empty one.
func membersOf(raw json.RawMessage) ([]member, error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, fmt.Errorf("an object is wanted, have %.40s", raw)
	}
	var list []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("object: %w", err)
		}
		m := member{name: fmt.Sprint(name)}
		if err := d.Decode(&m.value); err != nil {
			return nil, fmt.Errorf("object: %w", err)
		}
		list = append(list, m)
	}
	return list, nil
}

// textOf returns a string's text, and any other value as JSON; null is empty.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
