// Package cloudevents decodes CloudEvents 1.0 from HTTP: structured, batched
// and binary (CloudEvents 1.0.2, JSON event format and HTTP protocol binding). It
// accepts known deviations of senders: capitalised attribute names, a specversion
// that is a number, application/json or no content type. It refuses an event
// without a required attribute.
package cloudevents

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/jsondoc"
)

// Event is one CloudEvent.
type Event struct {
	ID, Source, Type string
	Subject          string            // optional
	Time             time.Time         // zero if the event has no time
	DataType         string            // the media type of Data; optional
	Data             []byte            // the document, unquoted and decoded; empty if the event has no data
	Extensions       map[string]string // by lower-case name
}

// Error says why a request is not a CloudEvent.
type Error struct {
	Index       int    // of the event in a batch, otherwise -1
	Attribute   string // the wrong attribute; empty if the whole event is wrong
	Detail      string
	Unsupported bool // the content type is an event format other than JSON
}

// Error names the event, the attribute and the reason.
func (e *Error) Error() string {
	s := e.Detail
	if e.Attribute != "" {
		s = e.Attribute + ": " + s
	}
	if e.Index >= 0 {
		s = fmt.Sprintf("event %d: %s", e.Index, s)
	}
	return s
}

// Pointer returns the JSON pointer to the wrong attribute, in a structured event
// or a batch.
func (e *Error) Pointer() string {
	p := ""
	if e.Index >= 0 {
		p = fmt.Sprintf("/%d", e.Index)
	}
	if e.Attribute != "" {
		p += "/" + e.Attribute
	}
	return p
}

func fail(attribute, detail string, args ...any) *Error {
	return &Error{Index: -1, Attribute: attribute, Detail: fmt.Sprintf(detail, args...)}
}

// maxName bounds each required attribute, in bytes: id and source travel with
// every change.
const maxName = 1024

// Decode reads the events of one HTTP request. Limits bound a structured
// body's JSON. Errors are *Error.
func Decode(header http.Header, body []byte, limits jsondoc.Limits) ([]Event, error) {
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type")) // empty if it is malformed
	switch {
	case media == "application/cloudevents-batch+json":
		return batch(body, limits)
	case media == "application/cloudevents+json":
	case strings.HasPrefix(media, "application/cloudevents"):
		e := fail("", "events come as application/cloudevents+json, application/cloudevents-batch+json or in ce- headers")
		e.Unsupported = true
		return nil, e
	case isBinary(header):
		return one(fromHeaders(header, body))
	case bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")):
		return batch(body, limits)
	}
	if _, err := jsondoc.Decode(body, limits); err != nil {
		return nil, fail("", "%v", err)
	}
	return one(fromJSON(body))
}

func one(e Event, err *Error) ([]Event, error) {
	if err != nil {
		return nil, err
	}
	return []Event{e}, nil
}

func isBinary(header http.Header) bool {
	for name := range header {
		if strings.HasPrefix(strings.ToLower(name), "ce-") {
			return true
		}
	}
	return false
}

func batch(body []byte, limits jsondoc.Limits) ([]Event, error) {
	v, err := jsondoc.Decode(body, limits)
	if err != nil {
		return nil, fail("", "%v", err)
	}
	list, ok := v.([]any)
	switch {
	case !ok:
		return nil, fail("", "a batch is a JSON array of events")
	case len(list) == 0:
		return nil, fail("", "the batch is empty")
	}
	events := make([]Event, 0, len(list))
	for element := range jsondoc.Elements(body) {
		e, err := fromJSON(element)
		if err != nil {
			err.Index = len(events)
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// fromJSON decodes a structured event.
func fromJSON(body []byte) (Event, *Error) {
	attributes := map[string]string{}
	data := map[string][]byte{}
	seen := map[string]bool{}
	for name, value := range jsondoc.Members(body) {
		name = strings.ToLower(name)
		if seen[name] {
			return Event{}, fail(name, "the attribute is given twice, in different capitals")
		}
		seen[name] = true
		switch {
		case string(value) == "null":
		case name == "data" || name == "data_base64":
			data[name] = value
		default:
			if s, ok := scalar(value); ok {
				attributes[name] = s
			}
		}
	}
	if len(seen) == 0 {
		return Event{}, fail("", "an event is a JSON object with attributes")
	}
	e, err := fromAttributes(attributes)
	if err != nil {
		return Event{}, err
	}
	e.DataType = attributes["datacontenttype"]
	e.Data, err = dataOf(data, e.DataType)
	return e, err
}

// scalar returns a string as its text, and a number or a boolean as it is
// written.
func scalar(value []byte) (string, bool) {
	switch value[0] {
	case '{', '[':
		return "", false
	case '"':
		var s string
		err := json.Unmarshal(value, &s)
		return s, err == nil
	}
	return string(value), true
}

// dataOf returns the data of a structured event. Where the content type is not
// JSON, a string holds the data as text.
func dataOf(data map[string][]byte, contentType string) ([]byte, *Error) {
	value, encoded := data["data"], data["data_base64"]
	switch {
	case value != nil && encoded != nil:
		return nil, fail("data_base64", "data and data_base64 exclude each other")
	case encoded != nil:
		text, _ := scalar(encoded)
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fail("data_base64", "%v", err)
		}
		return raw, nil
	case len(value) > 0 && value[0] == '"' && !isJSON(contentType):
		text, _ := scalar(value)
		return []byte(text), nil
	}
	return value, nil
}

// isJSON reports whether data of a content type is JSON. Without a content type
// it is (JSON event format, section 3.1).
func isJSON(contentType string) bool {
	media, _, _ := mime.ParseMediaType(contentType)
	return contentType == "" || strings.HasSuffix(media, "/json") || strings.HasSuffix(media, "+json")
}

// fromHeaders decodes an event whose attributes are headers. Their values are
// percent-encoded (HTTP protocol binding, section 3.1.3.2). A source stays as it
// is: it is a URI, and senders leave its own encoding alone.
func fromHeaders(header http.Header, body []byte) (Event, *Error) {
	attributes := map[string]string{}
	for name, values := range header {
		name, found := strings.CutPrefix(strings.ToLower(name), "ce-")
		if !found || len(values) == 0 {
			continue
		}
		value := values[0]
		if decoded, err := url.PathUnescape(value); err == nil && name != "source" {
			value = decoded
		}
		attributes[name] = value
	}
	e, err := fromAttributes(attributes)
	e.DataType, e.Data = header.Get("Content-Type"), body
	return e, err
}

// fromAttributes checks attributes and returns the event without its data.
// Extensions with names that the specification forbids are left out.
func fromAttributes(attributes map[string]string) (Event, *Error) {
	for _, name := range []string{"specversion", "id", "source", "type"} {
		switch v := attributes[name]; {
		case v == "":
			return Event{}, fail(name, "the attribute is missing")
		case name == "specversion" && v != "1.0" && v != "1":
			return Event{}, fail(name, "specversion is %.20q, supported is 1.0", v)
		case len(v) > maxName:
			return Event{}, fail(name, "at most %d bytes", maxName)
		}
	}
	e := Event{
		ID: attributes["id"], Source: attributes["source"], Type: attributes["type"], Subject: attributes["subject"],
		Extensions: map[string]string{},
	}
	if _, err := url.Parse(e.Source); err != nil {
		return Event{}, fail("source", "must be a URI reference")
	}
	if at := attributes["time"]; at != "" {
		var err error
		if e.Time, err = time.Parse(time.RFC3339, at); err != nil {
			return Event{}, fail("time", "must be a time as in RFC 3339")
		}
	}
	for name, value := range attributes {
		if isExtension(name) {
			e.Extensions[name] = value
		}
	}
	return e, nil
}

func isExtension(name string) bool {
	switch name {
	case "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema":
		return false
	}
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}
