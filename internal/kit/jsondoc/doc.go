// Package jsondoc reads JSON and YAML from untrusted sources.
//
// It refuses documents that two readers could understand differently: a duplicate key in an
// object, text that is not valid UTF-8, lone surrogates and NUL characters. Depth, nodes and bytes
// are bounded before they are spent. Counter bounds them for other decoders too, as the bytes come
// in. Every refusal is an *Error that names a reason, the byte and
// the JSON pointer.
//
// Values are map[string]any, []any, string, json.Number, bool and nil.
package jsondoc
