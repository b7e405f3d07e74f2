package static

import _ "embed"

// builtin is the model of docs/models.md. It is part of the program's
// image: unused pages cost no memory.
//
//go:embed builtin.static
var builtin string

// Builtin returns the model that is compiled in. It is verified like a file;
// rows are read in place.
func Builtin() (*Model, error) { return Parse(builtin) }
