// Package jsonschema holds the JSON Schema (draft 2020-12) of every public
// type of package schema, as files that are made from the Go types and their
// comments. The Go checks decide: they refuse more than a schema can say
// (bytes, normal forms, hashes), and take an empty text for an absent one.
package jsonschema

import (
	"embed"
	"fmt"
	"strings"
)

//go:generate go run ./generate

//go:embed *.json
var files embed.FS

// Names lists the types that have a schema, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // the embedded folder is always there
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".json")
	}
	return names
}

// Read returns the schema of the type of that name, e.g. "SearchRequest".
func Read(name string) ([]byte, error) {
	raw, err := files.ReadFile(name + ".json")
	if err != nil {
		return nil, fmt.Errorf("no JSON schema of a type %q: have %s", name, strings.Join(Names(), ", "))
	}
	return raw, nil
}
