package static

import _ "embed"

// builtin is the model of docs/models.md. It is part of the program's
// image: pages that are not used cost no memory.
//
//go:embed builtin.static
var builtin string

// Builtin returns the model that is compiled in. It is verified like a file;
// rows are read where they lie in the program.
func Builtin() (*Model, error) { return Parse(builtin) }
