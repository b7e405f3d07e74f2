package ingest

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

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// cloudEvent is one CloudEvent.
type cloudEvent struct {
	ID, Source, Type string
	Subject          string            // optional
	Time             time.Time         // zero if the event has no time
	DataType         string            // the media type of Data; optional
	Data             []byte            // the document, unquoted and decoded; empty if the event has no data
	Extensions       map[string]string // by lower-case name
}

// cloudEventError says why a request is not a CloudEvent.
type cloudEventError struct {
	Index       int    // of the event in a batch, otherwise -1
	Attribute   string // the wrong attribute; empty if the whole event is wrong
	Detail      string
	Unsupported bool // the content type is an event format other than JSON
}

// Error names the event, the attribute and the reason.
func (e *cloudEventError) Error() string {
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
func (e *cloudEventError) Pointer() string {
	p := ""
	if e.Index >= 0 {
		p = fmt.Sprintf("/%d", e.Index)
	}
	if e.Attribute != "" {
		p += "/" + e.Attribute
	}
	return p
}

func fail(attribute, detail string, args ...any) *cloudEventError {
	return &cloudEventError{Index: -1, Attribute: attribute, Detail: fmt.Sprintf(detail, args...)}
}

// maxName bounds each required attribute, in bytes: id and source travel with
// every change.
const maxName = 1024

// decodeCloudEvents decodes the CloudEvents 1.0 of one HTTP request: structured, batched and
// binary (CloudEvents 1.0.2, JSON event format and HTTP protocol binding). It accepts known
// deviations of senders: capitalised attribute names, a specversion that is a number,
// application/json or no content type. It refuses an event without a required attribute. Limits
// bound a structured body's JSON.
func decodeCloudEvents(header http.Header, body []byte, limits jsondoc.Limits) ([]cloudEvent, *cloudEventError) {
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type")) // empty if it is malformed
	binary := false
	for name := range header {
		binary = binary || strings.HasPrefix(strings.ToLower(name), "ce-")
	}
	switch {
	case media == "application/cloudevents-batch+json":
		return batchEvents(body, limits)
	case media == "application/cloudevents+json":
	case strings.HasPrefix(media, "application/cloudevents"):
		e := fail("", "events come as application/cloudevents+json, application/cloudevents-batch+json or in ce- headers")
		e.Unsupported = true
		return nil, e
	case binary:
		return asList(fromHeaders(header, body))
	case bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")):
		return batchEvents(body, limits)
	}
	if _, err := jsondoc.Decode(body, limits); err != nil {
		return nil, fail("", "%v", err)
	}
	return asList(fromJSON(body))
}

func asList(e cloudEvent, err *cloudEventError) ([]cloudEvent, *cloudEventError) {
	if err != nil {
		return nil, err
	}
	return []cloudEvent{e}, nil
}

func batchEvents(body []byte, limits jsondoc.Limits) ([]cloudEvent, *cloudEventError) {
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
	events := make([]cloudEvent, 0, len(list))
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
func fromJSON(body []byte) (cloudEvent, *cloudEventError) {
	attributes := map[string]string{}
	data := map[string][]byte{}
	seen := map[string]bool{}
	for name, value := range jsondoc.Members(body) {
		name = strings.ToLower(name)
		if seen[name] {
			return cloudEvent{}, fail(name, "the attribute is given twice, in different capitals")
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
		return cloudEvent{}, fail("", "an event is a JSON object with attributes")
	}
	e, err := fromAttributes(attributes)
	if err != nil {
		return cloudEvent{}, err
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

// dataOf returns the data of a structured event. If the content type is not JSON, a string
// holds the data as text. Data without a content type is JSON (JSON event format, section
// 3.1).
func dataOf(data map[string][]byte, contentType string) ([]byte, *cloudEventError) {
	value, encoded := data["data"], data["data_base64"]
	media, _, _ := mime.ParseMediaType(contentType)
	isJSON := contentType == "" || strings.HasSuffix(media, "/json") || strings.HasSuffix(media, "+json")
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
	case len(value) > 0 && value[0] == '"' && !isJSON:
		text, _ := scalar(value)
		return []byte(text), nil
	}
	return value, nil
}

// fromHeaders decodes an event whose attributes are headers. Their values are
// percent-encoded (HTTP protocol binding, section 3.1.3.2). A source stays as it
// is: it is a URI, and senders leave its own encoding alone.
func fromHeaders(header http.Header, body []byte) (cloudEvent, *cloudEventError) {
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
func fromAttributes(attributes map[string]string) (cloudEvent, *cloudEventError) {
	for _, name := range []string{"specversion", "id", "source", "type"} {
		switch v := attributes[name]; {
		case v == "":
			return cloudEvent{}, fail(name, "the attribute is missing")
		case name == "specversion" && v != "1.0" && v != "1":
			return cloudEvent{}, fail(name, "specversion is %.20q, supported is 1.0", v)
		case len(v) > maxName:
			return cloudEvent{}, fail(name, "at most %d bytes", maxName)
		}
	}
	e := cloudEvent{
		ID: attributes["id"], Source: attributes["source"], Type: attributes["type"], Subject: attributes["subject"],
		Extensions: map[string]string{},
	}
	if _, err := url.Parse(e.Source); err != nil {
		return cloudEvent{}, fail("source", "must be a URI reference")
	}
	if at := attributes["time"]; at != "" {
		var err error
		if e.Time, err = time.Parse(time.RFC3339, at); err != nil {
			return cloudEvent{}, fail("time", "must be a time as in RFC 3339")
		}
	}
	for name, value := range attributes {
		switch name {
		case "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema":
		default:
			if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") == "" {
				e.Extensions[name] = value
			}
		}
	}
	return e, nil
}
