package jsondoc

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	// escapes and unescapes follow RFC 6901.
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// Resolve returns the value in doc that a reference within the document leads
// to: a JSON pointer (RFC 6901) as a URI fragment, "#" or "#/a/0", with or
// without percent escapes. It reports whether there is such a value.
func Resolve(doc any, ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	if decoded, err := url.PathUnescape(pointer); err == nil {
		pointer = decoded
	}
	if pointer == "" {
		return doc, true
	}
	tokens := strings.Split(pointer, "/")
	if tokens[0] != "" { // an anchor
		return nil, false
	}
	for _, token := range tokens[1:] {
		if doc, ok = child(doc, unescapes.Replace(token)); !ok {
			return nil, false
		}
	}
	return doc, true
}

// child returns the member or element of v that a reference token names.
func child(v any, token string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		member, ok := v[token]
		return member, ok
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v) || strconv.Itoa(i) != token { // no sign, no zero in front
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

// Pointer appends reference tokens to a JSON pointer, escaped. Long tokens are
// cut: a pointer is for messages.
func Pointer(base string, tokens ...string) string {
	for _, t := range tokens {
		if len(t) > 2*maxQuoted {
			t = strings.ToValidUTF8(t[:2*maxQuoted], "") + "…"
		}
		base += "/" + escapes.Replace(t)
	}
	return base
}

// pointer returns a pointer of jsontext with its long tokens cut.
func pointer(p jsontext.Pointer) string {
	path := ""
	for token := range p.Tokens() {
		path = Pointer(path, token)
	}
	return path
}
