package formats

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxExactVersion is the largest version that a JSON number may say; a larger
// one is exact only as a string.
const maxExactVersion = 1 << 53

// head is what is known of a document from around it.
type head struct {
	id      string // explicit; "" where the document's own or a made one serves
	agent   string
	kind    schema.Kind
	version uint64
	remove  bool
	path    string // JSON pointer to the envelope
	wrapped bool   // in an envelope: nothing is made up that the envelope leaves open
}

// envelopeOf returns the document in an envelope and what the envelope says:
// {"id","agent"?,"documentation"} of a data set, or {"id"?,"agent"?,"kind"?,
// "op"?,"source_version"?,"document"} of the API.
func envelopeOf(m map[string]any) (key string, ok bool) {
	switch {
	case has(m, "documentation") && onlyKeys(m, "documentation"):
		return "documentation", true
	case has(m, "document") && onlyKeys(m, "document"):
		return "document", true
	case has(m, "op") && has(m, "id") && onlyKeys(m, ""), str(m, "op") == "delete" && onlyKeys(m, ""):
		return "", true
	}
	return "", false
}

func onlyKeys(m map[string]any, document string) bool {
	for k := range m {
		switch k {
		case document, "id", "agent", "kind", "op", "source_version":
		default:
			return false
		}
	}
	return true
}

// readHead reads what the envelope at path says.
func readHead(m map[string]any, path string) (head, *Problem) {
	h := head{wrapped: true, path: path}
	for _, f := range []struct {
		key string
		to  *string
	}{{"id", &h.id}, {"agent", &h.agent}} {
		switch v := m[f.key].(type) {
		case nil:
		case string:
			*f.to = v
		case json.Number:
			*f.to = string(v)
		default:
			return h, &Problem{Path: path + "/" + f.key, Reason: WrongType, Detail: "a string is wanted"}
		}
	}
	if p := h.readKind(m["kind"]); p != nil {
		return h, p
	}
	if p := h.readOp(m["op"]); p != nil {
		return h, p
	}
	version, err := sourceVersion(m["source_version"])
	if err != nil {
		return h, &Problem{ID: h.id, Path: path + "/source_version", Reason: InvalidVersion, Detail: err.Error()}
	}
	h.version = version
	return h, nil
}

func (h *head) readKind(v any) *Problem {
	switch v {
	case nil, "", string(schema.KindTool):
	case string(schema.KindAgent):
		h.kind = schema.KindAgent
	default:
		return &Problem{ID: h.id, Path: h.path + "/kind", Reason: WrongType, Detail: `"tool" or "agent" is wanted`}
	}
	return nil
}

func (h *head) readOp(v any) *Problem {
	switch v {
	case nil, "", "upsert":
	case "delete":
		h.remove = true
	default:
		return &Problem{ID: h.id, Path: h.path + "/op", Reason: WrongType, Detail: `"upsert" or "delete" is wanted`}
	}
	return nil
}

// sourceVersion reads a version: a whole number, as a string where it is above
// 2^53.
func sourceVersion(v any) (uint64, error) {
	switch v := v.(type) {
	case nil:
		return 0, nil
	case json.Number:
		n, err := strconv.ParseUint(string(jsondoc.Canonical(v)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("a whole number from 0 is wanted")
		}
		if n > maxExactVersion {
			return 0, fmt.Errorf("above 2^53 only a string is exact")
		}
		return n, nil
	case string:
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("a whole number from 0 is wanted")
		}
		return n, nil
	}
	return 0, fmt.Errorf("a whole number from 0 is wanted")
}
