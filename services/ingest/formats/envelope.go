package formats

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxExactVersion is the largest version that a JSON number may say; a larger
// one is exact only as a string.
const maxExactVersion = 1 << 53

// head holds the facts about a document that come from around it.
type head struct {
	id       string // explicit; "" where the document's own or a made one serves
	provider string
	kind     schema.Kind
	version  uint64
	remove   bool
	path     string // JSON pointer to the envelope
	wrapped  bool   // in an envelope: nothing is made up that the envelope leaves open
}

// envelopeOf returns the document in an envelope and what the envelope says:
// {"id","provider"?,"documentation"} of a data set, or {"id"?,"provider"?,"kind"?,
// "op"?,"source_version"?,"document"} of the API. Published data sets call the
// provider "agent".
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
		case document, "id", "provider", "agent", "kind", "op", "source_version":
		default:
			return false
		}
	}
	return true
}

// readHead reads what the envelope at path says.
func readHead(m map[string]any, path string) (head, *Problem) {
	h := head{wrapped: true, path: path}
	refuse := func(key, reason, detail string) (head, *Problem) {
		return h, &Problem{ID: h.id, Path: path + "/" + key, Reason: reason, Detail: detail}
	}
	for _, f := range []struct {
		key string
		to  *string
	}{{"id", &h.id}, {"agent", &h.provider}, {"provider", &h.provider}} {
		switch v := m[f.key].(type) {
		case nil:
		case string:
			*f.to = v
		case json.Number:
			*f.to = string(v)
		default:
			return refuse(f.key, WrongType, "a string is wanted")
		}
	}
	switch m["kind"] {
	case nil, "", string(schema.KindTool):
	case string(schema.KindProvider), "agent":
		h.kind = schema.KindProvider
	default:
		return refuse("kind", WrongType, `"tool" or "provider" is wanted`)
	}
	switch m["op"] {
	case nil, "", "upsert":
	case "delete":
		h.remove = true
	default:
		return refuse("op", WrongType, `"upsert" or "delete" is wanted`)
	}
	var err error
	if h.version, err = sourceVersion(m["source_version"]); err != nil {
		return refuse("source_version", InvalidVersion, err.Error())
	}
	return h, nil
}

// sourceVersion reads a version: a whole number, as a string if it is above
// 2^53.
func sourceVersion(v any) (uint64, error) {
	text, most := "", uint64(math.MaxUint64)
	switch v := v.(type) {
	case nil:
		return 0, nil
	case json.Number:
		text, most = string(jsondoc.Canonical(v)), maxExactVersion
	case string:
		text = v
	}
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err != nil:
		return 0, errors.New("a whole number from 0 is wanted")
	case n > most:
		return 0, errors.New("above 2^53 only a string is exact")
	}
	return n, nil
}

func openEnvelope(s *session, n node, key string, several bool) {
	h, p := readHead(n.object(), n.path)
	if p != nil {
		s.problem(p)
		return
	}
	if h.remove {
		readDelete(s, h, n.path)
		return
	}
	document := n.at(cmp.Or(key, "document"))
	if document.value == nil {
		s.refuse(h, document.path, Required, "an envelope without a document")
		return
	}
	s.document(document, h, several)
}

func readDelete(s *session, h head, path string) {
	it := Item{Kind: s.kind(h), Path: path, SourceVersion: h.version, Delete: true}
	if p := s.identify(&it, origin{head: h}); p != nil {
		s.problem(p)
		return
	}
	if it.ID == "" {
		s.refuse(h, path+"/id", Required, "a delete names what it deletes")
		return
	}
	it.Name = it.ID
	s.emit(it)
}
