package calls

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// textBlock is a content block of text.
func textBlock(said string) json.RawMessage {
	raw, _ := json.Marshal(struct { // texts always encode
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", said})
	return raw
}

// fit returns content blocks of at most so many bytes, and whether anything was cut off or left
// out. Texts are cut; a note replaces any other block that does not fit, and another note all
// later blocks.
func fit(blocks []json.RawMessage, most int) (out []json.RawMessage, cut bool) {
	out = []json.RawMessage{} // never null
	left := most
	for i, block := range blocks {
		if len(block) <= left {
			out, left = append(out, block), left-len(block)
			continue
		}
		var is struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			MIMEType string `json:"mimeType"`
		}
		_ = json.Unmarshal(block, &is) // it is JSON
		if is.Type == "text" && left > 0 {
			out = append(out, textBlock(text.Truncate(is.Text, left)))
		} else {
			what := text.Truncate(strings.TrimSpace(is.Type+" "+is.MIMEType), maxMedia)
			out = append(out, textBlock(fmt.Sprintf("[%s of %d bytes is left out: the answer is larger than %d bytes]", what, len(block), most)))
		}
		if more := len(blocks) - i - 1; more > 0 {
			out = append(out, textBlock(fmt.Sprintf("[%d more blocks are left out: the answer is larger than %d bytes]", more, most)))
		}
		return out, true
	}
	return out, false
}

// maxMedia bounds a media type in a note, in bytes.
const maxMedia = 100

// maxState bounds a request_state in bytes, as calls take it back.
const maxState = 64 << 10

// maxDepth bounds the nesting of the JSON of an answer: clients give up, or crash, at a thousand
// levels.
const maxDepth = 500

// tooDeep reports whether valid JSON is nested deeper than maxDepth.
func tooDeep[T ~[]byte](body T) bool {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return false
}

// resultOf returns the result of an MCP server's answer. Its input requests have to fit as a
// whole.
func resultOf(a source.Answer, most int) (schema.CallResult, error) {
	r := schema.CallResult{Outcome: schema.CallOK, IsError: a.IsError, Structured: a.Structured, Other: a.Other, InputRequests: a.InputRequests, RequestState: a.RequestState}
	other := slices.Collect(maps.Values(a.Other))
	if slices.ContainsFunc(slices.Concat(a.Content, other, []json.RawMessage{a.Structured, a.InputRequests}), tooDeep[json.RawMessage]) {
		return schema.CallResult{}, &source.CallError{Refused: true, Err: fmt.Errorf("the answer is nested more than %d deep", maxDepth)}
	}
	switch {
	case len(a.InputRequests) > most, len(a.RequestState) > maxState:
		return schema.CallResult{}, &source.CallError{Refused: true, Err: fmt.Errorf("what the tool asks for is larger than %d bytes, or its state than %d", most, maxState)}
	case a.NeedsInput:
		r.Outcome = schema.CallInputRequired
	case a.IsError:
		r.Outcome = schema.CallToolError
	}
	for _, block := range a.Content {
		if why := unsafe(block); why != "" {
			return schema.CallResult{}, &source.CallError{Refused: true, Err: errors.New(why)}
		}
	}
	r.Content, r.Truncated = fit(a.Content, most)
	if len(r.Structured) > most {
		r.Structured, r.Truncated = nil, true
	}
	left := most
	for name, member := range r.Other {
		left -= len(name) + len(member)
	}
	if left < 0 {
		r.Other, r.Truncated = nil, true
	}
	return r, nil
}

// unsafe says why a content block must not go on to clients, "" of others: a client may open a link,
// or write a media type into a header.
func unsafe(block json.RawMessage) string {
	var kind, uri, media string
	for name, value := range jsondoc.Members(block) { // by its exact name: package json takes URI for uri
		switch name {
		case "type":
			kind = stringOf(value)
		case "uri":
			uri = stringOf(value)
		case "mimeType":
			media += stringOf(value)
		case "resource":
			media += stringOf(jsondoc.Member(value, "mimeType"))
		}
	}
	if strings.ContainsFunc(media, unicode.IsControl) {
		return "the answer has a media type with control characters"
	}
	shown := strings.ToLower(strings.Join(strings.FieldsFunc(uri, func(r rune) bool { return r <= ' ' }), "")) // as browsers read it
	for _, scheme := range []string{"javascript:", "vbscript:", "data:"} {
		if kind == "resource_link" && strings.HasPrefix(shown, scheme) {
			return "the answer links to an address that may run a script"
		}
	}
	return ""
}

// stringOf returns the text of a value, "" of another value.
func stringOf(value json.RawMessage) (out string) {
	_ = json.Unmarshal(value, &out)
	return out
}

// resultOfHTTP returns the result of an HTTP API's answer. If body is longer than most, the rest
// of it was not read.
func resultOfHTTP(resp *http.Response, body []byte, most int) schema.CallResult {
	r := schema.CallResult{Outcome: schema.CallOK, Status: resp.StatusCode, Content: []json.RawMessage{}}
	if whole := len(body) <= most; !whole {
		body, r.Truncated = body[:most], true
	}
	media, params, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // "" without the header
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		r.Outcome, r.IsError = schema.CallToolError, true
	}
	if r.IsError || len(body) == 0 {
		r.Content = append(r.Content, textBlock(fmt.Sprintf("The API answers %d %s.", resp.StatusCode, http.StatusText(resp.StatusCode))))
	}
	if len(body) == 0 {
		return r
	}
	if isJSON(media) && !r.Truncated && utf8.Valid(body) && json.Valid(body) && !tooDeep(body) { // json.Valid takes any bytes in strings
		r.Structured = body
	}
	switch charset := strings.ToLower(params["charset"]); {
	case isText(media, body) && (charset == "" || charset == "utf-8" || charset == "us-ascii"):
		r.Content = append(r.Content, textBlock(strings.ToValidUTF8(string(body), "�")))
	case r.Truncated:
		r.Content = append(r.Content, textBlock(fmt.Sprintf("[an answer of type %s is left out: it is larger than %d bytes]", media, most)))
	default:
		r.Content = append(r.Content, binaryBlock(media, body))
	}
	return r
}

func isJSON(media string) bool {
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

// isText reports whether a body is text, by its type, or without a type by its beginning.
func isText(media string, body []byte) bool {
	if media == "" {
		media, _, _ = mime.ParseMediaType(http.DetectContentType(body)) // a valid type
	}
	switch {
	case strings.HasPrefix(media, "text/"), isJSON(media), strings.HasSuffix(media, "+xml"), strings.HasSuffix(media, "+yaml"):
		return true
	}
	switch media {
	case "application/xml", "application/yaml", "application/x-yaml", "application/javascript", "application/x-ndjson", "application/jsonl",
		"application/x-www-form-urlencoded", "application/graphql", "application/sql":
		return true
	}
	return false
}

// answerURI replaces the address of an answer, which callers of a tool do not learn.
const answerURI = "urn:toolstream:answer"

// binaryBlock is a content block of a body that is not text.
func binaryBlock(media string, body []byte) json.RawMessage {
	data := base64.StdEncoding.EncodeToString(body)
	kind, _, _ := strings.Cut(media, "/")
	var block any
	switch kind {
	case "image", "audio":
		block = map[string]any{"type": kind, "data": data, "mimeType": media}
	default:
		block = map[string]any{"type": "resource", "resource": map[string]any{"uri": answerURI, "mimeType": media, "blob": data}}
	}
	raw, _ := json.Marshal(block) // texts always encode
	return raw
}
