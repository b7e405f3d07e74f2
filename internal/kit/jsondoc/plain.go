package jsondoc

import (
	"bytes"
	"encoding/json"
)

// Plain returns a value as JSON without the escapes that HTML alone needs: for people, and for
// models, which pay for them.
func Plain(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
