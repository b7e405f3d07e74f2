// Package web is the console as it was built, compiled in.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var built embed.FS

// Files returns the files of the console: index.html, and below assets those whose names
// hold a hash of what is in them.
func Files() fs.FS {
	files, err := fs.Sub(built, "dist")
	if err != nil {
		panic(err) // the name is valid
	}
	return files
}
