// Package jsondoc reads JSON and YAML that nobody vouches for.
//
// It is stricter than encoding/json where leniency lets two readers see two
// documents: a key may stand once in an object, text is valid UTF-8 without
// lone surrogates and NUL, and depth, nodes and bytes are bounded before they
// are spent. Every refusal is an *Error that names a reason, the byte and the
// JSON pointer.
//
// Values are map[string]any, []any, string, json.Number, bool and nil. A
// decoded tree shares memory with one copy of its document: clone a string
// that is to outlive the tree.
package jsondoc
