// Command generate writes the JSON Schemas of the public types of package
// schema into the folder that it is run in.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run("..", "."); err != nil {
		panic(err) // for the one who develops, with go generate's status 2
	}
}

// run reads the comments of the package in source and writes the schemas.
func run(source, target string) error {
	schemas, err := schemas(source)
	if err != nil {
		return err
	}
	for name, raw := range schemas {
		if err := os.WriteFile(filepath.Join(target, name+".json"), raw, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// schemas returns the file of every public type, by its name.
func schemas(source string) (map[string][]byte, error) {
	docs, err := readDocs(source)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, t := range roots() {
		raw, err := json.MarshalIndent(document(t, docs), "", "  ")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name(), err)
		}
		out[t.Name()] = append(raw, '\n')
	}
	return out, nil
}
