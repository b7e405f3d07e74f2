package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/text"
)

// Bounds of a request, in bytes.
const (
	MaxAddress = 64 << 10 // of its address, and of each of its headers
	MaxBody    = 8 << 20
)

// ArgumentError says which argument cannot be sent, and why.
type ArgumentError struct {
	Path   string // JSON pointer into the arguments
	Reason string
}

// Error reads like "/id: must not be empty".
func (e *ArgumentError) Error() string { return e.Path + ": " + e.Reason }

func refuse(argument, format string, args ...any) error {
	return &ArgumentError{jsondoc.Pointer("", argument), fmt.Sprintf(format, args...)}
}

// Request makes the request of a call to a server, whose address is absolute as Servers
// returns it. The arguments are a JSON object that the schema of Input allows; each is
// encoded as the document declares. An *ArgumentError says that an argument cannot be sent:
// a value never leaves its segment of the path, its parameter or its header. Request makes
// no TRACE: the answer would have the credential of the request.
func (o *Operation) Request(ctx context.Context, server string, arguments json.RawMessage) (*http.Request, error) {
	base, err := parseServer(server)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", text.Truncate(server, 200), err)
	}
	v, err := jsondoc.Decode(arguments, jsondoc.Limits{Bytes: 2 * MaxBody})
	values, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, &ArgumentError{"", "one JSON object is wanted"}
	}
	address, err := o.address(base, values)
	if err != nil {
		return nil, err
	}
	content, media, err := o.content(arguments, values)
	if err != nil {
		return nil, err
	}
	var sent io.Reader
	if media != "" {
		sent = bytes.NewReader(content)
	}
	r, err := http.NewRequestWithContext(ctx, o.method, address.String(), sent)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if r.URL.EscapedPath() != address.EscapedPath() || r.Host != base.Host || o.method == http.MethodConnect || o.method == http.MethodTrace {
		return nil, errors.New("the operation cannot be sent as a request")
	}
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	r.Header.Set("Accept", "*/*")
	if o.answersJSON {
		r.Header.Set("Accept", "application/json, */*;q=0.5")
	}
	return r, o.headers(r.Header, values)
}

// address returns the address of the request.
func (o *Operation) address(base *url.URL, values map[string]any) (*url.URL, error) {
	template, _, _ := strings.Cut(o.path, "#") // the rest only tells operations apart
	template, fixed, _ := strings.Cut(template, "?")
	path, err := o.fill(template, values, escapeAll, true)
	if err != nil {
		return nil, err
	}
	query, err := o.fill(fixed, values, escapeAll, false)
	if err != nil {
		return nil, err
	}
	var parts []string
	if query != "" {
		parts = append(parts, query)
	}
	for _, p := range o.parameters {
		if v := values[p.argument]; v != nil && (p.in == "query" || p.in == "querystring") {
			parts = append(parts, p.query(v)...)
		}
	}
	u := *base
	u.RawPath = strings.TrimRight(base.EscapedPath(), "/") + path
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil || u.EscapedPath() != u.RawPath {
		return nil, errors.New("the operation's path cannot be part of an address")
	}
	u.RawQuery = strings.Join(parts, "&")
	if n := len(u.RawPath) + len(u.RawQuery); n > MaxAddress {
		return nil, &ArgumentError{"", fmt.Sprintf("the address would have %d bytes, at most %d are sent", n, MaxAddress)}
	}
	return &u, nil
}

// fill replaces the variables of a path, or of the query in it, with values.
func (o *Operation) fill(template string, values map[string]any, escape func(string) string, inPath bool) (string, error) {
	var b strings.Builder
	at := 0
	for _, m := range variable.FindAllStringSubmatchIndex(template, -1) {
		b.WriteString(literal(template[at:m[0]]))
		value, err := o.variable(template[m[2]:m[3]], values, escape)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		at = m[1]
	}
	b.WriteString(literal(template[at:]))
	out := b.String()
	for segment := range strings.SplitSeq(out, "/") {
		plain, err := url.PathUnescape(segment)
		if name := beforeParameters(plain); inPath && (err != nil || name == "." || name == ".." || climbs(segment)) {
			return "", &ArgumentError{"", "a segment of the path would be \".\" or \"..\""}
		}
	}
	return out, nil
}

// variable returns the text of a variable of the path.
func (o *Operation) variable(name string, values map[string]any, escape func(string) string) (string, error) {
	for _, p := range o.parameters {
		if p.in != "path" || p.name != name {
			continue
		}
		v := values[p.argument]
		if v == nil {
			return "", refuse(p.argument, "is part of the path and must be given")
		}
		out := p.segment(v, escape)
		if strings.Trim(out, ".;=,") == "" || climbs(out) {
			return "", refuse(p.argument, "is part of the path and must not be empty, dots alone, or have \"..\" between slashes")
		}
		return out, nil
	}
	return "", fmt.Errorf("the path has the unknown variable %q", name)
}

// climbs reports whether an escaped value leads upwards on a server that treats an escaped
// slash as a slash.
func climbs(escaped string) bool {
	plain, err := url.PathUnescape(escaped)
	pieces := strings.FieldsFunc(plain, func(r rune) bool { return r == '/' || r == '\\' })
	return err != nil || slices.ContainsFunc(pieces, func(piece string) bool { return beforeParameters(piece) == ".." })
}

// beforeParameters returns the part of an unescaped segment before a semicolon: some servers read
// the rest as parameters, and most of them unescape first.
func beforeParameters(segment string) string {
	name, _, _ := strings.Cut(segment, ";")
	return name
}

// headers sets the headers and cookies that are arguments.
func (o *Operation) headers(h http.Header, values map[string]any) error {
	var cookies []string
	for _, p := range o.parameters {
		v := values[p.argument]
		if v == nil || p.in != "header" && p.in != "cookie" {
			continue
		}
		value := p.header(v)
		if len(value) > MaxAddress {
			return refuse(p.argument, "has %d bytes, at most %d are sent", len(value), MaxAddress)
		}
		if p.in == "cookie" {
			cookies = append(cookies, p.name+"="+escapeAll(value))
			continue
		}
		if !httpguts.ValidHeaderFieldValue(value) {
			return refuse(p.argument, "has a character that a header cannot have")
		}
		h.Set(p.name, value)
	}
	if cookies != nil {
		h.Set("Cookie", strings.Join(cookies, "; "))
	}
	return nil
}
