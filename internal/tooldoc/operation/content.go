package operation

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// content returns the body of a call and its media type, which is empty if none is sent.
func (o *Operation) content(arguments json.RawMessage, values map[string]any) (content []byte, media string, err error) {
	b := o.body
	if b == nil {
		return nil, "", nil
	}
	v, given := values[b.argument]
	if !given || v == nil && b.kind != asJSON {
		if b.required {
			return nil, "", refuse(b.argument, "must be given")
		}
		return nil, "", nil
	}
	content, media, err = b.write(jsondoc.Member(arguments, b.argument), v)
	if err == nil && len(content) > MaxBody {
		err = refuse(b.argument, "has %d bytes, at most %d are sent", len(content), MaxBody)
	}
	return content, media, err
}

// write writes a value as the body. raw is its JSON text, which keeps all digits of numbers.
func (b *body) write(raw json.RawMessage, v any) ([]byte, string, error) {
	switch b.kind {
	case asForm:
		content, err := b.form(v)
		return content, b.media, err
	case asMultipart:
		return b.multipart(v)
	case asBinary:
		content, err := b.binary(v, "")
		return content, b.media, err
	case asText:
		return []byte(scalar(v)), b.media, nil
	}
	return raw, b.media, nil
}

// form writes an object as application/x-www-form-urlencoded: lists as one pair for each
// element and objects as JSON, unless the document says otherwise.
func (b *body) form(v any) ([]byte, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, refuse(b.argument, "an object is wanted")
	}
	var parts []string
	for _, name := range jsondoc.Keys(m) {
		f := b.encoding[name]
		value := m[name]
		if _, isObject := value.(map[string]any); isObject && f.style == "" {
			value = string(jsondoc.Canonical(value))
		}
		parts = append(parts, formed(name, f.style, f.explode || f.style == "", value, escapeAll)...)
	}
	return []byte(strings.Join(parts, "&")), nil
}

// multipart writes an object as multipart/form-data, one part for each property or element
// of a list.
func (b *body) multipart(v any) ([]byte, string, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, "", refuse(b.argument, "an object is wanted")
	}
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, name := range jsondoc.Keys(m) {
		all, isList := m[name].([]any)
		if !isList {
			all = []any{m[name]}
		}
		for _, value := range all {
			if err := b.part(w, name, value); err != nil {
				return nil, "", err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", fmt.Errorf("write multipart body: %w", err)
	}
	return out.Bytes(), w.FormDataContentType(), nil
}

// part writes one part: bytes as a file, texts as they are, and objects as JSON.
func (b *body) part(w *multipart.Writer, name string, v any) error {
	media := b.encoding[name].media
	content := []byte(scalar(v))
	h := textproto.MIMEHeader{}
	if b.parts[name] {
		var err error
		if content, err = b.binary(v, name); err != nil {
			return err
		}
		if media == "" {
			media = "application/octet-stream"
		}
		h.Set("Content-Disposition", multipart.FileContentDisposition(name, name))
	} else {
		if _, isObject := v.(map[string]any); isObject && media == "" {
			media = "application/json"
		}
		escaped := strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A").Replace(name) // as forms in HTML do
		h.Set("Content-Disposition", `form-data; name="`+escaped+`"`)
	}
	if media != "" {
		h.Set("Content-Type", media)
	}
	part, err := w.CreatePart(h)
	if err == nil {
		_, err = part.Write(content)
	}
	if err != nil {
		return fmt.Errorf("write multipart body: %w", err)
	}
	return nil
}

// binary returns the bytes of a base64 text: the body, or one of its properties.
func (b *body) binary(v any, name string) ([]byte, error) {
	at := []string{b.argument}
	if name != "" {
		at = append(at, name)
	}
	wrong := &ArgumentError{jsondoc.Pointer("", at...), "a text in base64 is wanted"}
	s, ok := v.(string)
	if !ok {
		return nil, wrong
	}
	s = strings.TrimRight(strings.NewReplacer("\n", "", "\r", "", "-", "+", "_", "/").Replace(s), "=")
	content, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return nil, wrong
	}
	return content, nil
}
