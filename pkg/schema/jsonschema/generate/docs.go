package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// docs are the comments of types and fields, by "Type" and "Type.Field".
type docs map[string]string

// readDocs reads the comments of the Go files in a folder.
func readDocs(folder string) (docs, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read comments: %w", err)
	}
	out := docs{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, e.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("read comments: %w", err)
		}
		for _, decl := range file.Decls {
			if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				out.addTypes(g)
			}
		}
	}
	return out, nil
}

func (d docs) addTypes(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		t := spec.(*ast.TypeSpec)
		comment := t.Doc
		if comment == nil {
			comment = g.Doc
		}
		d[t.Name.Name] = oneLine(comment)
		if s, ok := t.Type.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					d[t.Name.Name+"."+name.Name] = oneLine(f.Comment)
				}
			}
		}
	}
}

// oneLine returns the first paragraph of a comment on one line.
func oneLine(c *ast.CommentGroup) string {
	first, _, _ := strings.Cut(c.Text(), "\n\n")
	return strings.Join(strings.Fields(first), " ")
}
