// Package cloudevents decodes CloudEvents 1.0 from HTTP: structured, batched
// and binary. It is generous where senders are known to be sloppy (capitalised
// attribute names, a specversion that is a number, plain application/json as
// content type) and strict about what an event can not do without.
package cloudevents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/cloudevents/sdk-go/v2/types"

	"github.com/toolstream/toolstream/internal/jsondoc"
)

// Event is one CloudEvent.
type Event struct {
	ID, Source, Type string
	Subject          string // empty if there is none
	Time             time.Time
	Data             []byte            // the document itself, whatever it travelled as; empty if there is none
	ContentType      string            // of Data; empty where the event does not say
	Extensions       map[string]string // names in small letters
}

// Error says why a request is no CloudEvent, or which one in a batch.
type Error struct {
	Index       int    // in a batch, otherwise -1
	Attribute   string // the one that is wrong; empty where it is the whole
	Detail      string
	Unsupported bool // the content type is none of ours
}

// Error names the attribute and what is wrong with it.
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

// Pointer is the JSON pointer to what is wrong, in a structured event or a
// batch of them.
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

// maxName bounds id and source, in bytes: they travel with every change.
const maxName = 1024

// Decode reads the events of one HTTP request. Limits bound a structured
// body's JSON. Errors are *Error.
func Decode(header http.Header, body []byte, limits jsondoc.Limits) ([]Event, error) {
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type")) // an odd one is not ours below
	switch {
	case media == "application/cloudevents-batch+json":
		return batch(body, limits)
	case media == "application/cloudevents+json":
		return structured(body, limits)
	case strings.HasPrefix(media, "application/cloudevents"):
		e := fail("", "events come as application/cloudevents+json, application/cloudevents-batch+json or in ce- headers")
		e.Unsupported = true
		return nil, e
	case isBinary(header):
		e, err := binary(header, body)
		if err != nil {
			return nil, err
		}
		return []Event{e}, nil
	case bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")):
		return batch(body, limits)
	}
	return structured(body, limits)
}

func isBinary(header http.Header) bool {
	for name := range header {
		if strings.HasPrefix(strings.ToLower(name), "ce-") {
			return true
		}
	}
	return false
}

func structured(body []byte, limits jsondoc.Limits) ([]Event, error) {
	if err := checkJSON(body, limits); err != nil {
		return nil, err
	}
	e, err := one(body)
	if err != nil {
		return nil, err
	}
	return []Event{e}, nil
}

func batch(body []byte, limits jsondoc.Limits) ([]Event, error) {
	if err := checkJSON(body, limits); err != nil {
		return nil, err
	}
	var elements []json.RawMessage
	if json.Unmarshal(body, &elements) != nil {
		return nil, fail("", "a batch is a JSON array of events")
	}
	if len(elements) == 0 {
		return nil, fail("", "the batch is empty")
	}
	events := make([]Event, len(elements))
	for i, element := range elements {
		e, err := one(element)
		if err != nil {
			err.Index = i
			return nil, err
		}
		events[i] = e
	}
	return events, nil
}

// checkJSON refuses what two readers could read differently.
func checkJSON(body []byte, limits jsondoc.Limits) error {
	if _, err := jsondoc.Decode(body, limits); err != nil {
		return fail("", "%v", err)
	}
	return nil
}

// one decodes a structured event.
func one(body []byte) (Event, *Error) {
	attributes, err := normalise(body)
	if err != nil {
		return Event{}, err
	}
	if err := check(func(name string) (string, bool) { return text(attributes[name]) }); err != nil {
		return Event{}, err
	}
	if attributes["data"] != nil && attributes["data_base64"] != nil {
		return Event{}, fail("data_base64", "data and data_base64 exclude each other")
	}
	normal, merr := json.Marshal(attributes)
	if merr != nil {
		return Event{}, fail("", "%v", merr)
	}
	var e event.Event
	if err := e.UnmarshalJSON(normal); err != nil {
		return Event{}, invalid(err)
	}
	return convert(e)
}

// normalise returns the members of an event under the names that the
// specification gives them, without those that can not be attributes.
func normalise(body []byte) (map[string]json.RawMessage, *Error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || members == nil {
		return nil, fail("", "an event is a JSON object")
	}
	out := make(map[string]json.RawMessage, len(members))
	for name, value := range members {
		name = strings.ToLower(name)
		if _, twice := out[name]; twice {
			return nil, fail(name, "the attribute stands there twice, in different letters")
		}
		if keep(name, value) {
			out[name] = value
		}
	}
	for _, name := range []string{"specversion", "id"} {
		if v := out[name]; len(v) > 0 && isNumber(v[0]) {
			out[name] = json.RawMessage(`"` + string(v) + `"`)
		}
	}
	if v, _ := text(out["specversion"]); v == "1" {
		out["specversion"] = json.RawMessage(`"1.0"`)
	}
	return out, nil
}

// keep drops what is absent by another name, and extensions that can not be
// ones: values that are no scalar, names with other characters than letters
// and digits.
func keep(name string, value json.RawMessage) bool {
	switch {
	case string(value) == "null":
		return false
	case name == "data" || name == "data_base64":
		return true
	}
	return value[0] != '{' && value[0] != '[' && event.IsExtensionNameValid(name)
}

func isNumber(b byte) bool { return b == '-' || b >= '0' && b <= '9' }

// text returns the string that a member holds.
func text(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// check names the first required attribute that is missing or can not be.
func check(get func(name string) (string, bool)) *Error {
	for _, name := range []string{"specversion", "id", "source", "type"} {
		v, ok := get(name)
		switch {
		case !ok || v == "":
			return fail(name, "the attribute is missing")
		case name == "specversion" && v != "1.0":
			return fail(name, "unsupported specversion, 1.0 is supported")
		case len(v) > maxName:
			return fail(name, "at most %d bytes", maxName)
		}
	}
	return nil
}

// binary decodes an event whose attributes are headers.
func binary(header http.Header, body []byte) (Event, error) {
	h := http.Header{"Content-Type": header["Content-Type"]}
	for name, values := range header {
		if strings.HasPrefix(strings.ToLower(name), "ce-") && len(values) > 0 {
			h.Set(name, values[0])
		}
	}
	if h.Get("Ce-Specversion") == "1" {
		h.Set("Ce-Specversion", "1.0")
	}
	// The SDK leaves percent-encoding alone (HTTP binding, section 3.1.3.2). A
	// source is a URI, whose own encoding senders leave as it is.
	for _, name := range []string{"Ce-Id", "Ce-Subject", "Ce-Agent"} {
		if v, err := url.PathUnescape(h.Get(name)); err == nil && v != "" {
			h.Set(name, v)
		}
	}
	if err := check(func(name string) (string, bool) { v := h.Get("Ce-" + name); return v, true }); err != nil {
		return Event{}, err
	}
	message := cehttp.NewMessage(h, io.NopCloser(bytes.NewReader(body)))
	e, err := binding.ToEvent(context.Background(), message)
	if err != nil {
		return Event{}, invalid(err)
	}
	out, bad := convert(*e)
	if bad != nil {
		return Event{}, bad
	}
	return out, nil
}

func convert(e event.Event) (Event, *Error) {
	if err := e.Validate(); err != nil {
		return Event{}, invalid(err)
	}
	out := Event{
		ID: e.ID(), Source: e.Source(), Type: e.Type(), Subject: e.Subject(), Time: e.Time(),
		Data: e.Data(), ContentType: e.DataContentType(), Extensions: map[string]string{},
	}
	for name, value := range e.Extensions() {
		s, err := types.Format(value)
		if err != nil {
			return Event{}, fail(name, "%v", err)
		}
		out.Extensions[strings.ToLower(name)] = s
	}
	return out, nil
}

// invalid names the attribute that the SDK refuses.
func invalid(err error) *Error {
	var v event.ValidationError
	if !errors.As(err, &v) || len(v) == 0 {
		return fail("", "%v", err)
	}
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	return fail(names[0], "%v", v[names[0]])
}
