package main

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/toolstream/toolstream/pkg/schema"
)

// roots are the types that get a file of their own.
func roots() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[schema.CallRequest](),
		reflect.TypeFor[schema.CallResult](),
		reflect.TypeFor[schema.DescribeRequest](),
		reflect.TypeFor[schema.DescribeResponse](),
		reflect.TypeFor[schema.Document](),
		reflect.TypeFor[schema.Entity](),
		reflect.TypeFor[schema.Feedback](),
		reflect.TypeFor[schema.Impression](),
		reflect.TypeFor[schema.Need](),
		reflect.TypeFor[schema.Parameter](),
		reflect.TypeFor[schema.SearchRequest](),
		reflect.TypeFor[schema.SearchResponse](),
		reflect.TypeFor[schema.Usage](),
		reflect.TypeFor[schema.Weights](),
	}
}

// object is a JSON Schema, or a part of one.
type object = map[string]any

// builder makes the schema of one file.
type builder struct {
	docs docs
	defs object
}

// document returns the whole schema of a type, with every other type that it
// uses among its definitions.
func document(t reflect.Type, d docs) object {
	b := &builder{docs: d, defs: object{}}
	out := b.structure(t)
	out["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	out["title"] = t.Name()
	if len(b.defs) > 0 {
		out["$defs"] = b.defs
	}
	return out
}

// structure returns the schema of a struct's object. Members that it does not
// name are allowed, because later versions may add some; a request alone has
// to be spelt right.
func (b *builder) structure(t reflect.Type) object {
	properties, required := object{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		owner := ownerOf(t, f)
		properties[name] = b.field(owner, f)
		if !strings.Contains(options, "omit") && !optional(owner+"."+f.Name) {
			required = append(required, name)
		}
	}
	out := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	if strict(t.Name()) {
		out["additionalProperties"] = false
	}
	if doc := b.docs[t.Name()]; doc != "" {
		out["description"] = doc
	}
	return out
}

// ownerOf names the struct that declares a field, which may be an embedded
// one.
func ownerOf(t reflect.Type, f reflect.StructField) string {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}
	return t.Name()
}

func (b *builder) field(owner string, f reflect.StructField) object {
	out := b.value(f.Type)
	if doc := b.docs[owner+"."+f.Name]; doc != "" {
		out["description"] = doc
	}
	for keyword, value := range limits(owner + "." + f.Name) {
		out[keyword] = value
	}
	return out
}

// value returns the schema of a value of type t.
func (b *builder) value(t reflect.Type) object {
	if t == reflect.TypeFor[time.Time]() {
		return object{"type": "string", "format": "date-time"}
	}
	if t == reflect.TypeFor[schema.Direction]() {
		return object{"type": "string", "contentEncoding": "base64", "maxLength": base64.StdEncoding.EncodedLen(schema.MaxDimensions)}
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return object{} // any
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.value(t.Elem())
	case reflect.Struct:
		if _, known := b.defs[t.Name()]; !known {
			b.defs[t.Name()] = nil // holds the place while it is made
			b.defs[t.Name()] = b.structure(t)
		}
		return object{"$ref": "#/$defs/" + t.Name()}
	case reflect.Slice:
		return object{"type": "array", "items": b.value(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": b.value(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int:
		return object{"type": "integer"}
	case reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.String:
		return b.text(t)
	}
	panic("no schema for " + t.String())
}

// text returns the schema of a string, whose type may have few values.
func (b *builder) text(t reflect.Type) object {
	out := object{"type": "string"}
	if values := values(t); len(values) > 0 {
		out["enum"] = values
	}
	return out
}
